package taskkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// The parts of one kind as two of its revisions write them. Between them every
// name has changed, so that neither can read the other's.
type (
	oldSpec struct {
		Items int `json:"items"`
	}
	newSpec struct {
		Count int `json:"count" validate:"max=1000"`
	}
	oldState struct {
		Next int `json:"next"`
	}
	newState struct {
		At    int    `json:"at"`
		Since string `json:"since"` // what an upgraded state came from
	}
)

// step performs one item a batch, in either revision.
func step(at *int, items int) taskkit.Next {
	if *at++; *at >= items {
		return taskkit.Done
	}
	return taskkit.More
}

// oldKind is the kind before.
func oldKind() *taskkit.Kind[oldSpec, oldState, string] {
	return taskkit.NewKind(taskkind.Definition[oldSpec, oldState, string]{
		Name: "moved",
	})
}

// oldWork does the items of a task one by one, up to hold, and then waits for
// its worker to go.
func oldWork(hold int) *taskkit.Registry {
	return registered(oldKind(), &aborting[oldSpec, oldState]{
		funcs: funcs[oldSpec, oldState]{execute: func(ctx context.Context, b *taskkit.Batch[oldSpec, oldState]) (taskkit.Next, error) {
			if b.State.Next == hold {
				<-ctx.Done()
				return taskkit.More, context.Cause(ctx)
			}
			b.Advance(1)
			return step(&b.State.Next, b.Spec.Items), nil
		}},
		report: func(_ context.Context, b *taskkit.Batch[oldSpec, oldState]) (string, error) {
			return fmt.Sprint("old ", b.State.Next), nil
		},
	})
}

// newer is the kind at a revision, with upgrades from the one before it.
func newer(revision int, up ...taskkind.Upgrade) *taskkit.Kind[newSpec, newState, string] {
	return taskkit.NewKind(taskkind.Definition[newSpec, newState, string]{
		Name: "moved", Revision: revision, Upgrades: up,
	})
}

func newWork(k *taskkit.Kind[newSpec, newState, string]) *taskkit.Registry {
	return registered(k, &aborting[newSpec, newState]{
		funcs: funcs[newSpec, newState]{execute: func(_ context.Context, b *taskkit.Batch[newSpec, newState]) (taskkit.Next, error) {
			b.Advance(1)
			return step(&b.State.At, b.Spec.Count), nil
		}},
		abort: func(context.Context, *taskkit.Batch[newSpec, newState]) error { return nil },
		report: func(_ context.Context, b *taskkit.Batch[newSpec, newState]) (string, error) {
			return fmt.Sprintf("new %d since %q", b.State.At, b.State.Since), nil
		},
	})
}

// upgradeOld is the upgrade from the old types to the new.
var upgradeOld = taskkind.Upgrade{
	From: 1,
	Spec: func(old json.RawMessage) (json.RawMessage, error) {
		var was oldSpec
		if err := json.Unmarshal(old, &was); err != nil {
			return nil, err
		}
		return fmt.Appendf(nil, `{"count":%d}`, was.Items), nil
	},
	State: func(old json.RawMessage) (json.RawMessage, error) {
		var was *oldState
		d := json.NewDecoder(strings.NewReader(string(old)))
		d.DisallowUnknownFields() // a state that was upgraded already is an error
		if err := d.Decode(&was); err != nil {
			return nil, err
		}
		return fmt.Appendf(nil, `{"at":%d,"since":"revision 1"}`, was.Next), nil
	},
	Result: func(old json.RawMessage) (json.RawMessage, error) {
		return json.Marshal(strings.Trim(string(old), `"`) + ", upgraded")
	},
}

// marks is an upgrade after it, which changes the state only.
var marks = taskkind.Upgrade{From: 2, State: func(old json.RawMessage) (json.RawMessage, error) {
	return []byte(strings.Replace(string(old), `"revision 1"`, `"revisions 1 and 2"`, 1)), nil
}}

