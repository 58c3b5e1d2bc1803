package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// mailing is a list of numbers with a text.
type mailing struct {
	Text    string `json:"text"`
	Numbers []int  `json:"numbers"`
}

// mailer fails each third number with the code full, and each after it with the code gone.
type mailer struct{}

func (mailer) Execute(_ context.Context, b *taskkit.Batch[mailing, struct{}]) (taskkit.Next, error) {
	numbers, next := taskkit.Take(b, b.Spec.Numbers)
	for _, n := range numbers {
		switch n % 3 {
		case 1:
			b.Fail(n, taskkit.Permanent("full", nil))
		case 2:
			b.Fail(n, taskkit.Permanent("gone", nil))
		}
	}
	return next, nil
}

func mailingKind(name string) *taskkit.Kind[mailing, struct{}, struct{}] {
	return taskkit.NewKind(taskkind.Definition[mailing, struct{}, struct{}]{
		Name: name, BatchSize: 4, MaxBatchSize: 4, Preview: true, Targets: taskkind.TargetsIn("numbers", func(m *mailing) *[]int { return &m.Numbers }),
	})
}

// numbersBetween are the numbers from one to before another.
func numbersBetween(from, to int) (numbers []int) {
	for n := from; n < to; n++ {
		numbers = append(numbers, n)
	}
	return numbers
}

// sourcesOf writes items with the tasks that they are from, which are called by letters.
func sourcesOf(items []taskkit.Item, names map[taskkit.ID]string) string {
	listed := make([]string, len(items))
	for n, i := range items {
		listed[n] = i.Text() + names[i.Source]
	}
	return strings.Join(listed, " ")
}

// Failed items of a list, a frozen set and a divided task become one new task, whose items say where they are from.
func TestMID45RetrySelected(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k, other := mailingKind("mailing"), mailingKind("mailing_other")
		var r taskkit.Registry
		taskkit.Register(&r, k, mailer{})
		taskkit.Register(&r, other, mailer{})
		stop := started(t, db, &r, quick(t, db))
		c := clientOf(db)
		began := mustTask(t, db, submitted(t, db, other, mailing{Numbers: numbersBetween(1, 9)})).Created
		list := submitted(t, db, k, mailing{Text: "a", Numbers: numbersBetween(1, 9)})
		frozen := submitted(t, db, k, mailing{Text: "a"}, taskkit.WithTargets(slices.Values(numbersBetween(7, 15))))
		divided := submitted(t, db, k, mailing{Text: "a"}, taskkit.WithTargets(slices.Values(numbersBetween(10, 40))), taskkit.WithMaxParallel(2))
		preview := submitted(t, db, k, mailing{Text: "a", Numbers: numbersBetween(100, 104)}, taskkit.WithPreview())
		for _, id := range []taskkit.ID{list, frozen, divided, preview} {
			ended(t, db, id)
		}
		stop()
		names := map[taskkit.ID]string{list: "l", frozen: "f", divided: "d"}
		for name, tc := range map[string]struct {
			f    taskkit.Failures
			want string
		}{
			"one task":     {taskkit.Failures{Tasks: []taskkit.ID{list}}, "1l 2l 4l 5l 7l 8l"},
			"several":      {taskkit.Failures{Tasks: []taskkit.ID{list, frozen, list}}, "7f 8f 10f 11f 13f 14f 1l 2l 4l 5l"},
			"a code":       {taskkit.Failures{Tasks: []taskkit.ID{list, frozen}, Codes: []string{"gone"}}, "8f 11f 14f 2l 5l"},
			"items":        {taskkit.Failures{Tasks: []taskkit.ID{frozen, list}, Items: []any{2, 3, 8, 13}}, "8f 13f 2l"},
			"a kind":       {taskkit.Failures{Kind: "mailing", From: began, Codes: []string{"full"}}, "10d 13d 16d 19d 22d 25d 28d 31d 34d 37d 7f 1l 4l"},
			"up to a time": {taskkit.Failures{Kind: "mailing", From: began, To: mustTask(t, db, divided).Stopped.Add(time.Millisecond), Items: []any{1, 11}}, "11d 1l"},
		} {
			id, err := c.RetrySelected(t.Context(), tc.f, taskkit.WithReason(name))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if again, err := c.RetrySelected(t.Context(), tc.f); !isDuplicateOf(err, id) {
				t.Errorf("%s again: %v, %v, want a DuplicateError with the first", name, again, err)
			}
			if got := sourcesOf(listed(t, db, id, taskkit.OutcomeUnprocessed), names); got != tc.want {
				t.Errorf("%s: the new task has %s, want %s", name, got, tc.want)
			}
			task, err := taskkit.Get(t.Context(), c, k, id)
			if err != nil || task.Spec.Text != "a" || task.Task.Reason != name || task.Task.Progress.Total != int64(len(strings.Fields(tc.want))) {
				t.Errorf("%s: the new task is %+v, %v", name, task, err)
			}
			if name != "a kind" {
				continue
			}
			// Executed in ranges, with all items failing again.
			divide := started(t, db, &r, quick(t, db))
			ended(t, db, id)
			divide()
			if got := sourcesOf(listed(t, db, id, taskkit.OutcomeFailed), names); got != tc.want {
				t.Errorf("after the run, %s failed, want %s", got, tc.want)
			}
		}
	})
}

