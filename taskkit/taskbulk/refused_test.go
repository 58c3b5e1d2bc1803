package taskbulk_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
)

// What cannot be is refused by name, and nothing is stored.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.waiting(newKind("kept"), 3)
		one := taskkit.Filter{Kinds: []string{"kept"}}
		for what, c := range map[string]struct {
			r      taskbulk.Request
			option string
		}{
			"no verb":              {taskbulk.Request{Filter: one}, "Verb"},
			"an unknown verb":      {taskbulk.Request{Verb: "drop table", Filter: one}, "Verb"},
			"an empty filter":      {taskbulk.Request{Verb: taskbulk.Pause}, "All"},
			"children alone":       {taskbulk.Request{Verb: taskbulk.Pause, Filter: taskkit.Filter{Children: true}}, "All"},
			"a stop for no reason": {taskbulk.Request{Verb: taskbulk.Stop, Filter: one}, "Reason"},
			"a blank reason":       {taskbulk.Request{Verb: taskbulk.Delete, Filter: one, Reason: " \n\t"}, "Reason"},
			"a page":               {taskbulk.Request{Verb: taskbulk.Pause, Filter: taskkit.Filter{Kinds: []string{"kept"}, Limit: 5}}, "Filter"},
			"another page":         {taskbulk.Request{Verb: taskbulk.Pause, Filter: taskkit.Filter{Kinds: []string{"kept"}, Before: uuid.Max}}, "Filter"},
			"another status":       {taskbulk.Request{Verb: taskbulk.Retry, Filter: taskkit.Filter{Statuses: []taskkit.Status{taskkit.StatusFailure, taskkit.StatusCompleted}}}, "Filter.Statuses"},
			"no status":            {taskbulk.Request{Verb: taskbulk.Delete, Reason: "r", Filter: taskkit.Filter{Statuses: []taskkit.Status{"x' OR 1=1"}}}, "Filter.Statuses"},
			"bulk operations":      {taskbulk.Request{Verb: taskbulk.Pause, Filter: taskkit.Filter{Kinds: []string{"kept", taskbulk.Kind.Name()}}}, "Filter.Kinds"},
			"a negative bound":     {taskbulk.Request{Verb: taskbulk.Pause, Filter: one, Max: -1}, "Max"},
			"a bound too great":    {taskbulk.Request{Verb: taskbulk.Pause, Filter: one, Max: 1_000_001}, "Max"},
			"a NUL in the filter":  {taskbulk.Request{Verb: taskbulk.Pause, Filter: taskkit.Filter{Kinds: []string{"a\x00"}}}, "Filter.Kinds"},
			"a negative age":       {taskbulk.Request{Verb: taskbulk.Retry, Filter: taskkit.Filter{EndedFor: -time.Hour}}, "Filter.EndedFor"},
			"a NUL in the reason":  {taskbulk.Request{Verb: taskbulk.Pause, Filter: one, Reason: "a\x00b"}, "WithReason"},
			"a reason in Latin-1":  {taskbulk.Request{Verb: taskbulk.Pause, Filter: one, Reason: "caf\xe9"}, "WithReason"},
			"a long reason":        {taskbulk.Request{Verb: taskbulk.Pause, Filter: one, Reason: strings.Repeat("ä", 1001)}, "WithReason"},
		} {
			_, n, err := taskbulk.Submit(b.Context(), b.db.DB, c.r, taskkit.WithSchema(b.schema))
			var refused *taskkit.OptionError
			if !errors.As(err, &refused) || strings.TrimPrefix(refused.Option, "taskbulk.Request.") != c.option || n != 0 {
				b.Errorf("%s: %v, %d frozen, want %s to be refused", what, err, n, c.option)
			}
		}
		_, _, err := taskbulk.Submit(b.Context(), b.db.DB, taskbulk.Request{Verb: taskbulk.Pause, Filter: taskkit.Filter{Kinds: []string{"none"}}}, taskkit.WithSchema(b.schema))
		if !errors.Is(err, taskbulk.ErrNone) {
			b.Errorf("no task: %v", err)
		}
		var many *taskbulk.TooManyError
		_, _, err = taskbulk.Submit(b.Context(), b.db.DB, taskbulk.Request{Verb: taskbulk.Pause, Filter: one, Max: 2}, taskkit.WithSchema(b.schema))
		if !errors.As(err, &many) || many.Max != 2 {
			b.Errorf("three tasks of two: %v", err)
		}
		if n := b.count("taskkit_queued_task", "execution_component_name = $1", taskbulk.Kind.Name()); n != 0 {
			b.Errorf("%d bulk operations are stored", n)
		}
	})
}