// What a former revision stored goes through the upgrade functions, each part
// from its own revision and once, wherever it is read.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		done   int // items done at revision 1
		items  int
		kind   *taskkit.Kind[newSpec, newState, string]
		result string
		state  newState
	}{
		"before the first checkpoint":                 {0, 3, newer(2, upgradeOld), `new 3 since ""`, newState{At: 3}},
		"all in one batch":                            {0, 1, newer(2, upgradeOld), `new 1 since ""`, newState{At: 1}},
		"in the middle":                               {2, 4, newer(2, upgradeOld), `new 4 since "revision 1"`, newState{4, "revision 1"}},
		"the last batch":                              {2, 3, newer(2, upgradeOld), `new 3 since "revision 1"`, newState{3, "revision 1"}},
		"over two revisions":                          {1, 3, newer(3, marks, upgradeOld), `new 3 since "revisions 1 and 2"`, newState{3, "revisions 1 and 2"}},
		"over one that needed nothing":                {1, 3, newer(3, upgradeOld), `new 3 since "revision 1"`, newState{3, "revision 1"}},
		"done before, so that only its reader is new": {3, 3, newer(2, upgradeOld), "old 3, upgraded", newState{3, "revision 1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				id := submitted(t, db, oldKind(), oldSpec{Items: c.items})
				if c.done > 0 {
					hold := c.done
					if hold == c.items {
						hold = -1
					}
					config := quick(t, db)
					config.Drain = 100 * time.Millisecond
					stop := started(t, db, oldWork(hold), config)
					until(t, "the old worker has done its part", func() bool {
						task, err := clientOf(db).Task(t.Context(), id)
						return err == nil && task.Progress.Done == int64(c.done)
					})
					stop()
				}
				started(t, db, newWork(c.kind), quick(t, db))
				if task := ended(t, db, id); task.Status != taskkit.StatusCompleted {
					t.Fatalf("ended in %s %q", task.Status, task.StatusDetail)
				}
				got, err := taskkit.Get(t.Context(), clientOf(db), c.kind, id)
				if err != nil {
					t.Fatal(err)
				}
				if got.Spec != (newSpec{c.items}) || got.State != c.state || got.Result == nil || *got.Result != c.result {
					t.Errorf("spec %+v, state %+v, result %v; want %d items, %+v, %q", got.Spec, got.State, got.Result, c.items, c.state, c.result)
				}
			})
		})
	}
}

