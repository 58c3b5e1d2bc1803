package browser_test

import (
	"slices"
	"strings"
	"testing"

	"taskkit.dev/taskkit"
)

// A person who has a file with two bad rows enrols the students of it: corrects the rows in place, previews, runs, watches a worker
// die and another take over, has a failure repaired, and repeats what failed. A second person approves what the first must not.
func TestJourney(t *testing.T) {
	t.Parallel()
	eachSite(t, kinds, func(t *testing.T, s *site) {
		list := students(100, "ee", "ff", "ff", "ff")
		var file strings.Builder
		file.WriteString("students\n")
		for i, id := range list {
			switch i {
			case 10:
				file.WriteString("no student\n")
			case 20:
				file.WriteString("4711\n")
			default:
				file.WriteString(id.String() + "\n")
			}
		}
		kill := s.launch(t, workerArgs{SystemID: "first", HoldAt: 41})

		tab := s.tab(t, usual)
		tab.open(prefix)
		tab.follow("Kinds")
		tab.follow("enrol")
		tab.see("Enrol enrols students in a program.")
		tab.fill("Program", "chess")
		tab.upload("file.students", "students.csv", file.String())
		tab.mayFail(s.url + prefix + "kind/enrol") // 422: rows to correct
		tab.follow("Check")
		tab.see("Rows to correct: 100 rows were read.")
		tab.axe("rows to correct", "")
		tab.fill("students of line 12", list[10].String())
		tab.fill("students of line 22", list[20].String())
		tab.follow("Check")
		tab.axe("what was checked", "")
		tab.follow("Preview on 100 students")
		tab.see("Preview: nothing of this was written")
		tab.see("100 of 100 items, 100 %, 3 failed, 1 skipped")
		tab.see("is enrolled 96")

		tab.follow("Kinds")
		tab.follow("enrol")
		tab.leads(func() { tab.press(`starting("Repeat")`) })
		tab.follow("Check")
		tab.fill("Reason (optional)", "the new term")
		tab.follow("Run on 100 students")
		tab.see("40 of 100 items")

		kill()
		kill = s.launch(t, workerArgs{SystemID: "second"})
		tab.see("100 of 100 items, 100 %, 3 failed, 1 skipped")
		tab.see("continued, claim 2")
		tab.axe("the task", "")

		tab.follow("3 failed")
		tab.see("no_place")
		name, content := tab.download("All of them as CSV")
		var failed []string
		for line := range strings.Lines(content) {
			id, _, _ := strings.Cut(line, ",")
			failed = append(failed, id)
		}
		want := []string{"item", list[97].String(), list[98].String(), list[99].String()}
		if !strings.HasSuffix(name, ".csv") || !slices.Equal(failed, want) {
			t.Errorf("%s has the failed items %q, want %q", name, failed, want)
		}
		// A program without the mistake is deployed.
		kill()
		s.launch(t, workerArgs{SystemID: "third", Repaired: true})
		tab.does("Retry failed items", "", false)
		tab.see("This task processes the failed items.")
		tab.see("3 of 3 items, 100 %")

		last := submit(t, s, enrolKind, admin, enrolSpec{Students: list[:5], Program: "chess"}, taskkit.WithApproval(), taskkit.WithReason("five of them"))
		waits := "enrol waits for approval: five of them"
		tab.follow("taskkit")
		tab.see("Needs you")
		if tab.has(waits) == nil {
			t.Error("the page Home offers the approval to the owner of the task")
		}
		tab.follow("Approvals")
		tab.see("Wait for others")
		tab.leads(func() { tab.press(`starting("enrol ")`) })
		tab.see("its approval must come from somebody other than its owner")
		tab.as(colleague)
		tab.follow("taskkit")
		tab.follow(waits)
		tab.operates("Approve")
		tab.see("The task was approved.")
		tab.open(prefix + "task/" + last.String())
		tab.see("5 of 5 items, 100 %")
	})
}

// A person who has never seen the dashboard finds why a task has failed, and repeats it, with four clicks.
func TestFailureIsFoundAndRepeated(t *testing.T) {
	t.Parallel()
	s := newSite(t, migrated(t), kinds())
	s.work(t)
	id := submit(t, s, enrolKind, admin, enrolSpec{Students: students(30), Program: "broken"})
	s.ended(t, id)
	tab := s.tab(t, usual)
	tab.open(prefix)
	tab.follow("1 task of enrol has failed with no_program")
	tab.leads(func() { tab.press(`starting("enrol ")`) })
	tab.see("the program <b>broken</b> does not exist")
	tab.click("Retry")
	tab.leads(func() { tab.press(`submit("Retry")`) })
	tab.see("The task is tried again.")
}
