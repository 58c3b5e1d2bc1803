package tasknotify

import (
	"fmt"
	"html/template"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"taskkit.dev/taskkit/notice"
)

// letter writes the mail of one notification.
func (m *Mail) letter(to string, n *Message) *Letter {
	l := m.write(to, title(&n.Notice), []*Message{n})
	if n.Task != uuid.Nil {
		// The thread of the task begins with an id that no mail has, which mail programs join by.
		l.References = []string{n.Task.String() + "." + n.Target + "@" + m.Domain}
	}
	return l
}

// digestLetter writes the mail of several notifications.
func (m *Mail) digestLetter(to string, list []*Message) *Letter {
	if len(list) == 1 {
		return m.letter(to, list[0])
	}
	return m.write(to, fmt.Sprintf("%d notifications about %s", len(list), list[0].Kind), list)
}

func (m *Mail) write(to, subject string, list []*Message) *Letter {
	l := &Letter{To: to, Subject: subject, MessageID: list[0].ID + "@" + m.Domain, Text: plain(list), HTML: rich(list)}
	if m.Unsubscribe != nil {
		l.Unsubscribe = oneLine(m.Unsubscribe(list[0].Notice))
	}
	return l
}

// verbs say what has become of the task of a notification.
var verbs = map[notice.Event]string{
	notice.Started: "has started", notice.Approval: "waits for approval", notice.Canary: "waits for approval after its first items",
	notice.Policy: "was acted on by a policy", notice.Throttled: "waits for the database", notice.Overdue: "has not ended by its deadline", notice.Completed: "is complete",
	notice.Partial: "was stopped", notice.DeadLetter: "has failed", notice.Late: "has failed because its time was over",
	notice.FindingOpened: "was found", notice.FindingClosed: "is over",
}

// title says in a line what a notification is about.
func title(n *notice.Notice) string {
	of := n.Kind
	if n.Task == uuid.Nil {
		of = n.Code
	}
	if n.Preview {
		of = "a preview of " + of
	}
	return oneLine(of + " " + verbs[n.Event])
}

// counts says in a line how many items were processed; "" if none were counted.
func counts(n *notice.Notice) string {
	if n.Done+n.Failed+n.Skipped+n.Total == 0 {
		return ""
	}
	text := fmt.Sprintf("%d done, %d failed, %d skipped", n.Done, n.Failed, n.Skipped)
	if n.Total > 0 {
		text += fmt.Sprintf(" of %d", n.Total)
	}
	return text
}

// lines are what is said about a notification below its title.
func lines(m *Message) []string {
	var list []string
	add := func(format, value string) {
		if value != "" {
			list = append(list, oneLine(fmt.Sprintf(format, value)))
		}
	}
	add("at %s", m.At.UTC().Format("2006-01-02 15:04:05 MST"))
	if m.Task != uuid.Nil {
		add("task %s", m.Task.String())
		add("code %s", m.Code)
	}
	add("%s", counts(&m.Notice))
	return list
}

func plain(list []*Message) string {
	var b strings.Builder
	for i, m := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(title(&m.Notice) + "\n")
		for _, line := range lines(m) {
			b.WriteString("  " + line + "\n")
		}
		if m.Link != "" {
			b.WriteString("  " + oneLine(m.Link) + "\n")
		}
	}
	return b.String()
}

var page = template.Must(template.New("mail").Parse(`<!DOCTYPE html>
<html><body>{{range .}}
<p><b>{{if .Link}}<a href="{{.Link}}">{{.Title}}</a>{{else}}{{.Title}}{{end}}</b>{{range .Lines}}<br>{{.}}{{end}}</p>{{end}}
</body></html>
`))

func rich(list []*Message) string {
	type part struct {
		Title, Link string
		Lines       []string
	}
	parts := make([]part, len(list))
	for i, m := range list {
		parts[i] = part{title(&m.Notice), m.Link, lines(m)}
	}
	var b strings.Builder
	if err := page.Execute(&b, parts); err != nil {
		panic("tasknotify: write a mail: " + err.Error()) // of texts it cannot fail
	}
	return b.String()
}

// oneLine replaces line breaks, other control characters, and characters that change the direction of a text or are not seen.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			return ' '
		}
		return r
	}, s)
}
