package browser_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"taskkit.dev/taskkit"
)

// reading waits until the page reads its parts again.
func (t *tab) reading() {
	t.Helper()
	before := t.read("")
	t.until("the page is read again", func() error {
		if t.read("") == before {
			return errors.New("it is not read")
		}
		return nil
	})
}

// read returns how often the page has read a part again, or for "" any part.
func (t *tab) read(part string) (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, address := range t.reads {
		if strings.Contains(address, "live="+part) {
			n++
		}
	}
	return n
}

// silent checks that the page does not read a part again, or for "" any part. Nothing signals what does not happen, so it waits two rounds of the page.
func (t *tab) silent(part, while string) {
	t.Helper()
	must[bool](t, `new Promise(r => setTimeout(() => r(true), 300))`) // for a read that has begun
	before := t.read(part)
	must[bool](t, `new Promise(r => setTimeout(() => r(true), 4500))`)
	if n := t.read(part) - before; n > 0 {
		t.Errorf("%d parts were read again while %s", n, while)
	}
}

// A page that is read again does not disturb who works with it: not while a dialog is open, a form is filled in, text is
// selected or the tab is hidden. Then it goes on, keeps the focus, and says what has changed.
func TestLive(t *testing.T) {
	t.Parallel()
	for while, c := range map[string]struct{ begin, still, end, part string }{
		"a form is filled in": {
			begin: `(() => { const b = [...document.querySelectorAll("button")].find(b => b.innerText === "Pause"); document.querySelector("#do-pause").showModal(); return true })()`,
			still: `document.querySelector("#do-pause input[name=reason]").value === "not yet" && document.querySelector("#do-pause").open`,
			end:   `(() => { document.querySelector("#do-pause").close(); return true })()`,
		},
		"text is selected": {
			begin: `(() => { getSelection().selectAllChildren(document.querySelector("#timeline")); return true })()`,
			still: `getSelection().toString().includes("What happened")`,
			end:   `(() => { getSelection().removeAllRanges(); return true })()`,
			part:  "task", // which has the text
		},
		"the tab is hidden": {
			begin: `(() => { Object.defineProperty(document, "hidden", {configurable: true, get: () => true}); document.dispatchEvent(new Event("visibilitychange")); return true })()`,
			still: `document.hidden`,
			end:   `(() => { delete document.hidden; document.dispatchEvent(new Event("visibilitychange")); return true })()`,
		},
	} {
		t.Run(strings.ReplaceAll(while, " ", "_"), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, migrated(t), kinds())
			id := submit(t, s, enrolKind, admin, enrolSpec{Students: students(3), Program: "chess"}, taskkit.WithDelay(time.Hour))
			tab := s.tab(t, usual)
			tab.open(prefix + "task/" + id.String())
			tab.reading()
			must[bool](tab, c.begin)
			if while == "a form is filled in" {
				tab.fill("Reason (optional)", "not yet")
			}
			if _, err := s.client.Pause(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			tab.silent(c.part, while)
			if !must[bool](tab, c.still) {
				t.Errorf("%s: it is not so any more", while)
			}
			must[bool](tab, c.end)
			tab.see("pause requested")
			tab.until("what has changed is announced", func() error {
				if text, err := eval[string](tab, `document.getElementById("spoken").textContent`); err != nil || text == "" {
					return errors.Join(err, errors.New("nothing is"))
				}
				return nil
			})
		})
	}
}

// mark marks the parts of the page as they are now.
func (t *tab) mark() {
	t.Helper()
	must[bool](t, `(() => { for (const part of document.querySelectorAll("[data-live]")) part.append(Object.assign(document.createElement("i"), {className: "old"})); return true })()`)
}

// replaced waits until a part of the page that was marked is replaced.
func (t *tab) replaced(part string) {
	t.Helper()
	t.until("the part "+part+" is replaced", func() error {
		old, err := eval[bool](t, `document.querySelector("[data-live=`+part+`] .old") !== null`)
		if err == nil && old {
			err = errors.New("it is not")
		}
		return err
	})
}

// holds checks what an expression of JavaScript says of the page.
func (t *tab) holds(what, expression string) {
	t.Helper()
	if !must[bool](t, expression) {
		t.Errorf("it is not so that %s: %s", what, expression)
	}
}

