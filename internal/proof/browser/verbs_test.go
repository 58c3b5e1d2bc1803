package browser_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

// does uses a verb of the task whose page is open: by its dialog, or by its page without JavaScript or in a browser that
// does not support dialogs.
func (t *tab) does(verb, reason string, page bool) {
	t.Helper()
	if page {
		t.follow(verb + " on a page")
	} else {
		t.click(verb)
	}
	if reason != "" {
		t.until("fill in the reason", func() error {
			_, err := eval[bool](t, `(() => { const e = [...document.querySelectorAll("input[name=reason]")].find(e => e.checkVisibility()); e.focus(); return true })()`)
			return err
		})
		t.fill("reason", reason)
	}
	t.leads(func() { t.press(`submit(` + quoted(verb) + `)`) })
}

// A person uses each verb of a task: with JavaScript and without it by dialogs, and without it by the page to which a link
// leads.
func TestVerbs(t *testing.T) {
	t.Parallel()
	eachSite(t, kinds, func(t *testing.T, s *site) {
		list := enrolSpec{Students: students(12, "ff", "ff", "ff"), Program: "chess"}
		waiting := func() taskkit.ID {
			return submit(t, s, enrolKind, admin, list, taskkit.WithDelay(time.Hour))
		}
		s.work(t)
		for name, way := range map[string]struct{ script, page bool }{"script": {true, false}, "dialog": {false, false}, "page": {false, true}} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				tab := s.tab(t, appearance{width: 1440, script: way.script})
				first := waiting()
				tab.open(prefix + "task/" + first.String())
				tab.does("Pause", "", way.page)
				tab.see("The task pauses after its current batch.")
				tab.does("Resume", "", way.page)
				tab.see("The task goes on.")
				tab.does("Stop", "wrong list", way.page)
				tab.see("stop requested by Ada Admin: wrong list")
				tab.does("Delete", "of no use", way.page)
				tab.see("The task was deleted.")

				failed := submit(t, s, enrolKind, admin, list)
				s.ended(t, failed)
				tab.open(prefix + "task/" + failed.String())
				tab.does("Retry failed items", "", way.page)
				tab.see("This task processes the failed items.")

				broken := submit(t, s, enrolKind, admin, enrolSpec{Students: list.Students, Program: "broken"})
				s.ended(t, broken)
				tab.open(prefix + "task/" + broken.String())
				tab.see("the program <b>broken</b> does not exist")
				tab.does("Retry", "", way.page)
				tab.see("The task is tried again.")
				s.ended(t, broken)
				tab.open(prefix + "task/" + broken.String())
				tab.does("Continue", "", way.page)
				tab.see("This task processes what was left.")

				preview := submit(t, s, enrolKind, admin, list, taskkit.WithPreview())
				s.ended(t, preview)
				tab.open(prefix + "task/" + preview.String())
				tab.does("Apply", "", way.page)
				tab.see("This task does what the preview has previewed.")

				changed := waiting()
				tab.open(prefix + "task/" + changed.String())
				tab.mayFail(s.url + prefix + "task/" + changed.String() + "/change")
				tab.does("Change", "", way.page)
				tab.see("No setting was given")
				tab.open(prefix + "task/" + changed.String() + "/change")
				tab.fill("Items a second at most", "2.5")
				tab.leads(func() { tab.press(`submit("Change")`) })
				tab.see("The settings were changed.")
			})
		}
	})
}

// A person who may only read has no verb on any page, and a form that is sent all the same is refused.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t, migrated(t), kinds())
	id := submit(t, s, enrolKind, admin, enrolSpec{Students: students(3), Program: "chess"}, taskkit.WithDelay(time.Hour))
	tab := s.tab(t, usual)
	path := prefix + "task/" + id.String()
	tab.open(path)
	forms := must[[]string](tab, `[...document.querySelectorAll("form[method=post]")].map(f => f.action)`)
	if len(forms) < 3 {
		t.Fatalf("an administrator has the forms %q", forms)
	}
	tab.as(reader)
	for _, p := range []string{prefix, prefix + "list", path, path + "/items", prefix + "kinds", prefix + "kind/enrol"} {
		tab.open(p)
		if n := must[int](tab, `document.querySelectorAll("form[method=post], dialog").length`); n != 0 {
			t.Errorf("%s has %d forms for a person who may only read", p, n)
		}
	}
	for _, action := range append(forms, s.url+prefix+"kind/enrol") {
		tab.mayFail(action)
		status := must[int](tab, `fetch(`+quoted(action)+`, {method: "POST", headers: {"Content-Type": "application/x-www-form-urlencoded"}, body: "key=k&reason=x"}).then(r => r.status)`)
		if status != http.StatusForbidden {
			t.Errorf("%s: %d", action, status)
		}
	}
	if task, err := s.client.Task(t.Context(), id); err != nil || task.Control != "" {
		t.Errorf("%v, %v", task, err)
	}
}

