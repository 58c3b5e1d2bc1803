package browser_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// operates opens the only form with this button, and sends it with a reason and the other fields, each with its label and its text.
func (t *tab) operates(button string, fields ...string) {
	t.Helper()
	t.click(button)
	for field := range slices.Chunk(fields, 2) {
		t.fill(field[0], field[1])
	}
	t.until("fill in the reason", func() error {
		_, err := eval[bool](t, `(() => { const e = document.querySelector("details[open] input[name=reason]"); e.focus(); return true })()`)
		return err
	})
	t.fill("reason", "by a person")
	t.leads(func() { t.press(`submit(` + quoted(button) + `)`) })
}

// An operator uses the verbs of schedules, queues and limits, with JavaScript and without.
func TestOperators(t *testing.T) {
	t.Parallel()
	eachSite(t, kinds, func(t *testing.T, s *site) {
		list := enrolSpec{Students: students(3), Program: "chess"}
		s.work(t)
		for i, script := range []bool{true, false} {
			name := "no-script"
			if script {
				name = "script"
			}
			if err := taskops.SetSchedule(t.Context(), s.db.DB, enrolKind, name, list, taskops.Schedule{Cron: "30 2 * * *"}, taskkit.WithSchema(s.schema)); err != nil {
				t.Fatal(err)
			}
			tab := s.tab(t, appearance{width: 360, script: script})
			tab.open(prefix + "schedules")
			tab.operates("Pause")
			tab.see("The schedule is paused.")
			tab.operates("Resume")
			tab.see("The schedule goes on.")
			tab.operates("Run now")
			tab.see("A worker submits a task of the schedule within seconds.")
			s.until(t, "the schedule submits a task", func() bool {
				found, _, err := s.client.Tasks(t.Context(), taskkit.Filter{Kinds: []string{enrolKind.Name()}, Statuses: []taskkit.Status{taskkit.StatusCompleted}})
				return err == nil && len(found) == i+1
			})
			tab.open(prefix + "schedules")
			tab.see("run by hand")
			tab.operates("Delete")
			tab.see("There is no schedule.")

			submit(t, s, enrolKind, admin, list, taskkit.WithDelay(time.Hour))
			tab.open(prefix + "queues")
			tab.operates("Pause")
			tab.see("by a person")
			tab.operates("Resume")

			tab.open(prefix + "limits")
			tab.operates("Set another limit", "Key", "tenant//7?&", "At most", "3")
			tab.see("The limit is set.")
			tab.see("0 of 3 set by an operator")
			tab.operates("Set", "At most", "5")
			tab.see("0 of 5 set by an operator")
			tab.operates("Clear")
			tab.see("What the tasks themselves say holds again.")
			tab.see("No limit is in use or set.")
		}
	})
}

// The page Workers has what each worker runs, and no verbs: an operator goes on to the task.
func TestWorkers(t *testing.T) {
	t.Parallel()
	eachSite(t, kinds, func(t *testing.T, s *site) {
		kill := s.launch(t, workerArgs{SystemID: "holding", HoldAt: 11})
		id := submit(t, s, enrolKind, admin, enrolSpec{Students: students(20), Program: "chess"})
		tab := s.tab(t, usual)
		tab.open(prefix + "workers")
		tab.see("1 of 4") // read again until it is so
		if n := must[int](tab, `document.querySelectorAll("main form, main dialog").length`); n != 0 {
			t.Errorf("the page has %d forms", n)
		}
		tab.leads(func() { tab.press(`starting("enrol ")`) })
		tab.see("10 of 20 items")
		if at := must[string](tab, "location.pathname"); at != prefix+"task/"+id.String() {
			t.Errorf("the task of the worker is at %s", at)
		}
		kill()
		tab.open(prefix + "workers")
		tab.see("not taken over yet")
	})
}

// A schedule that never fires is refused when it is set.
func TestScheduleThatNeverFires(t *testing.T) {
	t.Parallel()
	err := taskops.SetSchedule(t.Context(), migrated(t).DB, enrolKind, "never", enrolSpec{Students: students(1), Program: "chess"}, taskops.Schedule{Cron: "0 0 30 2 *"})
	if _, ok := errors.AsType[*taskops.ScheduleError](err); !ok {
		t.Errorf("got %v, want a *ScheduleError", err)
	}
}
