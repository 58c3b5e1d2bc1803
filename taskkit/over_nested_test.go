package taskkit_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// nestedSpec has its list of targets two structs down, one of which is left out of the
// JSON while it is empty.
type nestedSpec struct {
	Remark string      `json:"remark"`
	To     nestedOuter `json:"to"`
	After  string      `json:"after"`
}

type nestedOuter struct {
	Kind  string      `json:"kind,omitempty"`
	Group nestedInner `json:"group,omitzero"`
}

type nestedInner struct {
	Names []string `json:"names,omitempty" validate:"required,dive,min=2"`
}

// nestedKind is a kind whose targets are to.group.names.
func nestedKind() *taskkit.Kind[nestedSpec, countState, string] {
	return taskkit.NewKind(taskkind.Definition[nestedSpec, countState, string]{
		Name: "nested", BatchSize: 400,
		Targets: taskkind.TargetsIn("to.group.names", func(s *nestedSpec) *[]string { return &s.To.Group.Names }),
	})
}

// A list in a struct of the spec has the targets as one of the spec itself has them:
// their number is known, a frozen set can stand for them, and rules for its elements
// apply to each.
func TestTargetsInAStructOfTheSpec(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := nestedKind()
		var mu sync.Mutex
		got := map[taskkit.ID][]string{}
		x := &funcs[nestedSpec, countState]{execute: func(_ context.Context, b *taskkit.Batch[nestedSpec, countState]) (taskkit.Next, error) {
			names, next := taskkit.Take(b, b.Spec.To.Group.Names)
			if b.Spec.Remark != "first" || b.Spec.After != "last" {
				return next, taskkit.Permanent("wrong_spec", nil)
			}
			mu.Lock()
			defer mu.Unlock()
			got[b.Task] = append(got[b.Task], names...)
			return next, nil
		}}
		want := make([]string, 2345)
		for i := range want {
			want[i] = "name " + string(rune('a'+i%26)) + strconv.Itoa(i)
		}
		spec := nestedSpec{Remark: "first", After: "last"}
		sparse := submitted(t, db, k, spec, taskkit.WithTargets(slices.Values(want)))
		spec.To.Kind = "k"
		full := submitted(t, db, k, spec, taskkit.WithTargets(slices.Values(want)))
		spec.To.Group.Names = want[:1234]
		listed := submitted(t, db, k, spec)
		started(t, db, registered(k, x), quick(t, db))
		for id, want := range map[taskkit.ID][]string{sparse: want, full: want, listed: want[:1234]} {
			task := ended(t, db, id)
			mu.Lock() // the other tasks still run
			taken := got[id]
			mu.Unlock()
			if task.Status != taskkit.StatusCompleted || task.Progress.Total != int64(len(want)) || !slices.Equal(taken, want) {
				t.Errorf("%s %q: %+v, %d targets were taken", task.Status, task.StatusDetail, task.Progress, len(taken))
			}
		}
	})
}

// Errors name the path of the list and the position in the set.
func TestTargetsInAStructAreValidated(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	migrated(t, db)
	submit := func(spec nestedSpec, names ...string) error {
		opts := []taskkit.SubmitOption{taskkit.System()}
		if names != nil {
			opts = append(opts, taskkit.WithTargets(slices.Values(names)))
		}
		_, err := taskkit.Submit(t.Context(), db.DB, nestedKind(), spec, opts...)
		return err
	}
	rule, ok := errors.AsType[*taskkit.SpecError](submit(nestedSpec{}, "good", "x"))
	if !ok || len(rule.Fields) != 1 || rule.Fields[0].Pointer != "/to/group/names/1" || rule.Fields[0].Rule != "min=2" {
		t.Errorf("a target that breaks a rule: %+v", rule)
	}
	none, ok := errors.AsType[*taskkit.SpecError](submit(nestedSpec{}))
	if !ok || len(none.Fields) != 1 || none.Fields[0].Pointer != "/to/group/names" {
		t.Errorf("no list and no set: %+v", none)
	}
	both := submit(nestedSpec{To: nestedOuter{Group: nestedInner{Names: []string{"good"}}}}, "good")
	if _, ok := errors.AsType[*taskkit.OptionError](both); !ok {
		t.Errorf("a list and a set: %v", both)
	}
	checkStored(t, db, 0, 0)
}