// Nothing is deleted by a click: a person confirms it, and gives a reason.
func TestDeleteIsConfirmed(t *testing.T) {
	t.Parallel()
	s := newSite(t, migrated(t), kinds())
	id := submit(t, s, enrolKind, admin, enrolSpec{Students: students(3), Program: "chess"}, taskkit.WithDelay(time.Hour))
	tab := s.tab(t, usual)
	tab.open(prefix + "task/" + id.String())
	tab.click("Delete")
	tab.press(`submit("Delete")`) // without a reason the browser refuses
	if !must[bool](tab, `document.querySelector("dialog[open] input:invalid") !== null`) {
		t.Error("the form was sent without a reason")
	}
	tab.click("Cancel")
	if must[bool](tab, `document.querySelector("dialog[open]") !== null`) {
		t.Error("the dialog is open still")
	}
	if _, err := s.client.Task(t.Context(), id); err != nil {
		t.Error(err)
	}
}

// A form that was opened before the task has changed does nothing, and says so; a double click is one request.
func TestStaleFormAndDoubleClick(t *testing.T) {
	t.Parallel()
	s := newSite(t, migrated(t), kinds())
	id := submit(t, s, enrolKind, admin, enrolSpec{Students: students(3), Program: "chess"}, taskkit.WithDelay(time.Hour))
	tab := s.tab(t, usual)
	path := prefix + "task/" + id.String()
	tab.open(path)
	tab.click("Pause")
	if _, err := s.client.Stop(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	tab.mayFail(s.url + path + "/pause")
	tab.leads(func() { tab.press(`submit("Pause")`) })
	tab.see("It has changed since the page was opened")

	// The kind starts one task for two clicks.
	tab.open(prefix + "kind/enrol?f.program=chess&f.students=" + uuid.NewString())
	tab.follow("Check")
	button := `[...document.querySelectorAll("button[name=step]")].find(b => b.value === "run")`
	tab.leads(func() { must[bool](tab, `(() => { const b = `+button+`; b.click(); b.click(); return true })()`) })
	tab.see("chess")
	found, _, err := s.client.Tasks(t.Context(), taskkit.Filter{})
	if err != nil || len(found) != 2 {
		t.Errorf("%d tasks, want 2: %v", len(found), err)
	}
}

// Two people have the page of a task open, from two processes that serve the dashboard, and press the same button at once: one task is made, and both see it.
func TestTwoPeoplePressAtOnce(t *testing.T) {
	t.Parallel()
	eachSite(t, kinds, func(t *testing.T, s *site) {
		s.work(t)
		id := submit(t, s, enrolKind, admin, enrolSpec{Students: students(12, "ff", "ff"), Program: "chess"})
		s.ended(t, id)
		other := newSite(t, s.db, kinds())
		maps.Copy(other.people, s.people)
		one, two := s.tab(t, usual), other.tab(t, usual)
		two.as(colleague)
		for _, tab := range []*tab{one, two} {
			tab.open(prefix + "task/" + id.String())
			tab.click("Retry failed items")
		}
		button := `submit("Retry failed items")`
		one.leads(func() {
			one.press(button)
			two.leads(func() { two.press(button) })
		})
		found, _, err := s.client.Tasks(t.Context(), taskkit.Filter{Follows: id})
		if err != nil || len(found) != 1 {
			t.Fatalf("%d tasks, want 1: %v", len(found), err)
		}
		for _, tab := range []*tab{one, two} {
			tab.see("This task processes the failed items.")
			if at := must[string](tab, "location.pathname"); at != prefix+"task/"+found[0].ID.String() {
				t.Errorf("a person is at %s, and the task is %s", at, found[0].ID)
			}
		}
	})
}

// Texts with markup are shown as they are.
func TestMarkupIsText(t *testing.T) {
	t.Parallel()
	s := newSite(t, migrated(t), kinds())
	markup := `<img src="//elsewhere.example/x" onerror="alert(1)"><script>alert(2)</script>`
	id := submit(t, s, enrolKind, admin, enrolSpec{Students: students(3), Program: markup}, taskkit.WithDelay(time.Hour), taskkit.WithReason(markup))
	tab := s.tab(t, usual)
	for _, p := range []string{"", "list", "task/" + id.String(), "kind/enrol", "kind/enrol?repeat=" + id.String()} {
		tab.open(prefix + p)
		if n := must[int](tab, `document.querySelectorAll("main img, main script").length`); n != 0 {
			t.Errorf("%q has markup of a spec", p)
		}
	}
	tab.open(prefix + "task/" + id.String())
	if err := tab.has(strings.Join(strings.Fields(markup), " ")); err != nil {
		t.Error("the reason is not shown")
	}
}
