package intake_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
	"taskkit.dev/taskkit/taskkind"
)

// panicSpec is a spec whose methods panic.
type panicSpec struct{}

func (panicSpec) Validate() error { panic("no rule") }

// targetSpec is a spec with a list of targets.
type targetSpec struct {
	Targets []string `json:"targets"`
}

var (
	panicKind  = taskkit.NewKind(taskkind.Definition[panicSpec, struct{}, struct{}]{Name: "panics"})
	targetKind = taskkit.NewKind(taskkind.Definition[targetSpec, struct{}, struct{}]{
		Name: "targets", Targets: taskkind.TargetsIn("targets", func(s *targetSpec) *[]string { return &s.Targets }),
	})
)

// nilError is an error whose nil pointer panics.
type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// overTargets decides for a task over so many targets, of which the one at a position is too large, in a sequence
// that can be read once.
func overTargets(n, bad int) intake.Decision {
	var read atomic.Bool
	var once iter.Seq[string] = func(yield func(string) bool) {
		for i := range n {
			target := fmt.Sprintf("%06d", i)
			if i == bad {
				target = strings.Repeat("9", 2000)
			}
			if read.Load() || !yield(target) {
				return
			}
		}
		read.Store(true)
	}
	return intake.Submit(targetKind, targetSpec{}, taskkit.System(), taskkit.WithTargets(once))
}

// hostile is a handler that misbehaves, in a way that the id of the message names.
func hostile(ctx context.Context, m intake.Message) (intake.Decision, error) {
	switch m.ID {
	case "nil error":
		var err *nilError
		return intake.Decision{}, err
	case "both":
		d, err := toTask(ctx, m)
		return d, errors.Join(err, errors.New("I have decided, and yet"))
	case "spec panics":
		return intake.Submit(panicKind, panicSpec{}, taskkit.System()), nil
	case "no registry":
		return intake.SubmitJSON(nil, "status", m.Body, taskkit.System()), nil
	case "no kind":
		return intake.Submit[statusSpec, struct{}, struct{}](nil, statusSpec{}, taskkit.System()), nil
	case "late target":
		return overTargets(100_000, 90_000), nil
	case "network":
		return intake.Decision{}, fmt.Errorf("look the person up: %w", &net.OpError{Op: "dial", Err: errors.New("refused")})
	case "canceled":
		return intake.Decision{}, fmt.Errorf("look the person up: %w", context.Canceled)
	case "code":
		return intake.Decision{}, taskkit.Permanent("a\x00\xff"+strings.Repeat("x", 100_000), errors.New("\x00\xff"+strings.Repeat("y", 100_000)))
	case "drop":
		return intake.Drop("\x00\xff" + strings.Repeat("z", 100_000)), nil
	}
	return toTask(ctx, m)
}

// Messages become tasks beside others whose content or handler is at fault.
func TestHostile(t *testing.T) {
	t.Parallel()
	want := map[string]intake.Code{
		"nil error": intake.CodePanic, "both": intake.CodeRefused, "spec panics": intake.CodeInvalidSpec, "no registry": intake.CodePanic,
		"no kind": intake.CodeUnknownKind, "late target": intake.CodeInvalidSpec, "network": intake.CodeGaveUp, "canceled": intake.CodeGaveUp,
		"year 0": intake.CodeInvalidOption, "empty": intake.CodeUndecodable, "binary": intake.CodeUndecodable,
	}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		q := newQueue(message("good1", 1), message("drop", 3), message("code", 3), message("nul\x00id", 3))
		for id := range want {
			m := message(id, 3)
			switch id {
			case "year 0":
				m.Headers = map[string]string{"nbf": "0000-01-01T00:00:00Z"}
			case "empty":
				m.Body = nil
			case "binary":
				m.Body = []byte("\x00\xff\xfe")
			}
			q.publish(m)
		}
		q.publish(message("good2", 2))
		c := config(t, db, q)
		c.Handler, c.MaxTries = hostile, 2
		r := run(t, c)
		r.until("all", received(int64(len(want)+5)))
		r.stop()
		if got := tasks(t, db); !maps.Equal(got, map[int]int{1: 1, 2: 1}) {
			t.Errorf("tasks %v", got)
		}
		refused, err := intake.Refused(t.Context(), db.DB, db.Schema, intake.RefusedFilter{Source: "registrar"}, uuid.Nil, 100)
		if err != nil || len(refused) != len(want)+2 {
			t.Errorf("%d refused, %v", len(refused), err)
		}
		codes := map[string]intake.Code{}
		for _, m := range refused {
			codes[m.ID] = m.Code
		}
		for id, code := range want {
			if codes[id] != code {
				t.Errorf("%s is refused as %q, want %q", id, codes[id], code)
			}
		}
		var pages int
		if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM taskkit_task_target").Scan(&pages); err != nil || pages != 0 {
			t.Errorf("%d pages of targets of a task that was refused, %v", pages, err)
		}
	})
}