// What cannot become one task is refused by name, and nothing is stored.
func TestMID45SelectionsRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k, other := mailingKind("refused_mailing"), mailingKind("refused_other")
		live := newKind[countSpec, countState]("refused_live", 10)
		var r taskkit.Registry
		taskkit.Register(&r, k, mailer{})
		taskkit.Register(&r, other, mailer{})
		taskkit.Register(&r, live, &funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			b.Fail(1, errPlanned)
			return taskkit.Done, nil
		}})
		stop := started(t, db, &r, quick(t, db))
		c := clientOf(db)
		walk := submitted(t, db, live, countSpec{})
		spec := submitted(t, db, k, mailing{Text: "b", Numbers: numbersBetween(1, 9)})
		owned := submitted(t, db, k, mailing{Text: "a", Numbers: numbersBetween(1, 9)}, taskkit.OwnedBy(uuid.New()))
		approved := submitted(t, db, k, mailing{Text: "a", Numbers: numbersBetween(1, 9)}, taskkit.WithApproval())
		kind := submitted(t, db, other, mailing{Text: "a", Numbers: numbersBetween(1, 9)})
		plain := submitted(t, db, k, mailing{Text: "a", Numbers: numbersBetween(1, 9)})
		if _, err := c.Approve(t.Context(), approved, taskkit.WithActor(uuid.New())); err != nil {
			t.Fatal(err)
		}
		all := []taskkit.ID{walk, spec, owned, approved, kind, plain}
		for _, id := range all {
			ended(t, db, id)
		}
		stop()
		waits := submitted(t, db, k, mailing{Text: "a", Numbers: numbersBetween(1, 9)}, taskkit.WithDelay(time.Hour))
		began := mustTask(t, db, walk).Created
		before, _, err := c.Counts(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		of := func(ids ...taskkit.ID) taskkit.Failures { return taskkit.Failures{Tasks: ids} }
		for name, tc := range map[string]struct {
			f    taskkit.Failures
			text string
		}{
			"nothing":                 {taskkit.Failures{}, "none: name the tasks"},
			"tasks and a kind":        {taskkit.Failures{Tasks: all, Kind: "refused_mailing"}, "give one of them"},
			"a kind without a time":   {taskkit.Failures{Kind: "refused_mailing"}, "say since when"},
			"times in reverse":        {taskkit.Failures{Kind: "refused_mailing", From: began, To: began}, "is not after From"},
			"too many tasks":          {of(make([]taskkit.ID, 1001)...), "more than 1000"},
			"too many items":          {taskkit.Failures{Tasks: all, Items: make([]any, 10_001)}, "more than 10000"},
			"an unknown kind":         {taskkit.Failures{Kind: "refused_none", From: began}, "no task of kind refused_none"},
			"a kind with a live walk": {taskkit.Failures{Kind: "refused_live", From: began}, "targets=FIELD"},
			"no such code":            {taskkit.Failures{Tasks: []taskkit.ID{plain}, Codes: []string{"none"}}, "no failed item is selected, of 1 tasks"},
			"a task that waits":       {of(plain, waits), "QUEUED"},
			"another spec":            {of(plain, spec), "another spec"},
			"another kind":            {of(plain, kind), "another kind"},
			"another owner":           {of(plain, owned), "another owner (without OwnedBy)"},
			"an approval":             {of(plain, approved), "an approval to wait for"},
		} {
			var (
				items *taskkit.ItemsError
				state *taskkit.StateError
				opt   *taskkit.OptionError
			)
			_, err := c.RetrySelected(t.Context(), tc.f)
			if err == nil || !strings.Contains(err.Error(), tc.text) || !errors.As(err, &items) && !errors.As(err, &state) && !errors.As(err, &opt) {
				t.Errorf("%s: %v, want a typed error with %q", name, err, tc.text)
			}
		}
		if _, err := c.RetrySelected(t.Context(), of(uuid.New())); !errors.Is(err, taskkit.ErrNotFound) {
			t.Errorf("no task: %v", err)
		}
		if after, _, err := c.Counts(t.Context(), ""); err != nil || fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("the tasks are %v (%v), want %v", after, err, before)
		}
		// Given by an option, they are allowed.
		person := uuid.New()
		id, err := c.RetrySelected(t.Context(), of(plain, owned, approved), taskkit.OwnedBy(person), taskkit.RunAs(person), taskkit.WithApproval(), taskkit.WithActor(person))
		if err != nil {
			t.Fatal(err)
		}
		if task := mustTask(t, db, id); task.Owner != person || task.RunAs != person || task.Progress.Total != 6 || task.Control != taskkit.ControlPause {
			t.Errorf("the task of several owners is %+v", task)
		}
	})
}
