package browser_test

import (
	"errors"
	"testing"
	"time"

	"taskkit.dev/taskkit"
)

// A person starts a bulk operation from a search, slows it down, stops it in the middle and continues it: each task has the request once.
func TestBulk(t *testing.T) {
	t.Parallel()
	eachSite(t, kinds, func(t *testing.T, s *site) {
		const many = 120
		ids, err := taskkit.SubmitMany(t.Context(), s.db.DB, parcelKind, make([]parcelSpec, many), taskkit.OwnedBy(s.people[admin].ID), taskkit.WithSchema(s.schema), taskkit.WithDelay(time.Hour))
		if err != nil {
			t.Fatal(err)
		}
		s.work(t)
		tab := s.tab(t, usual)
		tab.open(prefix + "queues")
		tab.operates("Pause") // until it is slow

		tab.open(prefix)
		tab.fill("Search tasks", "kind:parcel status:queued")
		tab.follow("Search")
		tab.follow("Stop all that match")
		tab.see("120 tasks match (exact at")
		tab.press(`submit("Stop 120 tasks")`)
		if !must[bool](tab, `document.querySelector("main input:invalid") !== null`) {
			t.Error("the form was sent without a reason")
		}
		tab.axe("the form of a bulk operation", "")
		tab.fill("Reason", "the wrong list")
		tab.follow("Stop 120 tasks")
		tab.see("The tasks are frozen")
		first := parseID(t, must[string](tab, `location.pathname.split("/").pop()`))
		tab.click("Change")
		tab.fill("Items a second at most", "5")
		tab.leads(func() { tab.press(`submit("Change")`) })
		tab.see("The settings were changed.")

		tab.open(prefix + "queues")
		tab.operates("Resume")
		tab.open(prefix + "task/" + first.String())
		tab.until("it is in the middle", func() error {
			begun, err := eval[bool](tab, `/\b[1-9][0-9]? of 120 items/.test(document.body.innerText)`)
			if err == nil && !begun {
				err = errors.New("it has not begun")
			}
			return err
		})
		tab.does("Stop", "enough for now", false)
		s.ended(t, first)
		stopped, err := s.client.Task(t.Context(), first)
		if err != nil || !stopped.Partial || stopped.Progress.Done == 0 || stopped.Progress.Done == many {
			t.Fatalf("stopped with %+v, %v", stopped, err)
		}

		tab.open(prefix + "bulk")
		tab.see("kind parcel")
		tab.see("Reason: the wrong list")
		tab.follow("Continue")
		tab.leads(func() { tab.press(`submit("Continue")`) })
		tab.see("This task processes what was left.")
		second := parseID(t, must[string](tab, `location.pathname.split("/").pop()`))
		s.ended(t, second)
		rest, err := s.client.Task(t.Context(), second)
		if err != nil || rest.Progress.Done+stopped.Progress.Done != many {
			t.Errorf("%d and then %+v, %v", stopped.Progress.Done, rest, err)
		}
		for _, id := range ids {
			events, err := s.client.Events(t.Context(), id, 10)
			if err != nil || len(events) != 1 || events[0].Action != "stop" || events[0].Actor != s.people[admin].ID || events[0].Reason != "the wrong list" {
				t.Fatalf("%+v, %v", events, err)
			}
		}
	})
}

// A person retries a group of dead letters, and deletes what is left with a reason.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	eachSite(t, kinds, func(t *testing.T, s *site) {
		s.work(t)
		var all []taskkit.ID
		for range 3 {
			all = append(all, submit(t, s, enrolKind, admin, enrolSpec{Students: students(2), Program: "broken"}))
		}
		for _, id := range all {
			s.ended(t, id)
		}
		tab := s.tab(t, usual)
		tab.open(prefix + "dead")
		tab.see("no_program")
		tab.operates("Retry the group")
		tab.see("This task retries the tasks of the group.")
		tab.see("3 of 3 items, 100 %")
		for _, id := range all {
			events, err := s.client.Events(t.Context(), id, 10)
			if err != nil || len(events) != 1 || events[0].Action != "retry" || events[0].Actor != s.people[admin].ID || events[0].Reason != "by a person" {
				t.Errorf("%+v, %v", events, err)
			}
			s.ended(t, id) // it fails again
		}
		tab.open(prefix + "dead?said=now") // as of now
		tab.follow("3")
		tab.follow("Delete all that match")
		tab.press(`submit("Delete 3 tasks")`)
		if !must[bool](tab, `document.querySelector("main input:invalid") !== null`) {
			t.Error("the form was sent without a reason")
		}
		tab.fill("Reason", "of no use")
		tab.follow("Delete 3 tasks")
		tab.see("3 of 3 items, 100 %")
		tab.open(prefix + "dead?said=now")
		tab.see("No task has failed.")
		for _, id := range all {
			if _, err := s.client.Task(t.Context(), id); !errors.Is(err, taskkit.ErrNotFound) {
				t.Errorf("%s is there still: %v", id, err)
			}
		}
	})
}

// Counts of many tasks are bounded, and say so: a number with a plus is at least so many. A person may have all counted.
func TestManyTasks(t *testing.T) {
	t.Parallel()
	eachSite(t, kinds, func(t *testing.T, s *site) {
		const many = 10_001
		specs := make([]enrolSpec, many)
		for i := range specs {
			specs[i] = enrolSpec{Program: "broken"}
		}
		if _, err := taskkit.SubmitMany(t.Context(), s.db.DB, enrolKind, specs, taskkit.OwnedBy(s.people[admin].ID), taskkit.WithSchema(s.schema)); err != nil {
			t.Fatal(err)
		}
		tab := s.tab(t, usual)
		tab.open(prefix)
		tab.see("10,000+ waiting")
		tab.open(prefix + "queues")
		tab.see("10,000+")
		tab.open(prefix + "list")
		tab.see("Queued 10,001")
		tab.open(prefix + "bulk/pause?q=status%3Aqueued")
		tab.see("10,000+ tasks match (there are more)")
		tab.see("Pause 10,000+ tasks")
		tab.follow("Count them all")
		tab.see("10,001 tasks match (exact at")

		s.work(t)
		s.until(t, "all have failed", func() bool {
			counts, _, err := s.client.Counts(t.Context(), "")
			return err == nil && counts[taskkit.StatusError]+counts[taskkit.StatusFailure] >= many
		})
		tab.open(prefix + "dead?said=now")
		tab.see("10,000+")
		tab.open(prefix)
		tab.see("5,000+ failed in 24 h")
		tab.see("5,000+ tasks of enrol have failed with no_program")
	})
}