// The focus and what is open stay when a part is replaced.
func TestLiveKeepsFocus(t *testing.T) {
	t.Parallel()
	s := newSite(t, migrated(t), kinds())
	s.work(t)
	id := submit(t, s, enrolKind, admin, enrolSpec{Students: students(30, "ff"), Program: "chess"}, taskkit.WithPreview())
	s.ended(t, id)
	tab := s.tab(t, usual)
	tab.open(prefix + "task/" + id.String())
	tab.click("The first 29 items with a note")
	tab.mark()
	tab.replaced("task")
	tab.replaced("facts") // from now on a part is replaced only after a change
	tab.mark()
	if _, err := s.client.Apply(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	tab.replaced("task")
	tab.holds("what was open is open", `document.querySelector("#samples").open`)
	tab.holds("what had the focus has it", `document.activeElement.id === "samples-open"`)
	tab.holds("the part of the facts is as it was, since nothing of it has changed", `document.querySelector("[data-live=facts] .old") !== null`)
	tab.reading()
}

// An open dialog with what was typed, the selection in it and the focus stay while the task changes. Then the page is read again.
func TestLiveKeepsADialog(t *testing.T) {
	t.Parallel()
	s := newSite(t, migrated(t), kinds())
	id := submit(t, s, enrolKind, admin, enrolSpec{Students: students(3), Program: "chess"}, taskkit.WithDelay(time.Hour))
	tab := s.tab(t, usual)
	tab.open(prefix + "task/" + id.String())
	tab.reading()
	tab.click("Stop")
	tab.fill("Reason", "the wrong list")
	must[bool](tab, `(() => { document.activeElement.setSelectionRange(4, 9); return true })()`)
	tab.mark()
	if _, err := s.client.Change(t.Context(), id, taskkit.Settings{Priority: taskkit.PriorityIdle}, taskkit.WithReason("not urgent")); err != nil {
		t.Fatal(err)
	}
	tab.silent("", "a dialog is open")
	tab.holds("the dialog is open", `document.querySelector("#do-stop").open`)
	tab.holds("what was typed is there, with the focus", `document.activeElement.matches("#do-stop input[name=reason]") && document.activeElement.value === "the wrong list"`)
	tab.holds("the selection is as it was", `document.activeElement.selectionStart === 4 && document.activeElement.selectionEnd === 9`)
	tab.click("Cancel")
	tab.replaced("task")
	tab.replaced("facts")
	tab.see("not urgent")
	tab.holds("the priority is the new one", `document.querySelector("[data-live=facts]").innerText.includes("Priority\n4")`)
	tab.holds("the focus is at the button", `document.activeElement.id === "do-stop-button"`)
	tab.holds("what was typed is gone", `document.querySelector("#do-stop input[name=reason]").value === ""`)
	tab.reading()
}

// A form within the page that is filled in stays while the page changes, also without the focus. The page is read again once the form is empty or closed.
func TestLiveKeepsAForm(t *testing.T) {
	t.Parallel()
	s := newSite(t, migrated(t), kinds())
	waits := func() {
		submit(t, s, enrolKind, admin, enrolSpec{Students: students(3), Program: "chess"}, taskkit.WithDelay(time.Hour))
	}
	waits()
	tab := s.tab(t, usual)
	tab.open(prefix + "queues")
	tab.reading()
	const input = `document.querySelector("details[open] input[name=reason]")`
	tab.click("Pause")
	tab.fill("reason", "because")
	must[bool](tab, `(() => { document.activeElement.blur(); return true })()`)
	tab.mark()
	waits()
	tab.silent("", "a form is filled in")
	tab.holds("what was typed is there", input+`.value === "because"`)
	must[bool](tab, `(() => { `+input+`.focus(); `+input+`.select(); return true })()`)
	tab.key("Backspace", 8)
	tab.holds("the form is empty", input+`.value === ""`)
	must[bool](tab, `(() => { document.activeElement.blur(); return true })()`)
	tab.replaced("queues")
	tab.holds("the empty form is open", input+` !== null`)

	tab.fill("reason", "because")
	tab.mark()
	waits()
	must[bool](tab, `(() => { document.activeElement.blur(); document.querySelector("details[open] summary").click(); return true })()`)
	tab.replaced("queues")
	tab.reading()
}

// A page says that it is not up to date while the service does not answer, and has what has changed once it answers again.
func TestLiveGoesOnAfterAnOutage(t *testing.T) {
	t.Parallel()
	s := newSite(t, migrated(t), kinds())
	id := submit(t, s, enrolKind, admin, enrolSpec{Students: students(3), Program: "chess"}, taskkit.WithDelay(time.Hour))
	tab := s.tab(t, usual)
	path := prefix + "task/" + id.String()
	tab.open(path)
	tab.reading()
	for _, part := range []string{"task", "facts", "result"} {
		tab.mayFail(s.url + path + "?live=" + part)
	}
	s.away.Store(true)
	tab.see("This page is not up to date")
	if _, err := s.client.Pause(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	s.away.Store(false)
	tab.see("pause requested")
	tab.until("the page says that it is up to date", func() error {
		if upToDate, err := eval[bool](tab, `document.getElementById("stale").hidden`); err != nil || !upToDate {
			return errors.Join(err, errors.New("it does not"))
		}
		return nil
	})
}

// A dialog opens by the keyboard, keeps the focus inside, and gives it back to its button; the navigation can be skipped.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	s := newSite(t, migrated(t), kinds())
	id := submit(t, s, enrolKind, admin, enrolSpec{Students: students(3), Program: "chess"}, taskkit.WithDelay(time.Hour))
	tab := s.tab(t, usual)
	tab.open(prefix + "task/" + id.String())
	tab.key("Tab", 9)
	if got := must[string](tab, `document.activeElement.innerText`); got != "Skip to the content" {
		t.Errorf("the first link is %q", got)
	}
	tab.key("Enter", 13)
	tab.until("the content has the focus", func() error {
		if at, err := eval[string](tab, `document.activeElement.id`); err != nil || at != "main" {
			return errors.Join(err, errors.New("the focus is at "+at))
		}
		return nil
	})
	for range 20 {
		if must[string](tab, `document.activeElement.id`) == "do-stop-button" {
			break
		}
		tab.key("Tab", 9)
	}
	tab.key("Enter", 13)
	for range 8 {
		if !must[bool](tab, `document.querySelector("#do-stop").open && (document.querySelector("#do-stop").contains(document.activeElement) || document.activeElement === document.body)`) {
			t.Error("the focus has left the open dialog")
		}
		tab.key("Tab", 9)
	}
	tab.axe("an open dialog", "")
	tab.key("Escape", 27)
	if must[bool](tab, `document.querySelector("#do-stop").open`) || must[string](tab, `document.activeElement.id`) != "do-stop-button" {
		t.Error("the dialog is open still, or the focus is not at its button")
	}
}
