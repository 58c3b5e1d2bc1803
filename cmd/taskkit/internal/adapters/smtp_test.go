package adapters_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/cmd/taskkit/internal/adapters"
	"taskkit.dev/cmd/taskkit/internal/mailserver"
	"taskkit.dev/executors/sendemail"
	"taskkit.dev/taskkit"
)

func serveSMTP(t *testing.T, c mailserver.Config) (*mailserver.Server, *adapters.SMTP) {
	t.Helper()
	s, err := mailserver.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	m, err := adapters.NewSMTP(s.Addr(), "Student Success <success@college.example.edu>")
	if err != nil {
		t.Fatal(err)
	}
	return s, m
}

func mails(n int) []sendemail.Mail {
	task := uuid.New()
	all := make([]sendemail.Mail, n)
	for i := range all {
		key := uuid.NewSHA1(task, fmt.Append(nil, i)).String()
		all[i] = sendemail.Mail{
			To: fmt.Sprintf("p%d@example.org", i), Key: key, MessageID: key + "@taskkit.invalid", Task: task,
			Subject: "Grüße", Body: ".\r\n..\nFrom here\n",
		}
	}
	return all
}

// count counts results by what they mean.
func count(errs []error) (sent, refused, throttled, other int) {
	for _, err := range errs {
		switch {
		case err == nil:
			sent++
		case errors.Is(err, sendemail.ErrRefused):
			refused++
		case errors.Is(err, sendemail.ErrThrottled):
			throttled++
		default:
			other++
		}
	}
	return sent, refused, throttled, other
}

func TestSendKeepsToAHundredMailsAConnection(t *testing.T) {
	t.Parallel()
	s, m := serveSMTP(t, mailserver.Config{})
	all := mails(1000)
	if sent, _, _, _ := count(m.Send(t.Context(), all)); sent != 1000 {
		t.Errorf("%d sent, want all", sent)
	}
	if n := s.MostPerConnection(); n > 100 {
		t.Errorf("a connection brought %d mails", n)
	}
	if tally := s.Tally(""); tally != (mailserver.Tally{Accepted: 1000, Different: 1000}) {
		t.Errorf("received %+v", tally)
	}
	got := s.Mails()[0]
	if !strings.HasSuffix(got.MessageID, "@taskkit.invalid>") || !strings.Contains(got.MessageID, got.Key) || got.Task != all[0].Task.String() {
		t.Errorf("headers: %+v", got)
	}
}

func TestSendTellsAnswersApart(t *testing.T) {
	t.Parallel()
	t.Run("one refused", func(t *testing.T) {
		t.Parallel()
		_, m := serveSMTP(t, mailserver.Config{Refuse: func(a string) bool { return a == "p7@example.org" }})
		errs := m.Send(t.Context(), mails(50))
		if sent, refused, _, _ := count(errs); sent != 49 || refused != 1 || !errors.Is(errs[7], sendemail.ErrRefused) {
			t.Errorf("%d sent, %d refused, the 8th: %v", sent, refused, errs[7])
		}
	})
	t.Run("throttled", func(t *testing.T) {
		t.Parallel()
		s, m := serveSMTP(t, mailserver.Config{ThrottleEvery: 20})
		sent, refused, throttled, other := count(m.Send(t.Context(), mails(500)))
		// Those that send beside the one that was throttled may get some more
		// through before they hear of it: how many is the scheduler's affair.
		if sent < 19 || sent > 250 || refused+other != 0 || throttled != 500-sent {
			t.Errorf("%d sent, %d refused, %d throttled, %d other; want the rest throttled", sent, refused, throttled, other)
		}
		if got := s.Tally("").Different; got != sent {
			t.Errorf("%d received, %d known as sent", got, sent)
		}
	})
	t.Run("sender refused", func(t *testing.T) {
		t.Parallel()
		_, m := serveSMTP(t, mailserver.Config{RefuseSender: true})
		errs := m.Send(t.Context(), mails(9))
		if _, _, _, other := count(errs); other != 9 || !taskkit.IsPermanent(t.Context(), errs[0]) {
			t.Errorf("%v, want a permanent error and not one mail refused", errs[0])
		}
	})
	t.Run("answer lost", func(t *testing.T) {
		t.Parallel()
		s, m := serveSMTP(t, mailserver.Config{DropEvery: 1})
		errs := m.Send(t.Context(), mails(1))
		if _, _, _, other := count(errs); other != 1 || taskkit.IsPermanent(t.Context(), errs[0]) {
			t.Errorf("%v, want a transient error", errs[0])
		}
		if n := s.Tally("").Accepted; n != 1 {
			t.Errorf("%d received, want the one", n)
		}
	})
	t.Run("nobody there", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
		m, err := adapters.NewSMTP(l.Addr().String(), "a@example.org")
		if err != nil {
			t.Fatal(err)
		}
		errs := m.Send(t.Context(), mails(20))
		if _, _, _, other := count(errs); other != 20 || taskkit.IsPermanent(t.Context(), errs[19]) {
			t.Errorf("%v, want a transient error for all", errs[19])
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		_, m := serveSMTP(t, mailserver.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for i, err := range m.Send(ctx, mails(20)) {
			if !errors.Is(err, context.Canceled) {
				t.Errorf("mail %d: %v, want the context's error", i, err)
			}
		}
	})
}

func TestNewSMTPRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range [][3]string{
		{"localhost", "a@example.org", "host:port"},
		{"localhost:smtp", "a@example.org", "number"},
		{"localhost:25", "nobody", "no mail address"},
	} {
		if _, err := adapters.NewSMTP(c[0], c[1]); err == nil || !strings.Contains(err.Error(), c[2]) {
			t.Errorf("NewSMTP(%q, %q): %v, want %q", c[0], c[1], err, c[2])
		}
	}
}
