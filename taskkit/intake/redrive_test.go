package intake_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
)

// redrive gives refused messages back and expects so many.
func redrive(t *testing.T, db *testdb.DB, f intake.RefusedFilter, want intake.Redriven, opts ...taskkit.RequestOption) {
	t.Helper()
	f.Source = "registrar"
	if got, err := intake.Redrive(t.Context(), db.DB, db.Schema, f, opts...); err != nil || got != want {
		t.Errorf("%+v gives back %+v, %v, want %+v", f, got, err, want)
	}
}

// pollRedriven lets consumers poll for what was given back.
func pollRedriven(t *testing.T, rs ...*running) {
	t.Helper()
	for _, r := range rs {
		if err := intake.TakeInRedriven(t.Context(), r.Consumer); err != nil {
			t.Error(err)
		}
	}
}

// refusedIDs returns the ids of the refused messages.
func refusedIDs(t *testing.T, db *testdb.DB, f intake.RefusedFilter) string {
	t.Helper()
	f.Source = "registrar"
	refused, err := intake.Refused(t.Context(), db.DB, db.Schema, f, uuid.Nil, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, m := range refused {
		ids = append(ids, m.ID)
	}
	slices.Sort(ids)
	return strings.Join(ids, " ")
}

// A refused message is taken in anew once it was given back, with its headers, sequence and timestamp, and is a duplicate afterwards. Messages that
// are not selected stay refused.
func TestRedrive(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var mended atomic.Bool
		a, b, c := message("a", 1), message("b", 2), message("c", 3)
		at := time.Date(2031, 3, 1, 6, 0, 0, 0, time.UTC)
		a.Headers = map[string]string{"nbf": at.Format(time.RFC3339), "from": "registrar \u00fc"}
		// Some senders write milliseconds where AMQP has seconds.
		a.Sequence, a.Timestamp, b.Timestamp = 5, time.Unix(1_767_225_600, 123_456_789).UTC(), time.Unix(1_767_225_600_000, 0).UTC()
		q, sent := newQueue(a, b, c), map[string]intake.Message{"a": a, "b": b, "c": c}
		config := config(t, db, q)
		config.DeadLetter = true
		config.Handler = func(ctx context.Context, m intake.Message) (intake.Decision, error) {
			switch {
			case m.ID == "a" && m.Headers["from"] != "registrar \u00fc":
				return intake.Decision{}, taskkit.Permanent("no_headers", fmt.Errorf("headers %v", m.Headers))
			case m.Sequence != sent[m.ID].Sequence || !m.Timestamp.Equal(sent[m.ID].Timestamp):
				return intake.Decision{}, taskkit.Permanent("no_order", fmt.Errorf("sequence %d, timestamp %v", m.Sequence, m.Timestamp))
			case mended.Load() && m.ID != "c":
				return toTask(ctx, m)
			}
			return intake.Decision{}, taskkit.Permanent("code_"+m.ID, errors.New("not yet"))
		}
		r := run(t, config)
		r.until("all", received(3))
		mended.Store(true)
		actor := uuid.New()
		for _, none := range []intake.RefusedFilter{
			{Codes: []intake.Code{"other"}}, {IDs: []string{"d"}}, {To: time.Now().Add(-time.Hour)}, {From: time.Now().Add(time.Hour)},
		} {
			redrive(t, db, none, intake.Redriven{})
		}
		redrive(t, db, intake.RefusedFilter{Codes: []intake.Code{"code_a"}, From: time.Now().Add(-time.Hour), To: time.Now().Add(time.Hour)}, intake.Redriven{Messages: 1},
			taskkit.WithActor(actor), taskkit.WithReason("the handler is mended"))
		if got := refusedIDs(t, db, intake.RefusedFilter{}); got != "b c" {
			t.Errorf("refused are %s", got)
		}
		pollRedriven(t, r)
		r.until("a", received(4))
		redrive(t, db, intake.RefusedFilter{IDs: []string{"b", "c"}}, intake.Redriven{Messages: 2}, taskkit.WithActor(actor), taskkit.WithReason("again"))
		pollRedriven(t, r)
		r.until("b and c", received(6))
		q.publish(a, b, c)
		r.until("all again", received(9))
		r.stop()
		if s := r.Stats(); s.Submitted != 2 || s.Refused != 4 || s.Duplicates != 3 {
			t.Errorf("counted %+v", s)
		}
		if got := tasks(t, db); !maps.Equal(got, map[int]int{1: 1, 2: 1}) || len(q.rejected) != 4 || len(q.unacked) != 0 {
			t.Errorf("tasks %v, %d dead letters, %d not settled", got, len(q.rejected), len(q.unacked))
		}
		all, _, err := taskkit.NewClient(db.DB, taskkit.WithSchema(schemaOf(db))).Tasks(t.Context(), taskkit.Filter{})
		if err != nil || !slices.ContainsFunc(all, func(task *taskkit.Task) bool { return task.NotBefore.Equal(at) }) {
			t.Errorf("no task begins at the time of the header: %+v, %v", all, err)
		}
		refused, err := intake.Refused(t.Context(), db.DB, db.Schema, intake.RefusedFilter{Source: "registrar"}, uuid.Nil, 10)
		if err != nil || len(refused) != 1 || refused[0].ID != "c" || refused[0].Redriven.IsZero() || refused[0].RedrivenBy != actor || refused[0].RedrivenReason != "again" {
			t.Errorf("refused again: %+v, %v", refused, err)
		}
		var outcome, reason string
		var body sql.NullString
		if err := db.QueryRowContext(t.Context(), "SELECT outcome, redriven_reason, body FROM taskkit_task_message WHERE message_id = 'a'").Scan(&outcome, &reason, &body); err != nil ||
			outcome != "submitted" || reason != "the handler is mended" || body.Valid {
			t.Errorf("the row of a: %s, %q, %v, %v", outcome, reason, body, err)
		}
	})
}

