package tasknotify

import (
	"encoding/json"
	"regexp"
	"strings"
)

const (
	contentJSON = "application/json"
	// lineMost is how many characters of a line a chat gets, and linkMost how long a link may be, in bytes. Slack refuses blocks of more than 3,000.
	lineMost, linkMost = 250, 2000
)

// messageLines are the lines of a message, its title first.
func messageLines(m *Message) []string {
	list := append([]string{title(&m.Notice)}, lines(m)...)
	for i, line := range list {
		if r := []rune(line); len(r) > lineMost {
			list[i] = string(r[:lineMost]) + "..."
		}
	}
	return list
}

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
	all := messageLines(m)
	blocks := []section{{"section", text{"plain_text", slackReplacer.Replace(strings.Join(all, "\n"))}}}
	if link := webLink(m.Link); link != "" {
		blocks = append(blocks, section{"section", text{"mrkdwn", "<" + slackLink.Replace(link) + "|Open>"}})
	}
	body, err = json.Marshal(struct {
		Text     string    `json:"text"` // what a notification on a screen shows
		Markdown bool      `json:"mrkdwn"`
		Blocks   []section `json:"blocks"`
	}{slackReplacer.Replace(all[0]), false, blocks})
	return body, contentJSON, err
}

// TeamsBody is the [Webhook.Body] of a workflow of Microsoft Teams that posts what its webhook gets: a message with an adaptive card. Texts of the
// notification are escaped, so they are no Markdown and no functions of cards.
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
	for i, line := range messageLines(m) {
		b := block{Type: "TextBlock", Text: teamsText(line), Wrap: true}
		if i == 0 {
			b.Weight = "Bolder"
		}
		c.Body = append(c.Body, b)
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
	// teamsReplacer escapes Markdown, and the brace that begins a function of adaptive cards, such as {{DATE(...)}}.
	teamsReplacer = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "`", "\\`", "#", `\#`, "~", `\~`, "{", `\{`, "<", "&lt;", ">", "&gt;", "&", "&amp;")
	// teamsMarker matches what begins a list at the start of a line and is no markup elsewhere.
	teamsMarker = regexp.MustCompile(`^ *(?:[-+]|[0-9]+[.)])`)
)

// teamsText returns a line as the text of a block of an adaptive card.
func teamsText(line string) string {
	return teamsMarker.ReplaceAllStringFunc(teamsReplacer.Replace(line), func(marker string) string {
		return marker[:len(marker)-1] + `\` + marker[len(marker)-1:]
	})
}

// webLink returns a link of the web on one line; "" for any other, and for one that is too long.
func webLink(s string) string {
	s = strings.ReplaceAll(oneLine(s), " ", "%20")
	if len(s) > linkMost {
		return ""
	}
	if strings.HasPrefix(s, "https://") || strings.HasPrefix(s, "http://") {
		return s
	}
	return ""
}
