package taskkit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// Schedules that are due at the same time are fired many in a transaction, once each whatever
// the number of workers. One whose key is taken spoils that for none.
func TestSchedulesFireTogether(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		const n = 120
		var names []string
		add := func(name string) {
			names = append(names, name)
			planned(t, db, name, taskops.Schedule{Cron: yearly})
			overdue(t, db, name, newYear())
		}
		for i := range n {
			add(fmt.Sprintf("s%03d", i))
		}
		handle, statements := testdb.Recorded(t, db)
		recorded := *db
		recorded.DB = handle
		events := new(scheduleEvents)
		c := taskkit.ScheduleEvery(quick(t, db), 20*time.Millisecond)
		c.Observer = events
		stop := started(t, &recorded, endsAtOnce(nightlyKind), c)
		events.happened(t, "all have fired", func() bool { return len(events.fired) >= n })
		inserts := 0
		for _, s := range statements.Take() {
			if strings.HasPrefix(s, "INSERT") && strings.Contains(s, "taskkit_queued_task") {
				inserts++
			}
		}
		t.Logf("%d schedules: %d statements store their tasks", n, inserts)
		if inserts > 4 {
			t.Errorf("%d statements store the tasks of %d schedules, want at most 4", inserts, n)
		}

		// Two workers, and one fire that was made before.
		before := schedule(t, db, names[7])
		ended(t, db, before.LastTask) // a fire while it waits would be skipped
		stop()
		overdue(t, db, names[7], newYear())
		for i := range n / 2 {
			add(fmt.Sprintf("t%03d", i))
		}
		started(t, db, endsAtOnce(nightlyKind), c)
		started(t, db, endsAtOnce(nightlyKind), c)
		events.happened(t, "the others have fired", func() bool { return len(events.fired) > len(names) })
		if again := schedule(t, db, names[7]); again.LastTask != before.LastTask || again.Version <= before.Version {
			t.Errorf("after a fire that was made before: %+v, want the task of %+v", again, before)
		}
		tasks := make(map[string]int)
		all, _, err := clientOf(db).Tasks(t.Context(), taskkit.Filter{Limit: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range all {
			tasks[task.Reason]++
		}
		if len(tasks) != len(names) {
			t.Errorf("tasks of %d schedules, want of %d", len(tasks), len(names))
		}
		for reason, got := range tasks {
			if got != 1 {
				t.Errorf("%d tasks: %s", got, reason)
			}
		}
	})
}