// A message that was not kept whole is taken in when the broker delivers it again after it was given back.
func TestRedrivePartial(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		long, binary := message("long", 1), message("binary", 2)
		long.Body = append(long.Body, strings.Repeat(" ", 100_000)...)
		binary.Body = []byte("\xff")
		unnamed := message("", 3)
		var mended atomic.Bool
		q := newQueue(long, binary, unnamed)
		c := config(t, db, q)
		c.Handler = func(ctx context.Context, m intake.Message) (intake.Decision, error) {
			if !mended.Load() {
				return intake.Decision{}, errors.New("not yet")
			}
			if m.ID == "binary" {
				m.Body = message("", 2).Body
			}
			return toTask(ctx, m)
		}
		r := run(t, c)
		r.until("all", received(3))
		mended.Store(true)
		redrive(t, db, intake.RefusedFilter{}, intake.Redriven{Messages: 3, Partial: 3})
		pollRedriven(t, r)
		q.publish(long, binary, unnamed, long)
		r.until("all again", received(7))
		r.stop()
		if s := r.Stats(); s.Submitted != 2 || s.Refused != 4 || s.Duplicates != 1 {
			t.Errorf("counted %+v", s)
		}
		if got := tasks(t, db); !maps.Equal(got, map[int]int{1: 1, 2: 1}) {
			t.Errorf("tasks %v", got)
		}
	})
}

// Several consumers take a message that was given back in once, also if the broker delivers it at the same time.
func TestRedriveOnce(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		const n = 150
		var mended atomic.Bool
		handle := func(ctx context.Context, m intake.Message) (intake.Decision, error) {
			switch {
			case m.ID == "begin":
				return intake.Drop("it begins"), nil
			case !mended.Load():
				return intake.Decision{}, errors.New("not yet")
			}
			return toTask(ctx, m)
		}
		var (
			qs []*queue
			rs []*running
		)
		for range 3 {
			q := newQueue(message("begin", 1))
			c := config(t, db, q)
			c.Handler, c.BatchSize = handle, 20
			r := run(t, c)
			r.until("its beginning", received(1))
			qs, rs = append(qs, q), append(rs, r)
		}
		for i := range n {
			qs[0].publish(message(fmt.Sprint("m", i), i+1))
		}
		rs[0].until("all", received(1+n))
		mended.Store(true)
		redrive(t, db, intake.RefusedFilter{}, intake.Redriven{Messages: n})
		for i := range n {
			qs[i%2].publish(message(fmt.Sprint("m", i), i+1))
		}
		submitted := func() (sum int64) {
			for _, r := range rs {
				sum += r.Stats().Submitted
			}
			return sum
		}
		pollRedriven(t, rs...)
		for late := time.After(testdb.Patience(t)); submitted() < n; {
			select {
			case <-time.After(10 * time.Millisecond):
			case <-late:
				t.Fatalf("%d of %d are submitted", submitted(), n)
			}
		}
		for _, r := range rs {
			r.stop()
		}
		got := tasks(t, db)
		if submitted() != n || len(got) != n || slices.Max(slices.Collect(maps.Values(got))) != 1 {
			t.Errorf("%d submitted, %d persons have tasks: %v", submitted(), len(got), got)
		}
	})
}

// Redrive and Refused need the name of the source, and the tables.
func TestRedriveRefuses(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		_, err := intake.Redrive(t.Context(), db.DB, db.Schema, intake.RefusedFilter{})
		if option, is := errors.AsType[*taskkit.OptionError](err); !is || !strings.Contains(option.Problem, "Source") {
			t.Errorf("without a source: %v", err)
		}
		_, err = intake.Redrive(t.Context(), db.DB, db.Schema, intake.RefusedFilter{Source: "registrar"}, taskkit.WithSkip())
		if _, is := errors.AsType[*taskkit.OptionError](err); !is {
			t.Errorf("with an option of tasks: %v", err)
		}
		_, err = intake.Redrive(t.Context(), db.DB, db.Schema, intake.RefusedFilter{Source: "registrar"})
		if _, is := errors.AsType[*taskkit.SchemaError](err); !is {
			t.Errorf("without tables: %v", err)
		}
	})
}

// A message with the id of an earlier one and another body is a duplicate, and reported.
func TestDuplicateDiffers(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		q := newQueue(message("a", 1), message("a", 2), message("b", 1), message("b", 1))
		c := config(t, db, q)
		c.BatchSize = 4
		var differ []intake.DuplicateDiffers
		c.Observe = func(_ context.Context, e intake.Event) {
			if e, is := e.(intake.DuplicateDiffers); is {
				differ = append(differ, e)
			}
		}
		r := run(t, c)
		r.until("the first", received(4))
		q.publish(message("a", 1), message("b", 3))
		r.until("all", received(6))
		r.stop()
		if s := r.Stats(); s.Submitted != 2 || s.Duplicates != 4 {
			t.Errorf("counted %+v", s)
		}
		if want := []intake.DuplicateDiffers{{Source: "registrar", ID: "a"}, {Source: "registrar", ID: "b"}}; !slices.Equal(differ, want) {
			t.Errorf("reported %+v, want %+v", differ, want)
		}
	})
}
