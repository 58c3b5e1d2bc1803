package browser_test

import (
	"errors"
	"testing"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// operates opens the only form with this button, and sends it with a reason.
func (t *tab) operates(button string) {
	t.Helper()
	t.click(button)
	t.until("fill in the reason", func() error {
		_, err := eval[bool](t, `(() => { const e = document.querySelector("details[open] input[name=reason]"); e.focus(); return true })()`)
		return err
	})
	t.fill("reason", "by a person")
	t.leads(func() { t.press(`submit(` + quoted(button) + `)`) })
}

// An operator uses the verbs of schedules and queues, with JavaScript and without.
func TestOperators(t *testing.T) {
	t.Parallel()
	eachSite(t, kinds, func(t *testing.T, s *site) {
		list := enrolSpec{Students: students(3), Program: "chess"}
		for _, script := range []bool{true, false} {
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
			tab.operates("Delete")
			tab.see("There is no schedule.")

			submit(t, s, enrolKind, admin, list, taskkit.WithDelay(time.Hour))
			tab.open(prefix + "queues")
			tab.operates("Pause")
			tab.see("by a person")
			tab.operates("Resume")
		}
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