// An upgrade function that fails ends the task as what cannot be decoded does,
// and is named. Whoever reads the task is told the same.
func TestUpgradeFails(t *testing.T) {
	t.Parallel()
	bad := map[string]struct {
		f    taskkind.UpgradeFunc
		says string
	}{
		"error":      {func(json.RawMessage) (json.RawMessage, error) { return nil, errPlanned }, "planned"},
		"panic":      {func(json.RawMessage) (json.RawMessage, error) { panic("planned") }, "planned"},
		"nothing":    {func(json.RawMessage) (json.RawMessage, error) { return nil, nil }, "not storable as JSON"},
		"no JSON":    {func(json.RawMessage) (json.RawMessage, error) { return []byte(`{"count"`), nil }, "not storable as JSON"},
		"wrong type": {func(json.RawMessage) (json.RawMessage, error) { return []byte(`[]`), nil }, "wrong type"},
		"too much":   {func(json.RawMessage) (json.RawMessage, error) { return []byte(`{"count":1001,"at":0,"x":1}`), nil }, "unknown name"},
	}
	for name, c := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				id := submitted(t, db, oldKind(), oldSpec{Items: 3})
				config := quick(t, db)
				config.Drain = 100 * time.Millisecond
				stop := started(t, db, oldWork(1), config)
				until(t, "the old worker has done its part", func() bool {
					task, err := clientOf(db).Task(t.Context(), id)
					return err == nil && task.Progress.Done == 1
				})
				stop()

				for part, u := range map[string]taskkind.Upgrade{
					"spec": {From: 1, Spec: c.f, State: upgradeOld.State}, "state": {From: 1, Spec: upgradeOld.Spec, State: c.f},
				} {
					k := newer(2, u)
					stop := started(t, db, newWork(k), quick(t, db))
					task := ended(t, db, id)
					status, code := taskkit.StatusFailure, "undecodable_state: "
					if part == "spec" {
						status, code = taskkit.StatusError, "undecodable: "
					}
					for _, want := range []string{code, c.says, "upgrade", "the " + part + " of kind moved from revision 1"} {
						if task.Status != status || !strings.Contains(task.StatusDetail, want) {
							t.Errorf("%s: ended in %s %q, want %s with %q", part, task.Status, task.StatusDetail, status, want)
						}
					}
					if _, err := taskkit.Get(t.Context(), clientOf(db), k, id); err == nil || !strings.Contains(err.Error(), c.says) {
						t.Errorf("%s: read with the error %v, want %q in it", part, err, c.says)
					}
					// Nothing is lost by it: an operator may go on.
					stop()
					if _, err := clientOf(db).Retry(t.Context(), id); err != nil {
						t.Fatal(err)
					}
				}
				started(t, db, newWork(newer(2, upgradeOld)), quick(t, db))
				if task := ended(t, db, id); task.Status != taskkit.StatusCompleted || task.Progress.Done != 3 {
					t.Errorf("with the right function it ended in %s %q, %+v", task.Status, task.StatusDetail, task.Progress)
				}
			})
		})
	}
}

// A spec that was upgraded is held to the rules of today.
func TestUpgradedSpecIsValidated(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		id := submitted(t, db, oldKind(), oldSpec{Items: 1001})
		started(t, db, newWork(newer(2, upgradeOld)), quick(t, db))
		if task := ended(t, db, id); task.Status != taskkit.StatusError || !strings.Contains(task.StatusDetail, "/count breaks the rule max=1000") {
			t.Errorf("ended in %s %q, want ERROR and the rule", task.Status, task.StatusDetail)
		}
	})
}

// What a newer revision wrote is refused by name by a reader that is older, and
// never run by such a worker.
func TestRevisionUnknown(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		c := clientOf(db)
		stop := started(t, db, newWork(newer(5)), quick(t, db))
		id := submitted(t, db, newer(5), newSpec{Count: 1})
		ended(t, db, id)
		stop()
		waits := submitted(t, db, newer(5), newSpec{Count: 1})

		between := taskkit.NewKind(taskkind.Definition[newSpec, newState, string]{
			Name: "moved", Revision: 4, Reads: []int{4, 3},
		})
		_, specErr := taskkit.Get(t.Context(), c, between, id)
		_, resultErr := taskkit.Fetch(t.Context(), c, between, id)
		for part, err := range map[string]error{"task": specErr, "result": resultErr} {
			var re *taskkit.RevisionError
			if !errors.As(err, &re) || re.Kind != "moved" || re.Revision != 5 || fmt.Sprint(re.Known) != "[3 4]" {
				t.Errorf("%s: read with %v, want a *RevisionError", part, err)
			} else if !strings.Contains(err.Error(), "update this program") {
				t.Errorf("%s: %v does not say what to do", part, err)
			}
		}

		first := submitted(t, db, newer(1), newSpec{Count: 1})
		if _, err := taskkit.Get(t.Context(), c, between, first); err == nil || !strings.Contains(err.Error(), "Definition.Reads") {
			t.Errorf("revision 1: read with %v, want what to do", err)
		}
		if _, err := taskkit.Fetch(t.Context(), c, countKind, id); !errors.Is(err, taskkit.ErrNotFound) || !strings.Contains(err.Error(), "of kind moved, not count") {
			t.Errorf("the result as one of another kind: %v, want ErrNotFound", err)
		}
		if _, err := taskkit.Fetch(t.Context(), c, between, uuid.New()); !errors.Is(err, taskkit.ErrNotFound) {
			t.Errorf("the result of no task: %v, want ErrNotFound", err)
		}

		// The worker runs what it knows, and by then has looked past the other.
		config := quick(t, db)
		config.Slots = 1
		started(t, db, newWork(between), config)
		for range 3 {
			ended(t, db, submitted(t, db, newer(3), newSpec{Count: 2}))
		}
		task, err := c.Task(t.Context(), waits)
		if err != nil || task.Status != taskkit.StatusQueued || task.Fence != 0 {
			t.Errorf("a task of revision 5 beside a worker of 3 and 4: %+v, %v", task, err)
		}
	})
}

