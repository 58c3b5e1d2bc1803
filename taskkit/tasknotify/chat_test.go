package tasknotify_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/tasknotify"
)

var update = flag.Bool("update", false, "write the golden files")

// The bodies for chats are as the golden files have them: texts are no markup, whatever is in them, and one line each.
func TestChatBodies(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	messages := map[string]*tasknotify.Message{
		"ended": {Link: "https://jobs.example/01890a5d?a=1&b=2", Notice: notice.Notice{
			Event: notice.Completed, Target: "ops", Task: uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"), Kind: "early_alert", Done: 997, Failed: 3, Total: 1000, At: at,
		}},
		"finding": {Notice: notice.Notice{Event: notice.FindingOpened, Target: "ops", Code: "no_worker", At: at}},
		"markup": {Link: "https://jobs.example/<!channel>|x\ny", Notice: notice.Notice{
			Event: notice.DeadLetter, Target: "ops", Task: uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"), Kind: "*bold* <!channel> [a](https://b.example) & `c`\n# head", Code: "<@U1>\r\n_x_\\", At: at,
		}},
		"script": {Link: "javascript:alert(1)", Notice: notice.Notice{Event: notice.FindingClosed, Target: "ops", Code: "no_worker", At: at}},
	}
	for chat, write := range map[string]func(*tasknotify.Message) ([]byte, string, error){"slack": tasknotify.SlackBody, "teams": tasknotify.TeamsBody} {
		for name, m := range messages {
			body, contentType, err := write(m)
			if err != nil || contentType != "application/json" {
				t.Errorf("%s of %s: %s, %v", chat, name, contentType, err)
			}
			var indented bytes.Buffer
			if err := json.Indent(&indented, body, "", "  "); err != nil {
				t.Fatalf("%s of %s is no JSON: %v", chat, name, err)
			}
			indented.WriteByte('\n')
			file := filepath.Join("testdata", chat+"_"+name+".json")
			if *update {
				if err := os.WriteFile(file, indented.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
				continue
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(indented.Bytes(), want) {
				t.Errorf("%s of %s is\n%swant (or run it with -update)\n%s", chat, name, indented.Bytes(), want)
			}
		}
	}
}

// What begins a list or is a function of a card is a text for Teams.
func TestTeamsMarkup(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]string{
		"- a":                                   `\- a`,
		"  - a - b":                             `  \- a - b`,
		"+ a":                                   `\+ a`,
		"* a":                                   `\* a`,
		"# a":                                   `\# a`,
		"1. a 2. b":                             `1\. a 2. b`,
		"12) a":                                 `12\) a`,
		"---":                                   `\---`,
		"~~a~~":                                 `\~\~a\~\~`,
		"> a":                                   "&gt; a",
		"-5 a":                                  `\-5 a`,
		"3 a-b c.d":                             "3 a-b c.d",
		"{{DATE(2026-05-04T12:00:00Z)}}":        `\{\{DATE(2026-05-04T12:00:00Z)}}`,
		"x {{TIME(2026-05-04T12:00:00Z)}} ${y}": `x \{\{TIME(2026-05-04T12:00:00Z)}} $\{y}`,
		"a\n- b":                                "a - b",
	} {
		body, _, err := tasknotify.TeamsBody(&tasknotify.Message{Notice: notice.Notice{Event: notice.FindingOpened, Code: code}})
		if err != nil {
			t.Fatal(err)
		}
		var message struct {
			Attachments []struct {
				Content struct{ Body []struct{ Text string } }
			}
		}
		if err := json.Unmarshal(body, &message); err != nil {
			t.Fatal(err)
		}
		if got := message.Attachments[0].Content.Body[0].Text; got != want+" was found" {
			t.Errorf("%q is %q, want %q", code, got, want+" was found")
		}
	}
}

// A chat takes what it gets, however long the texts are, and no text changes the direction of another or hides in it.
func TestChatBounds(t *testing.T) {
	t.Parallel()
	n := notice.Notice{Event: notice.DeadLetter, Task: uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057"), Kind: "a\u202eb\u2066c\u200bd\u2028e\u0085f", Code: strings.Repeat("<\u00e9", 1<<20)}
	for chat, write := range map[string]func(*tasknotify.Message) ([]byte, string, error){"slack": tasknotify.SlackBody, "teams": tasknotify.TeamsBody} {
		body, _, err := write(&tasknotify.Message{Notice: n, Link: "https://jobs.example/" + strings.Repeat("x", 1<<20)})
		if err != nil || len(body) > 10_000 || !bytes.Contains(body, []byte("a b c d e f has failed")) || !bytes.Contains(body, []byte("...")) {
			t.Errorf("%s gets %d bytes, %v: %.300s", chat, len(body), err, body)
		}
		var blocks struct {
			Blocks []struct{ Text struct{ Text string } }
		}
		if err := json.Unmarshal(body, &blocks); err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks.Blocks {
			if n := utf8.RuneCountInString(b.Text.Text); n > 3000 {
				t.Errorf("%s gets a block of %d characters", chat, n)
			}
		}
	}
}

// A channel of Slack gets the notifications of a target.
func ExampleSlackBody() {
	hook := &tasknotify.Webhook{URL: "https://hooks.slack.com/services/T0/B0/secret", Secrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, Body: tasknotify.SlackBody}
	body, _, err := hook.Body(&tasknotify.Message{Notice: notice.Notice{Event: notice.FindingOpened, Code: "no_worker", At: time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)}})
	fmt.Println(string(body), err)
	// Output:
	// {"text":"no_worker was found","mrkdwn":false,"blocks":[{"type":"section","text":{"type":"plain_text","text":"no_worker was found\nat 2026-05-04 12:00:00 UTC"}}]} <nil>
}

// A workflow of Teams gets the notifications of a target.
func ExampleTeamsBody() {
	hook := &tasknotify.Webhook{URL: "https://teams.example/workflows/secret", Secrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, Body: tasknotify.TeamsBody}
	_, contentType, err := hook.Body(&tasknotify.Message{Notice: notice.Notice{Event: notice.FindingOpened, Code: "no_worker"}})
	fmt.Println(contentType, err)
	// Output:
	// application/json <nil>
}
