package tasknotify

import (
	"encoding/json"
	"strings"
)

const contentJSON = "application/json"

// SlackBody is the [Webhook.Body] of an incoming webhook of Slack. Texts of the notification are plain, so they are no markup, links or mentions.
func SlackBody(m *Message) (body []byte, contentType string, err error) {
	type text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	type section struct {
		Type string `json:"type"`
		Text text   `json:"text"`
	}
	all := append([]string{title(&m.Notice)}, lines(m)...)
	blocks := []section{{"section", text{"plain_text", slackReplacer.Replace(strings.Join(all, "\n"))}}}
	if link := webLink(m.Link); link != "" {
		blocks = append(blocks, section{"section", text{"mrkdwn", "<" + slackLink.Replace(link) + "|Open>"}})
	}
	body, err = json.Marshal(struct {
		Text     string    `json:"text"` // what a notification on a screen shows
		Markdown bool      `json:"mrkdwn"`
		Blocks   []section `json:"blocks"`
	}{slackReplacer.Replace(title(&m.Notice)), false, blocks})
	return body, contentJSON, err
}

// TeamsBody is the [Webhook.Body] of a workflow of Microsoft Teams that posts what its webhook gets: a message with an adaptive card. Texts of the
// notification are escaped, so they are no Markdown.
func TeamsBody(m *Message) (body []byte, contentType string, err error) {
	type block struct {
		Type   string `json:"type"`
		Text   string `json:"text"`
		Wrap   bool   `json:"wrap"`
		Weight string `json:"weight,omitempty"`
	}
	type action struct {
		Type  string `json:"type"`
		Title string `json:"title"`
		URL   string `json:"url"`
	}
	type card struct {
		Schema  string   `json:"$schema"`
		Type    string   `json:"type"`
		Version string   `json:"version"`
		Body    []block  `json:"body"`
		Actions []action `json:"actions,omitempty"`
	}
	type attachment struct {
		ContentType string `json:"contentType"`
		Content     card   `json:"content"`
	}
	c := card{Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.4"}
	c.Body = append(c.Body, block{Type: "TextBlock", Text: teamsReplacer.Replace(title(&m.Notice)), Wrap: true, Weight: "Bolder"})
	for _, line := range lines(m) {
		c.Body = append(c.Body, block{Type: "TextBlock", Text: teamsReplacer.Replace(line), Wrap: true})
	}
	if link := webLink(m.Link); link != "" {
		c.Actions = []action{{"Action.OpenUrl", "Open", link}}
	}
	body, err = json.Marshal(struct {
		Type        string       `json:"type"`
		Attachments []attachment `json:"attachments"`
	}{"message", []attachment{{"application/vnd.microsoft.card.adaptive", c}}})
	return body, contentJSON, err
}

var (
	// slackReplacer escapes the control characters of Slack.
	slackReplacer = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	// slackLink escapes an address within <address|text>.
	slackLink = strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C")
	// teamsReplacer escapes Markdown.
	teamsReplacer = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "`", "\\`", "#", `\#`, "<", "&lt;", ">", "&gt;", "&", "&amp;")
)

// webLink returns a link of the web on one line; "" for any other.
func webLink(s string) string {
	s = strings.ReplaceAll(oneLine(s), " ", "%20")
	if strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") {
		return s
	}
	return ""
}
