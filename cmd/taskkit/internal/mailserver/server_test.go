package mailserver_test

import (
	"errors"
	"net/smtp"
	"net/textproto"
	"testing"

	"taskkit.dev/cmd/taskkit/internal/mailserver"
	"taskkit.dev/internal/testkit/testdb"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

func start(t *testing.T, c mailserver.Config) *mailserver.Server {
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
	return s
}

// dialogue is a client of the standard library, which is not what the executors
// use.
type dialogue struct{ *smtp.Client }

func dial(t *testing.T, s *mailserver.Server) dialogue {
	t.Helper()
	c, err := smtp.Dial(s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return dialogue{c}
}

func (d dialogue) send(to, id, key string) error {
	if err := d.Mail("me@example.org"); err != nil {
		return err
	}
	if err := d.Rcpt(to); err != nil {
		_ = d.Reset()
		return err
	}
	w, err := d.Data()
	if err != nil {
		return err
	}
	text := "Message-ID: <" + id + ">\r\nX-Taskkit-Task: T\r\nSubject: s\r\n"
	if key != "" {
		text += "X-Taskkit-Key: " + key + "\r\n"
	}
	if _, err := w.Write([]byte(text + "\r\nbody\r\n")); err != nil {
		return err
	}
	return w.Close()
}

func codeOf(err error) int {
	if e, ok := errors.AsType[*textproto.Error](err); ok {
		return e.Code
	}
	return 0
}

// TestTally plants every kind of repeat.
func TestTally(t *testing.T) {
	t.Parallel()
	s := start(t, mailserver.Config{})
	d := dial(t, s)
	for _, m := range [][3]string{
		{"a@x.org", "1", "k1"},
		{"a@x.org", "1", "k1"}, // a repeat with its key
		{"b@x.org", "2", "k2"},
		{"b@x.org", "3", "k3"}, // another mail to the same person
		{"c@x.org", "4", ""},   // without a key
		{"c@x.org", "4", ""},
		{"d@x.org", "5", "k5"},
		{"e@x.org", "5", "k5"}, // one key, two people
	} {
		if err := d.send(m[0], m[1], m[2]); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := s.Tally("T"), (mailserver.Tally{Accepted: 8, Different: 4, Repeats: 1, NoKey: 3}); got != want {
		t.Errorf("tally %+v, want %+v", got, want)
	}
	if got := s.Tally("another"); got != (mailserver.Tally{}) {
		t.Errorf("tally of another task: %+v", got)
	}
	for to, want := range map[string]int{"a@x.org": 1, "b@x.org": 2, "c@x.org": 2, "d@x.org": 1, "e@x.org": 1} {
		if got := s.Recipients("T")[to]; got != want {
			t.Errorf("%s: %d different mails, want %d", to, got, want)
		}
	}
	for key, want := range map[string]int{"k1": 1, "k2": 1, "k3": 1, "k5": 2} {
		if got := s.Keys("T")[key]; got != want {
			t.Errorf("%s: %d different mails, want %d", key, got, want)
		}
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	t.Run("refuses", func(t *testing.T) {
		t.Parallel()
		d := dial(t, start(t, mailserver.Config{Refuse: func(a string) bool { return a == "no@x.org" }}))
		if err := d.send("no@x.org", "1", "k"); codeOf(err) != 550 {
			t.Errorf("%v, want 550", err)
		}
		if err := d.send("yes@x.org", "2", "k"); err != nil {
			t.Error(err)
		}
	})
	t.Run("throttles and hangs up", func(t *testing.T) {
		t.Parallel()
		s := start(t, mailserver.Config{ThrottleEvery: 2, HangUpEvery: 3})
		d := dial(t, s)
		var codes []int
		for range 3 {
			codes = append(codes, codeOf(d.send("a@x.org", "1", "k")))
		}
		if codes[0] != 0 || codes[1] != 451 || codes[2] != 421 || s.Throttled() != 2 {
			t.Errorf("answers %v, %d throttled; want 250, 451, 421", codes, s.Throttled())
		}
		if err := d.Noop(); err == nil {
			t.Error("the connection is open after a 421")
		}
	})
	t.Run("limits a connection", func(t *testing.T) {
		t.Parallel()
		d := dial(t, start(t, mailserver.Config{PerConnection: 2}))
		for i, want := range []int{0, 0, 421} {
			if err := d.send("a@x.org", "1", "k"); codeOf(err) != want {
				t.Errorf("mail %d: %v, want %d", i+1, err, want)
			}
		}
		if err := d.Noop(); err == nil {
			t.Error("the connection is open after a 421")
		}
	})
	t.Run("loses an answer", func(t *testing.T) {
		t.Parallel()
		s := start(t, mailserver.Config{DropEvery: 1})
		if err := dial(t, s).send("a@x.org", "1", "k"); err == nil || codeOf(err) != 0 {
			t.Errorf("%v, want a connection that ends", err)
		}
		if n := s.Tally("").Accepted; n != 1 {
			t.Errorf("%d accepted, want 1", n)
		}
	})
}
