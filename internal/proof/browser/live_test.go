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
	before := t.read()
	t.until("the page is read again", func() error {
		if t.read() == before {
			return errors.New("it is not read")
		}
		return nil
	})
}

// read returns how often the page has read its parts again.
func (t *tab) read() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.reads
}

// silent checks that the page does not read its parts again. Nothing signals what does not happen, so it waits two rounds of the page.
func (t *tab) silent(while string) {
	t.Helper()
	must[bool](t, `new Promise(r => setTimeout(() => r(true), 300))`) // for a read that has begun
	before := t.read()
	must[bool](t, `new Promise(r => setTimeout(() => r(true), 4500))`)
	if n := t.read() - before; n > 0 {
		t.Errorf("%d parts were read again while %s", n, while)
	}
}

// A page that is read again does not disturb who works with it: not while a dialog is open, a form is filled in, text is
// selected or the tab is hidden. Then it goes on, keeps the focus, and says what has changed.
func TestLive(t *testing.T) {
	t.Parallel()
	for while, c := range map[string]struct{ begin, still, end string }{
		"a form is filled in": {
			begin: `(() => { const b = [...document.querySelectorAll("button")].find(b => b.innerText === "Pause"); document.querySelector("#do-pause").showModal(); return true })()`,
			still: `document.querySelector("#do-pause input[name=reason]").value === "not yet" && document.querySelector("#do-pause").open`,
			end:   `(() => { document.querySelector("#do-pause").close(); return true })()`,
		},
		"text is selected": {
			begin: `(() => { getSelection().selectAllChildren(document.querySelector("#timeline")); return true })()`,
			still: `getSelection().toString().includes("What happened")`,
			end:   `(() => { getSelection().removeAllRanges(); return true })()`,
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
			tab.silent(while)
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

// The focus, what is open and where a table is scrolled to stay when a part is replaced.
func TestLiveKeepsFocus(t *testing.T) {
	t.Parallel()
	s := newSite(t, migrated(t), kinds())
	s.work(t)
	id := submit(t, s, enrolKind, admin, enrolSpec{Students: students(30, "ff"), Program: "chess"}, taskkit.WithPreview())
	s.ended(t, id)
	tab := s.tab(t, usual)
	tab.open(prefix + "task/" + id.String())
	tab.click("The first 29 items with a note")
	must[bool](tab, `(() => { document.querySelector("#do-apply-button").focus(); return true })()`)
	if _, err := s.client.Apply(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	must[bool](tab, `(() => { document.querySelector("[data-live]").append(Object.assign(document.createElement("i"), {id: "old"})); return true })()`)
	tab.reading()
	tab.until("the part is replaced", func() error {
		old, err := eval[bool](tab, `document.getElementById("old") !== null`)
		if err == nil && old {
			err = errors.New("it is not")
		}
		return err
	})
	if !must[bool](tab, `document.querySelector("#samples").open`) {
		t.Error("what was open is closed")
	}
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