// A handler that hangs is given up, and the end of the consumer interrupts it.
func TestHandlerHangs(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		hangs := make(chan struct{}, 10)
		handle := func(ctx context.Context, m intake.Message) (intake.Decision, error) {
			if !strings.HasPrefix(m.ID, "hangs") {
				return toTask(ctx, m)
			}
			hangs <- struct{}{}
			<-ctx.Done()
			return intake.Decision{}, fmt.Errorf("ask the directory: %w", ctx.Err())
		}
		q := newQueue(message("hangs", 3), message("good1", 1))
		c := config(t, db, q)
		c.Handler, c.MaxTries, c.CallTimeout = handle, 2, 500*time.Millisecond
		r := run(t, c)
		r.until("both", received(2))
		r.stop()
		refused, err := intake.Refused(t.Context(), db.DB, db.Schema, intake.RefusedFilter{Source: "registrar"}, uuid.Nil, 100)
		if err != nil || len(refused) != 1 || refused[0].Code != intake.CodeGaveUp || len(hangs) != 2 {
			t.Errorf("refused %+v, %v, after %d calls", refused, err, len(hangs))
		}
		for len(hangs) > 0 {
			<-hangs
		}

		q = newQueue(message("good2", 2), message("hangs2", 3))
		c.Source, c.CallTimeout = q, 0
		r = run(t, c)
		select {
		case <-hangs:
		case <-time.After(testdb.Patience(t)):
			t.Error("the handler is not asked")
		}
		r.stop()
		if s := r.Stats(); s.Received+s.Refused+s.Waits != 0 || len(q.unacked) != 2 {
			t.Errorf("counted %+v, %d not settled", s, len(q.unacked))
		}
	})
}

// A message whose handler fails for now holds up those behind it no longer than the configuration says, whatever the number
// of tries and the length of the pauses.
func TestMaxHold(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		c := config(t, db, newQueue(message("network", 1), message("behind", 2)))
		c.Handler, c.BatchSize = hostile, 1
		c.MaxTries, c.MaxHold, c.Retry = 1_000_000, 50*time.Millisecond, time.Hour
		r := run(t, c)
		r.until("both", received(2))
		r.stop()
		refused, err := intake.Refused(t.Context(), db.DB, db.Schema, intake.RefusedFilter{Source: "registrar"}, uuid.Nil, 100)
		if err != nil || len(refused) != 1 || refused[0].Code != intake.CodeGaveUp || refused[0].ID != "network" {
			t.Errorf("refused %+v, %v", refused, err)
		}
		if got := tasks(t, db); !maps.Equal(got, map[int]int{2: 1}) {
			t.Errorf("tasks %v", got)
		}
	})
}

// A consumer whose context has ended before it could begin ends as any other.
func TestRunWithEndedContext(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		q := newQueue(message("a", 1))
		c, err := intake.New(config(t, db, q))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := c.Run(ctx); err != nil || !q.closed || c.Stats().Received != 0 {
			t.Errorf("run: %v, closed %v, counted %+v", err, q.closed, c.Stats())
		}
	})
}

