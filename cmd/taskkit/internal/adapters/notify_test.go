package adapters_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/cmd/taskkit/internal/mailserver"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/tasknotify"
)

// Notifications come over a real SMTP server: a thread for each task, with a way to unsubscribe, and a refused recipient is permanent.
func TestMID59SMTP(t *testing.T) {
	t.Parallel()
	s, m := serveSMTP(t, mailserver.Config{Refuse: func(address string) bool { return strings.HasPrefix(address, "nobody") }})
	to := "ada@people.example"
	target := &tasknotify.Mail{
		Mailer: m, Domain: "tasks.example", Address: func(context.Context, notice.Notice) (string, error) { return to, nil },
		Unsubscribe: func(notice.Notice) string { return "https://jobs.example/unsubscribe" },
	}
	task := uuid.New()
	for _, e := range []notice.Event{notice.Started, notice.Completed} {
		n := &tasknotify.Message{Notice: notice.Notice{Event: e, Target: "owner", Task: task, Kind: "send_email"}, ID: "msg_" + string(e)}
		for range 2 { // the second is a repeated try
			if err := target.Deliver(t.Context(), n); err != nil {
				t.Fatal(err)
			}
		}
	}
	mails := s.Mails()
	if len(mails) != 4 {
		t.Fatalf("%d mails, want 4", len(mails))
	}
	for i, id := range []string{"<msg_started@tasks.example>", "<msg_started@tasks.example>", "<msg_completed@tasks.example>", "<msg_completed@tasks.example>"} {
		if got := mails[i]; got.MessageID != id || got.References != "<"+task.String()+".owner@tasks.example>" || got.Unsubscribe != "<https://jobs.example/unsubscribe>" || got.To != to {
			t.Errorf("mail %d is %+v, want id %s", i, got, id)
		}
	}
	to = "nobody@people.example"
	if err := target.Deliver(t.Context(), &tasknotify.Message{ID: "msg_refused"}); !taskkit.IsPermanent(t.Context(), err) {
		t.Errorf("a refused recipient: %v, want a permanent error", err)
	}
}
