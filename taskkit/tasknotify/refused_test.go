package tasknotify_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/tasknotify"
)

// A subscription that a task cannot have is an *OptionError of its submission, and nothing is stored.
func TestMID59OptionsRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		kind, notifies := newKind("numbers", ""), newKind("notifies", "ops")
		many := make([]taskkit.SubmitOption, notice.MaxSubscriptions+1)
		for i := range many {
			many[i] = taskkit.WithNotifications(fmt.Sprint("t", i))
		}
		for name, c := range map[string]struct {
			kind            *taskkit.Kind[spec, state, struct{}]
			opts            []taskkit.SubmitOption
			option, problem string
		}{
			"an unknown event":           {kind, []taskkit.SubmitOption{taskkit.WithNotifications("ops", "end")}, "WithNotifications", `"end" is no event`},
			"a finding":                  {kind, []taskkit.SubmitOption{taskkit.WithNotifications("ops", notice.FindingOpened)}, "WithNotifications", "is no event"},
			"a target":                   {kind, []taskkit.SubmitOption{taskkit.WithNotifications("https://ops.example")}, "WithNotifications", "is not the name of a target"},
			"too many":                   {kind, many, "WithNotifications", "21 subscriptions"},
			"with coalescing":            {kind, []taskkit.SubmitOption{taskkit.WithNotifications("ops"), taskkit.WithCoalescing("k")}, "WithNotifications", "used together with WithCoalescing"},
			"of a kind, with coalescing": {notifies, []taskkit.SubmitOption{taskkit.WithCoalescing("k")}, "WithCoalescing", "which has notifications"},
		} {
			_, err := taskkit.Submit(t.Context(), db.DB, c.kind, below(3), append(c.opts, taskkit.System(), taskkit.WithSchema(schemaOf(db)))...)
			var refused *taskkit.OptionError
			if !errors.As(err, &refused) || refused.Option != c.option || !strings.Contains(refused.Problem, c.problem) {
				t.Errorf("%s: %v, want an *OptionError of %s with %q", name, err, c.option, c.problem)
			}
		}
		_, err := taskkit.Submit(t.Context(), db.DB, stageKind, below(3), taskkit.System(), taskkit.WithSchema(schemaOf(db)), taskkit.WithStage("first", taskkit.WithNotifications("ops")))
		var refused *taskkit.OptionError
		if !errors.As(err, &refused) || refused.Option != "WithNotifications" || !strings.Contains(refused.Problem, "give the option to the composite task") {
			t.Errorf("for a stage: %v, want an *OptionError of WithNotifications", err)
		}
		n, _, err := clientOf(db).Tasks(t.Context(), taskkit.Filter{Limit: 10})
		if err != nil || len(n) != 0 {
			t.Errorf("%d tasks were stored, %v", len(n), err)
		}
	})
}

// notifyingChild submits a child with a subscription of its own.
type notifyingChild struct {
	of  *taskkit.Kind[spec, state, struct{}]
	err chan error
}

func (x *notifyingChild) Execute(ctx context.Context, b *batch) (taskkit.Next, error) {
	_, err := taskkit.Submit(ctx, b.Tx, x.of, b.Spec, taskkit.WithParent(b.Task), taskkit.WithNotifications("ops"))
	x.err <- err
	return taskkit.Done, nil
}

// A child has no subscriptions of its own: its parent notifies for it.
func TestMID59ChildRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		x := &notifyingChild{newKind("numbers", ""), make(chan error, 10)}
		parent := taskkit.NewKind(taskkind.Definition[spec, state, struct{}]{Name: "parent", Children: true})
		started(t, db, map[string]tasknotify.Target{"ops": new(inbox)}, func(r *taskkit.Registry) { taskkit.Register(r, parent, x) })
		ended(t, db, submitted(t, db, parent, below(3)))
		var refused *taskkit.OptionError
		if err := <-x.err; !errors.As(err, &refused) || refused.Option != "WithNotifications" || !strings.Contains(refused.Problem, "give the option to the parent") {
			t.Errorf("%v, want an *OptionError of WithNotifications", err)
		}
	})
}
