package taskkit_test

import (
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// A dry run of a task with buckets divides it, lets each bucket find its items and executes nothing.
func TestMID48DryRunOfBuckets(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		numberTable(t, db, "dry_rows", 100)
		k := rowsKind("dry_rows")
		x := &rowsExecutor{table: "dry_rows"}
		started(t, db, registered(k, x), quick(t, db))
		id := submitted(t, db, k, rowsSpec{Rows: 100, Buckets: 4}, taskkit.WithDryRun())
		task := ended(t, db, id)
		if task.Status != taskkit.StatusCompleted || !task.Partial || task.StatusDetail != "dry_run: nothing was executed" || task.Progress.Done != 0 {
			t.Errorf("ended as %s partial %t (%s), %+v", task.Status, task.Partial, task.StatusDetail, task.Progress)
		}
		if n := len(childrenOf(t, db, id)); n != 4 {
			t.Errorf("it has %d buckets, want 4", n)
		}
		if _, err := taskkit.Fetch(t.Context(), clientOf(db), k, id); err == nil {
			t.Error("a task that has executed nothing has a result")
		}
		var report strings.Builder
		if err := clientOf(db).WriteBuckets(t.Context(), id, &report); err != nil || strings.Count(report.String(), "\n") != 5 {
			t.Errorf("its buckets are\n%s%v", &report, err)
		}
	})
}

// A dry run is refused where it would find nothing, and with what contradicts it.
func TestMID48DryRunIsRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		walk := taskkit.NewKind(taskkind.Definition[rangedSpec, rangedState, struct{}]{Name: "dry_walk", Preview: true})
		_, err := taskkit.Submit(t.Context(), db.DB, walk, rangedSpec{}, taskkit.System(), taskkit.WithSchema(schemaOf(db)), taskkit.WithDryRun())
		if !isOption(err, "WithDryRun") {
			t.Errorf("of a live walk: %v", err)
		}
		list := taskkit.NewKind(taskkind.Definition[rangedSpec, rangedState, struct{}]{
			Name: "dry_list", Preview: true, Targets: taskkind.TargetsIn("numbers", func(s *rangedSpec) *[]int { return &s.Numbers }),
		})
		_, err = taskkit.Submit(t.Context(), db.DB, list, rangedSpec{[]int{1}}, taskkit.System(), taskkit.WithSchema(schemaOf(db)), taskkit.WithDryRun(), taskkit.WithPreview())
		if !isOption(err, "WithDryRun") {
			t.Errorf("with a preview: %v", err)
		}
		_, err = taskkit.Submit(t.Context(), db.DB, list, rangedSpec{[]int{1}}, taskkit.System(), taskkit.WithSchema(schemaOf(db)), taskkit.WithDryRun(), taskkit.WithCoalescing("k"))
		if !isOption(err, "WithCoalescing") {
			t.Errorf("with coalescing: %v", err)
		}
	})
}
