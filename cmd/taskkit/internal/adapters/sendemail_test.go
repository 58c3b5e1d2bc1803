package adapters_test

import (
	"context"
	"database/sql"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/cmd/taskkit/internal/adapters"
	"taskkit.dev/cmd/taskkit/internal/mailserver"
	"taskkit.dev/executors/sendemail"
	"taskkit.dev/executors/targets"
	"taskkit.dev/gen/sendemailtask"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/letter"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"
)

var hello = sendemail.Letter{Subject: "Hello {first_name}", Body: "Dear {first_name} {last_name},\n\nwelcome.\n"}

// serve starts a mail server that refuses what the generator made for it.
func serve(tb testing.TB, c mailserver.Config) *mailserver.Server {
	tb.Helper()
	c.Refuse = func(address string) bool { return strings.HasSuffix(address, "@"+caseload.RefusedDomain) }
	s, err := mailserver.Start(c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// mailer returns the executor that sends through a server.
func mailer(tb testing.TB, db *sql.DB, s *mailserver.Server) *sendemail.Executor {
	tb.Helper()
	c, err := caseload.Open(tb.Context(), db)
	if err != nil {
		tb.Fatal(err)
	}
	m, err := adapters.NewSMTP(s.Addr(), "success@college.example.edu")
	if err != nil {
		tb.Fatal(err)
	}
	return &sendemail.Executor{Caseload: c, Mailer: m, Pause: time.Millisecond}
}

// received fails the test unless everybody who can be reached got exactly one
// mail, and returns how many cannot be.
func received(t *testing.T, c *ent.Client, s *mailserver.Server, task taskkit.ID, people []uuid.UUID) (unreachable int) {
	t.Helper()
	found, err := caseload.Find(t.Context(), c, people)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, id := range people {
		if p := found[id]; p != nil && p.Email != nil && strings.Contains(*p.Email, "@") && !strings.HasSuffix(*p.Email, caseload.RefusedDomain) {
			want = append(want, *p.Email)
		}
	}
	if f := caseload.Compare(s.Recipients(task.String()), want); !f.Clean() {
		t.Errorf("the mail server's log: %v", f)
	}
	if tally := s.Tally(task.String()); tally.NoKey != 0 || tally.Different != len(want) {
		t.Errorf("the mail server's log: %+v, want %d different and none without its key", tally, len(want))
	}
	if n := c.Letter.Query().Where(letter.Task(task), letter.Refused("")).CountX(t.Context()); n != len(want) {
		t.Errorf("%d in the outbox as sent, want %d", n, len(want))
	}
	return len(people) - len(want)
}

// bad gives some of the people addresses that do not work.
func bad(t *testing.T, c *ent.Client, people []uuid.UUID) {
	t.Helper()
	c.Person.UpdateOneID(people[3]).ClearEmail().ExecX(t.Context())
	c.Person.UpdateOneID(people[4]).SetEmail("nowhere").ExecX(t.Context())
	c.Person.UpdateOneID(people[5]).SetEmail("x@" + caseload.RefusedDomain).ExecX(t.Context())
}

func TestSendEmailUnderFaults(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open func(testing.TB) *sql.DB) {
		var s *mailserver.Server
		tasktest.TestExecutor(t, tasktest.Case[sendemail.Spec, sendemail.State, struct{}]{
			Kind: sendemailtask.Kind, Setup: setup, Limit: limit,
			Open: func(tb testing.TB) *sql.DB {
				s = serve(tb, mailserver.Config{})
				return open(tb)
			},
			New: func(tb testing.TB, db *sql.DB) taskkit.Executor[sendemail.Spec, sendemail.State] {
				return mailer(tb, db, s)
			},
			Spec: sendemail.Spec{Targets: everyone(), Letter: hello},
			Snapshot: func(ctx context.Context, db *sql.DB) (any, error) {
				touched, err := ledger(ctx, db)
				// A mail that was sent before a fault comes again with its key; it
				// may not come with another, or to somebody else.
				for address, n := range s.Recipients("") {
					touched = append(touched, address+" "+string(rune('0'+n)))
				}
				slices.Sort(touched)
				return touched, err
			},
			Tables: func(ctx context.Context, db *sql.DB) (any, error) { return ledger(ctx, db) },
		})
	})
}