// Without an index a filter is looked for in a bounded number of tasks, and refused by name where there are more. With one it is not.
func TestFiltersWithoutAnIndex(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		const more = 10_050 // than one page
		owner := uuid.New()
		if _, err := b.Pause(b.Context(), b.waiting(newKind("old"), 2)[0]); err != nil {
			b.Fatal(err)
		}
		b.waiting(newKind("many"), more, taskkit.OwnedBy(owner))
		for what, c := range map[string]struct {
			r       taskbulk.Request
			refused bool
			want    int64
		}{
			"a kind":              {taskbulk.Request{Verb: taskbulk.Pause, Filter: taskkit.Filter{Kinds: []string{"old"}}}, true, 0},
			"a status":            {taskbulk.Request{Verb: taskbulk.Stop, Filter: taskkit.Filter{Statuses: []taskkit.Status{taskkit.StatusQueued}}, Reason: "r"}, true, 0},
			"a queue":             {taskbulk.Request{Verb: taskbulk.Delete, Filter: taskkit.Filter{Queue: elsewhere}, Reason: "r"}, true, 0},
			"with children":       {taskbulk.Request{Verb: taskbulk.Pause, Filter: taskkit.Filter{Owner: owner, Children: true}}, true, 0},
			"an owner":            {taskbulk.Request{Verb: taskbulk.Pause, Filter: taskkit.Filter{Owner: owner}}, false, more},
			"an owner and a kind": {taskbulk.Request{Verb: taskbulk.Pause, Filter: taskkit.Filter{Owner: taskkit.SystemOwner, Kinds: []string{"old"}}}, false, 1},
			"what is paused":      {taskbulk.Request{Verb: taskbulk.Resume, All: true}, false, 1},
			"paused of a kind":    {taskbulk.Request{Verb: taskbulk.Stop, Filter: taskkit.Filter{Paused: true, Kinds: []string{"old"}}, Reason: "r"}, false, 1},
			"of another kind":     {taskbulk.Request{Verb: taskbulk.Resume, Filter: taskkit.Filter{Kinds: []string{"many"}}}, false, 0},
			"approvals":           {taskbulk.Request{Verb: taskbulk.Stop, Filter: taskkit.Filter{Approval: true}, Reason: "r"}, false, 0},
			"what has failed":     {taskbulk.Request{Verb: taskbulk.Retry, All: true}, false, 0},
		} {
			c.r.SetSearched(10_000)
			tx, err := b.db.BeginTx(b.Context(), nil)
			if err != nil {
				b.Fatal(err)
			}
			_, n, err := taskbulk.Submit(b.Context(), tx, c.r, taskkit.WithSchema(b.schema))
			if rollback := tx.Rollback(); rollback != nil {
				b.Fatal(rollback)
			}
			var refused *taskbulk.FilterError
			switch {
			case c.refused:
				if !errors.As(err, &refused) || refused.Filter == "" || !strings.Contains(err.Error(), "add an owner, a parent") {
					b.Errorf("%s: %d, %v", what, n, err)
				}
			case c.want == 0 && !errors.Is(err, taskbulk.ErrNone), c.want > 0 && err != nil, n != c.want:
				b.Errorf("%s: %d, %v, want %d", what, n, err, c.want)
			}
		}
	})
}

// A reason of any characters is recorded with each task as it was given.
func TestHostileReasons(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.start("default", taskbulk.Register)
		for i, reason := range []string{"'; DROP TABLE taskkit_queued_task; --", "<script>alert(1)</script>", "$1 %s \\ \u202e \U0001f600", strings.Repeat("ä", 1000)} {
			kind := newKind("reason_" + string(rune('a'+i)))
			of := b.waiting(kind, 1)[0]
			id, _ := b.submit(taskbulk.Request{Verb: taskbulk.Pause, Filter: taskkit.Filter{Kinds: []string{kind.Name()}}, Reason: reason})
			b.ended(id)
			events, err := b.Events(b.Context(), of, 10)
			if err != nil || len(events) != 1 || events[0].Reason != reason || events[0].Actor != person {
				b.Errorf("%q: %+v, %v", reason, events, err)
			}
			if task := b.task(of); task.ControlReason != reason {
				b.Errorf("%q: the task says %q", reason, task.ControlReason)
			}
		}
	})
}

// A bulk operation exists with the transaction of its caller, or not at all. Submitted again with its idempotency key it is one.
func TestTransaction(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		b.waiting(newKind("kept"), 3)
		r := taskbulk.Request{Verb: taskbulk.Pause, Filter: taskkit.Filter{Kinds: []string{"kept"}}}
		for _, commit := range []bool{false, true} {
			tx, err := b.db.BeginTx(b.Context(), nil)
			if err != nil {
				b.Fatal(err)
			}
			_, n, err := taskbulk.Submit(b.Context(), tx, r, taskkit.WithSchema(b.schema), taskkit.WithIdempotencyKey("form 1"))
			if err != nil || n != 3 {
				b.Fatalf("%d frozen, %v", n, err)
			}
			end := tx.Rollback
			if commit {
				end = tx.Commit
			}
			if err := end(); err != nil {
				b.Fatal(err)
			}
			if n := b.count("taskkit_queued_task", "execution_component_name = $1", taskbulk.Kind.Name()); (n == 1) != commit {
				b.Errorf("%d bulk operations are stored, committed: %t", n, commit)
			}
		}
		b.start("default", taskbulk.Register)
		b.until("it is done", func() bool { return b.count("taskkit_task_event", "action = 'pause'") == 3 })
		var again *taskkit.DuplicateError // though no task matches any more
		if _, _, err := taskbulk.Submit(b.Context(), b.db.DB, r, taskkit.WithSchema(b.schema), taskkit.WithIdempotencyKey("form 1")); !errors.As(err, &again) {
			b.Errorf("the same form again: %v", err)
		}
	})
}
