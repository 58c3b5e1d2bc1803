package intake_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
)

// Each message becomes one task, also if it is delivered again.
func TestOneTaskForEachMessage(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		q := newQueue()
		for i := 1; i <= 250; i++ {
			q.publish(message(fmt.Sprint("m", i), i))
			if i%5 == 0 {
				q.publish(message(fmt.Sprint("m", i), i), message(fmt.Sprint("m", i-3), i-3))
			}
		}
		q.fail = errConnection // of the first acknowledgement: all of the batch comes again
		r := run(t, config(t, db, q))
		r.until("all", received(450))
		r.stop()
		got := tasks(t, db)
		if len(got) != 250 || slices.Max(slices.Collect(maps.Values(got))) != 1 {
			t.Errorf("%d persons have tasks: %v", len(got), got)
		}
		if s := r.Stats(); s.Submitted != 250 || s.Duplicates != s.Received-250 || s.Refused+s.Dropped != 0 {
			t.Errorf("counted %+v", s)
		}
		if len(q.waiting)+len(q.unacked) != 0 || !q.closed {
			t.Errorf("%d wait, %d not settled, closed %v", len(q.waiting), len(q.unacked), q.closed)
		}
	})
}

// The repetition of a message is recognised in a later batch, without a call of the handler.
func TestRemembered(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		refused, dropped, unnamed := message("refused", 0), message("dropped", 2), message("", 3)
		q := newQueue(message("task", 1), refused, dropped, unnamed)
		q.publish(q.waiting...)
		asked := map[string]int{}
		c := config(t, db, q)
		c.BatchSize, c.DeadLetter = 4, true
		c.Handler = func(ctx context.Context, m intake.Message) (intake.Decision, error) {
			asked[m.ID]++
			if m.ID == "dropped" {
				return intake.Drop("a test of the sender"), nil
			}
			return toTask(ctx, m)
		}
		r := run(t, c)
		r.until("all", received(8))
		r.stop()
		if s, want := r.Stats(), (intake.Stats{Received: 8, Submitted: 1, Refused: 2, Dropped: 1, Duplicates: 4}); s != want {
			t.Errorf("counted %+v, want %+v", s, want)
		}
		if !maps.Equal(asked, map[string]int{"task": 1, "refused": 1, "dropped": 1}) || len(q.rejected) != 4 {
			t.Errorf("asked %v, %d dead letters", asked, len(q.rejected))
		}
	})
}

// Several consumers of one queue do not take the same message in twice.
func TestConsumersShareAQueue(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		var all []*running
		for n := range 3 {
			q := newQueue() // as a broker that delivers everything to everybody
			for i := range 200 {
				person := 1 + (i*(n+1))%200
				q.publish(message(fmt.Sprint("m", person), person))
			}
			all = append(all, run(t, config(t, db, q)))
		}
		submitted := int64(0)
		for _, r := range all {
			r.until("all", received(200))
			submitted += r.Stats().Submitted
		}
		got := tasks(t, db)
		if submitted != 200 || len(got) != 200 || slices.Max(slices.Collect(maps.Values(got))) != 1 {
			t.Errorf("%d submitted, %d persons have tasks: %v", submitted, len(got), got)
		}
	})
}