func TestSendEmail(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]mailserver.Config{
		"a good server":                      {},
		"throttles every 10th":               {ThrottleEvery: 10},
		"says 421 and hangs up every 10th":   {HangUpEvery: 10},
		"loses the answer to every 10th":     {DropEvery: 10},
		"takes 3 mails a connection":         {PerConnection: 3},
		"throttles, loses answers, hangs up": {ThrottleEvery: 11, HangUpEvery: 13, DropEvery: 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on(t, func(t *testing.T, open0 func(testing.TB) *sql.DB) {
				db, c, people := filled(t, open0)
				bad(t, c, people)
				s := serve(t, config)
				o := tasktest.Run(t, sendemailtask.Kind, mailer(t, db, s), sendemail.Spec{Targets: everyone(), Letter: hello},
					tasktest.WithDB(db), tasktest.WithLimit(limit))
				unreachable := received(t, c, s, o.Task.ID, people)
				if unreachable < 3 {
					t.Errorf("%d without a working address, want the three that were made so", unreachable)
				}
				completed(t, o, len(people)-unreachable, unreachable, 0)
				clean(t, c, caseload.ActionMail, o.Task.ID, people)
				if o.State.Sent != len(people)-unreachable || o.State.Refused != unreachable || len(o.Failed) != unreachable {
					t.Errorf("state %+v and %d failures; want %d sent, %d refused", o.State, len(o.Failed), len(people)-unreachable, unreachable)
				}
				if tally := s.Tally(""); config.DropEvery == 0 && tally.Repeats != 0 {
					t.Errorf("%d mails came again with nothing to cause it", tally.Repeats)
				}
			})
		})
	}
}

// TestSendEmailGivesUp: a server that takes nothing is asked as often as the
// task has attempts, and no more.
func TestSendEmailGivesUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config   mailserver.Config
		attempts int
		code     string
	}{
		"throttled for ever": {mailserver.Config{ThrottleEvery: 1}, 3, ""},
		"sender refused":     {mailserver.Config{RefuseSender: true}, 1, "sender_refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, client, _ := filled(t, tasktest.Open)
			s := serve(t, c.config)
			o := tasktest.Run(t, sendemailtask.Kind, mailer(t, db, s), sendemail.Spec{Targets: everyone(), Letter: hello}, tasktest.WithDB(db))
			if o.Task.Status != taskkit.StatusFailure || len(o.Attempts) != c.attempts {
				t.Errorf("%s (%s) after %d attempts, want FAILURE after %d", o.Task.Status, o.Task.StatusDetail, len(o.Attempts), c.attempts)
			}
			if !strings.HasPrefix(o.Task.StatusDetail, c.code) {
				t.Errorf("described as %q, want the code %q", o.Task.StatusDetail, c.code)
			}
			if n := client.Letter.Query().Where(letter.Refused("")).CountX(t.Context()); n != 0 {
				t.Errorf("%d in the outbox as sent, want none", n)
			}
		})
	}
}

func TestSendEmailByID(t *testing.T) {
	t.Parallel()
	db, c, people := filled(t, tasktest.Open)
	s := serve(t, mailserver.Config{})
	some := append([]uuid.UUID{uuid.New()}, people[:30]...)
	o := tasktest.Run(t, sendemailtask.Kind, mailer(t, db, s), sendemail.Spec{Targets: targets.Targets{People: some}, Letter: hello},
		tasktest.WithDB(db), tasktest.WithLimit(7))
	unreachable := received(t, c, s, o.Task.ID, some)
	completed(t, o, len(some)-unreachable, unreachable, 0)
	if o.Failed[0].Code != "no_address" {
		t.Errorf("failure %+v, want no_address", o.Failed[0])
	}
}

// busyServer is a mail server at which the mailboxes of a third of the people are busy
// at first, the first time or the first three times.
func busyServer(tb testing.TB) *mailserver.Server {
	tb.Helper()
	var mu sync.Mutex
	asked := map[string]int{}
	return serve(tb, mailserver.Config{Busy: func(address string) bool {
		mu.Lock()
		defer mu.Unlock()
		asked[address]++
		switch h := crc32.ChecksumIEEE([]byte(address)) % 9; h {
		case 0, 1:
			return asked[address] == 1
		case 2:
			return asked[address] <= 3
		default:
			return false
		}
	}})
}

// Who cannot get the mail now gets it in a later pass, and the others are not held up.
// Whose mailbox stays busy fails after the last pass.
func TestSendEmailDefersBusyMailboxes(t *testing.T) {
	t.Parallel()
	on(t, func(t *testing.T, open0 func(testing.TB) *sql.DB) {
		db, _, people := filled(t, open0)
		s := busyServer(t)
		o := tasktest.Run(t, sendemailtask.Kind, mailer(t, db, s), sendemail.Spec{Targets: targets.Targets{People: people}, Letter: hello},
			tasktest.WithDB(db), tasktest.WithLimit(limit))
		busy := 0
		for _, f := range o.Failed {
			if f.Code == "mailbox_busy" {
				busy++
			}
		}
		tally := s.Tally(o.Task.ID.String())
		if o.Task.Status != taskkit.StatusCompleted || busy == 0 || s.Throttled() < 3*busy+5 || tally.Repeats != 0 {
			t.Errorf("%s: %d busy for ever, %d answers of busy mailboxes, %+v: %s", o.Task.Status, busy, s.Throttled(), tally, o.Task.StatusDetail)
		}
		completed(t, o, len(people)-len(o.Failed), len(o.Failed), 0)
		if tally.Different != len(people)-len(o.Failed) || o.State.Sent != tally.Different {
			t.Errorf("%d got the mail, %d failed, of %d: state %+v", tally.Different, len(o.Failed), len(people), o.State)
		}
	})
}