// Definitions that make no sense are found when the program starts.
func TestNewKindRefusesRevisions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		revision int
		reads    []int
		upgrades []taskkind.Upgrade
		says     string
	}{
		"from a revision it does not read": {3, []int{2, 3}, []taskkind.Upgrade{{From: 1}}, "cannot upgrade from revision 1"},
		"from the present one":             {3, nil, []taskkind.Upgrade{{From: 3}}, "cannot upgrade from revision 3"},
		"from one to come":                 {3, nil, []taskkind.Upgrade{{From: 4}}, "cannot upgrade from revision 4"},
		"twice":                            {3, nil, []taskkind.Upgrade{{From: 1}, {From: 2}, {From: 1}}, "cannot upgrade from revision 1"},
		"not its own":                      {3, []int{1, 2}, nil, "cannot read its own revision 3"},
		"one to come":                      {3, []int{3, 4}, nil, "cannot read revision 4"},
		"below the first":                  {1, []int{0, 1}, nil, "cannot read revision 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, c.says) {
					t.Errorf("panicked with %q, want %q in it", said, c.says)
				}
			}()
			taskkit.NewKind(taskkind.Definition[newSpec, newState, string]{
				Name: "moved", Revision: c.revision, Reads: c.reads, Upgrades: c.upgrades,
			})
		})
	}
}

// A retired kind takes nothing new, by any way in, and runs what is there.
func TestRetiredKind(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		makeTouch(t, db.DB)
		there := submitted(t, db, countKind, countSpec{Items: 5})
		retired := taskkit.NewKind(taskkind.Definition[countSpec, countState, struct{}]{
			Name: countKind.Name(), Retired: true,
		})
		r := registered(retired, counting("w"))
		in := taskkit.WithSchema(schemaOf(db))
		_, one := taskkit.Submit(t.Context(), db.DB, retired, countSpec{Items: 1}, in, taskkit.System())
		_, many := taskkit.SubmitMany(t.Context(), db.DB, retired, []countSpec{{Items: 1}, {Items: 2}}, in, taskkit.System())
		_, none := taskkit.SubmitMany(t.Context(), db.DB, retired, nil, in, taskkit.System())
		_, text := r.SubmitJSON(t.Context(), db.DB, retired.Name(), []byte(`{"items":1}`), in, taskkit.System())
		for way, err := range map[string]error{"Submit": one, "SubmitMany": many, "SubmitMany of none": none, "SubmitJSON": text} {
			if e, ok := errors.AsType[*taskkit.UsageError](err); !ok || e.What != fmt.Sprintf("kind %q", retired.Name()) || !errors.Is(err, taskkit.ErrRetired) {
				t.Errorf("%s: %v, want a *UsageError of ErrRetired", way, err)
			}
		}
		started(t, db, r, quick(t, db))
		if task := ended(t, db, there); task.Status != taskkit.StatusCompleted {
			t.Errorf("what was there ended in %s %q", task.Status, task.StatusDetail)
		}
		counts, _, err := clientOf(db).Counts(t.Context(), "")
		if err != nil || len(counts) != 1 || counts[taskkit.StatusCompleted] != 1 {
			t.Errorf("there are %v, %v; want the one task that was there", counts, err)
		}
	})
}