// Invalid messages are refused with a code and recorded, and the others become tasks.
func TestRefused(t *testing.T) {
	t.Parallel()
	registry := &taskkit.Registry{}
	handle := func(ctx context.Context, m intake.Message) (intake.Decision, error) {
		switch m.ID {
		case "coded":
			return intake.Decision{}, taskkit.Permanent("no_such_person", errors.New("person 7 is unknown"))
		case "plain":
			return intake.Decision{}, errors.New("I do not like it")
		case "panics":
			panic("oh")
		case "undecided":
			return intake.Decision{}, nil
		case "drop":
			return intake.Drop("a test of the sender"), nil
		case "unowned":
			return intake.Submit(statusKind, statusSpec{Person: 1, Status: "x"}), nil
		case "kind":
			return intake.SubmitJSON(registry, "nonsense", []byte("{}"), taskkit.System()), nil
		case "key":
			return intake.Submit(statusKind, statusSpec{Person: 1, Status: "x"}, taskkit.System(), taskkit.WithUniqueKey("one")), nil
		case "fails":
			return intake.Decision{}, taskkit.Transient(errors.New("the directory is down"))
		}
		return toTask(ctx, m)
	}
	want := map[string]intake.Code{
		"coded": "no_such_person", "plain": intake.CodeRefused, "panics": intake.CodePanic, "undecided": intake.CodeRefused,
		"unowned": intake.CodeInvalidOption, "kind": intake.CodeUnknownKind, "key": intake.CodeDuplicate, "fails": intake.CodeGaveUp,
		"text": intake.CodeUndecodable, "spec": intake.CodeInvalidSpec, "nbf": intake.CodeInvalidNotBefore, "large": intake.CodeTooLarge,
		"nul": intake.CodeInvalidSpec,
	}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		first, err := taskkit.Submit(t.Context(), db.DB, statusKind, statusSpec{Person: 999, Status: "x"}, taskkit.System(),
			taskkit.WithUniqueKey("one"), taskkit.WithSchema(schemaOf(db)))
		if err != nil {
			t.Fatal(err)
		}
		q := newQueue(message("good1", 1))
		for id := range want {
			m := message(id, 3)
			switch id {
			case "text":
				m.Body = []byte("no JSON")
			case "spec":
				m.Body = []byte(`{"person":0}`)
			case "nbf":
				m.Headers = map[string]string{"nbf": "soon"}
			case "large":
				m.Body = make([]byte, 10<<20)
			case "nul":
				m.Body = []byte(`{"person":3,"status":"a\u0000b"}`)
			}
			q.publish(m)
		}
		noID, longID := message("", 4), message(strings.Repeat("x", 10_000), 5)
		q.publish(noID, noID, longID, message("\xff", 6), message("drop", 7), message("good2", 2))
		c := config(t, db, q)
		c.Handler, c.DeadLetter, c.MaxTries, c.BatchSize = handle, true, 2, 7
		r := run(t, c)
		r.until("all", received(int64(len(want)+7)))
		r.stop()
		if got := tasks(t, db); !maps.Equal(got, map[int]int{1: 1, 2: 1, 999: 1}) {
			t.Errorf("tasks %v", got)
		}
		refused, err := intake.Refused(t.Context(), db.DB, db.Schema, intake.RefusedFilter{Source: "registrar"}, uuid.Nil, 100)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]intake.Code{}
		codes := map[intake.Code]int{}
		for _, m := range refused {
			got[m.ID] = m.Code
			codes[m.Code]++
			if m.Detail == "" || m.Source != "registrar" || m.Created.IsZero() {
				t.Errorf("recorded %+v", m)
			}
			if m.Code == intake.CodeTooLarge && (len(m.Body) > 64<<10 || len(m.Body) < 64<<10-3) {
				t.Errorf("%d bytes kept", len(m.Body))
			}
			if m.ID == "text" && m.Body != "no JSON" {
				t.Errorf("kept %q", m.Body)
			}
		}
		for id, code := range want {
			if got[id] != code {
				t.Errorf("%s is refused as %q, want %q", id, got[id], code)
			}
		}
		if codes[intake.CodeNoID] != 1 || codes[intake.CodeInvalidID] != 2 {
			t.Errorf("codes %v", codes)
		}
		if s := r.Stats(); s.Dropped != 1 || s.Refused != int64(len(want)+3) || s.Duplicates != 1 || s.Submitted != 2 {
			t.Errorf("counted %+v", s)
		}
		// The repetition of the one without an id was refused before; it is a dead letter as well.
		if len(q.rejected) != len(want)+4 {
			t.Errorf("%d dead letters", len(q.rejected))
		}
		page, err := intake.Refused(t.Context(), db.DB, db.Schema, intake.RefusedFilter{Source: "registrar"}, refused[2].Row, 2)
		if err != nil || len(page) != 2 || page[0].Row != refused[3].Row {
			t.Errorf("page %+v, %v", page, err)
		}
		if task, err := taskkit.NewClient(db.DB, taskkit.WithSchema(schemaOf(db))).Task(t.Context(), first); err != nil || task.Status != taskkit.StatusQueued {
			t.Errorf("the task whose key was taken: %+v, %v", task, err)
		}
	})
}

// A message may name its earliest start; the task names source and message.
func TestNotBefore(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		at := time.Date(2031, 3, 1, 6, 0, 0, 0, time.UTC)
		m, seconds, float := message("a", 1), message("b", 2), message("c", 3)
		float.Headers = map[string]string{"nbf": fmt.Sprint(float64(at.Unix()))} // with an exponent
		m.Headers = map[string]string{"nbf": at.Format(time.RFC3339)}
		seconds.Headers = map[string]string{"nbf": fmt.Sprint(at.Unix())}
		r := run(t, config(t, db, newQueue(m, seconds, float)))
		r.until("all", received(3))
		all, _, err := taskkit.NewClient(db.DB, taskkit.WithSchema(schemaOf(db))).Tasks(t.Context(), taskkit.Filter{})
		if err != nil || len(all) != 3 {
			t.Fatalf("%d tasks, %v", len(all), err)
		}
		for _, task := range all {
			if !task.NotBefore.Equal(at) || !strings.HasPrefix(task.Reason, "message: source=registrar id=") {
				t.Errorf("not before %v, reason %q", task.NotBefore, task.Reason)
			}
		}
	})
}