// After a failed transaction the handler is called again, since its decision may have been
// used up.
func TestDecisionIsUsedOnce(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		asked := map[string]int{}
		q := newQueue(message("targets", 1), message("late target", 2), message("refused", 3))
		c := config(t, db, q)
		c.Handler = func(ctx context.Context, m intake.Message) (intake.Decision, error) {
			asked[m.ID]++
			switch m.ID {
			case "targets":
				return overTargets(3, -1), nil
			case "refused":
				return intake.Decision{}, errors.New("never")
			}
			return hostile(ctx, m)
		}
		r := run(t, c)
		r.until("all", received(3))
		r.stop()
		if !maps.Equal(asked, map[string]int{"targets": 2, "late target": 1, "refused": 1}) {
			t.Errorf("asked %v", asked)
		}
		all, _, err := taskkit.NewClient(db.DB, taskkit.WithSchema(schemaOf(db))).Tasks(t.Context(), taskkit.Filter{})
		if err != nil || len(all) != 1 || all[0].Progress.Total != 3 {
			t.Errorf("tasks %+v, %v", all, err)
		}
	})
}

// An error of the database refuses a message only if it refuses a value.
func TestDatabaseRefuses(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	migrated(t, db)
	execute(t, db, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF NEW.execution_spec->>'status' = 'wrong' THEN RAISE 'no such status'; END IF;
  RAISE 'not allowed' USING ERRCODE = '42501';
END $$`, `CREATE TRIGGER refuse BEFORE INSERT ON taskkit_queued_task FOR EACH ROW EXECUTE FUNCTION refuse()`)
	wrong := message("wrong", 2)
	wrong.Body = []byte(`{"person":2,"status":"wrong"}`)
	q := newQueue(wrong, message("good", 1))
	r := run(t, config(t, db, q))
	r.until("some waits", func(s intake.Stats) bool { return s.Waits >= 5 })
	if s := r.Stats(); s.Received != 0 {
		t.Errorf("meanwhile %+v", s)
	}
	execute(t, db, "DROP TRIGGER refuse ON taskkit_queued_task")
	r.until("both", received(2))
	if s := r.Stats(); s.Submitted != 1 || s.Refused != 1 {
		t.Errorf("counted %+v", s)
	}
	refused, err := intake.Refused(t.Context(), db.DB, db.Schema, intake.RefusedFilter{Source: "registrar"}, uuid.Nil, 100)
	if err != nil || len(refused) != 1 || refused[0].Code != intake.CodeDatabase {
		t.Errorf("refused %+v, %v", refused, err)
	}
}

// A transaction that takes too long is repeated with fewer messages.
func TestSlowTransaction(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	migrated(t, db)
	execute(t, db, `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.1); RETURN NEW; END $$`,
		`CREATE TRIGGER slow BEFORE INSERT ON taskkit_queued_task FOR EACH ROW EXECUTE FUNCTION slow()`)
	q := newQueue()
	for i := 1; i <= 20; i++ {
		q.publish(message(fmt.Sprint("m", i), i))
	}
	c := config(t, db, q)
	c.CallTimeout = time.Second
	r := run(t, c)
	r.until("all", received(20))
	if got := tasks(t, db); len(got) != 20 || r.Stats().Waits == 0 {
		t.Errorf("tasks %v, counted %+v", got, r.Stats())
	}
}

// broken is a source that fails, and returns nothing, before it delivers.
type broken struct {
	*queue

	calls int
}

func (b *broken) Receive(ctx context.Context, limit int) ([]intake.Delivery, error) {
	switch b.calls++; b.calls {
	case 1, 2:
		return nil, errConnection
	case 3:
		return nil, nil
	case 4: // what came before the connection was lost
		ds, err := b.queue.Receive(ctx, 1)
		return ds, errors.Join(err, errConnection)
	}
	return b.queue.Receive(ctx, limit)
}

// After each failure of the source the consumer waits and calls Receive again.
func TestSourceFails(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		r := run(t, config(t, db, &broken{queue: newQueue(message("a", 1), message("b", 2))}))
		r.until("both", received(2))
		if s := r.Stats(); s.Submitted != 2 || s.Waits != 4 {
			t.Errorf("counted %+v", s)
		}
	})
}

// execute runs statements.
func execute(t *testing.T, db *testdb.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
}