// A message that is merged into a paused task is submitted, and reported.
func TestMergedIntoPaused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		reference, in := taskkit.WithCoalescing("person 1"), taskkit.WithSchema(schemaOf(db))
		id, err := taskkit.Submit(t.Context(), db.DB, statusKind, statusSpec{Person: 999, Status: "x"}, taskkit.System(), reference, in)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := taskkit.NewClient(db.DB, in).Pause(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		q := newQueue(message("a", 1), message("a", 1), message("b", 2))
		c := config(t, db, q)
		c.Handler = func(_ context.Context, m intake.Message) (intake.Decision, error) {
			var spec statusSpec
			err := json.Unmarshal(m.Body, &spec)
			return intake.Submit(statusKind, spec, taskkit.System(), taskkit.WithCoalescing(fmt.Sprint("person ", spec.Person))), err
		}
		var merged []intake.MergedIntoPaused
		c.Observe = func(_ context.Context, e intake.Event) {
			if e, ok := e.(intake.MergedIntoPaused); ok {
				merged = append(merged, e)
			}
		}
		r := run(t, c)
		r.until("all", received(3))
		r.stop()
		if len(merged) != 1 || merged[0].ID != "a" || merged[0].Source != "registrar" || merged[0].Err.ID != id || merged[0].Err.Reference != "person 1" {
			t.Errorf("events %+v", merged)
		}
		if s := r.Stats(); s.Submitted != 2 || s.Duplicates != 1 || s.Paused != 1 {
			t.Errorf("counted %+v", s)
		}
		if got := tasks(t, db); !maps.Equal(got, map[int]int{1: 1, 2: 1}) {
			t.Errorf("tasks %v", got)
		}
	})
}

// While the database fails nothing is received or refused, and then everything goes on.
func TestDatabaseFails(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		migrated(t, db)
		table := "taskkit_task_message"
		if db.Schema != "" {
			table = `"` + db.Schema + `".` + table
		}
		q := newQueue(message("a", 1))
		r := run(t, config(t, db, q))
		r.until("the first", received(1))
		if _, err := db.ExecContext(t.Context(), "ALTER TABLE "+table+" RENAME TO hidden"); err != nil {
			t.Fatal(err)
		}
		q.publish(message("a", 1), message("b", 2))
		r.until("some waits", func(s intake.Stats) bool { return s.Waits >= 5 })
		if s := r.Stats(); s.Received != 1 || s.Refused != 0 {
			t.Errorf("meanwhile %+v", s)
		}
		back := "ALTER TABLE hidden RENAME TO taskkit_task_message"
		if db.Schema != "" {
			back = `ALTER TABLE "` + db.Schema + `".hidden RENAME TO taskkit_task_message`
		}
		if _, err := db.ExecContext(t.Context(), back); err != nil {
			t.Fatal(err)
		}
		r.until("the others", received(3))
		if got := tasks(t, db); !maps.Equal(got, map[int]int{1: 1, 2: 1}) {
			t.Errorf("tasks %v", got)
		}
	})
}

// New returns all mistakes in a configuration at once, and Run an error about the tables.
func TestConfig(t *testing.T) {
	t.Parallel()
	_, err := intake.New(intake.Config{BatchSize: -1, Remember: -time.Second, Schema: "Not A Schema"})
	for _, field := range []string{"DB", "Source", "Handler", "Name", "BatchSize", "Remember", "Schema"} {
		if err == nil || !strings.Contains(err.Error(), "Config."+field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
	if option, ok := errors.AsType[*taskkit.OptionError](err); !ok || option.Option == "" {
		t.Errorf("%T is not typed", err)
	}
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		q := newQueue()
		c, err := intake.New(config(t, db, q))
		if err != nil {
			t.Fatal(err)
		}
		err = c.Run(t.Context())
		if _, ok := errors.AsType[*taskkit.SchemaError](err); !ok || !q.closed {
			t.Errorf("without tables: %v, closed %v", err, q.closed)
		}
		_, err = intake.Refused(t.Context(), db.DB, db.Schema, intake.RefusedFilter{Source: "registrar"}, uuid.Nil, 1)
		if _, ok := errors.AsType[*taskkit.SchemaError](err); !ok {
			t.Errorf("refused messages without tables: %v", err)
		}
	})
}
