package browser_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// finder finds elements as a person does, by the texts that are seen: in the open dialog if there is one.
const finder = `(() => {
	const text = s => (s || "").replace(/\s+/g, " ").trim();
	const where = [...document.querySelectorAll("dialog[open]")].pop() || document;
	const seen = e => e.checkVisibility({visibilityProperty: true}) && e.getBoundingClientRect().width > 0;
	const one = (what, name, found) => {
		if (found.length !== 1) throw new Error(found.length + " times " + what + " " + JSON.stringify(name));
		return found[0];
	};
	return {
		control: name => one("a control", name, [...where.querySelectorAll("a[href], button, summary")].filter(e => seen(e) && (text(e.innerText) === name || text(e.textContent) === name || e.getAttribute("aria-label") === name))),
		starting: name => one("a link that begins with", name, [...where.querySelectorAll("main a[href]")].filter(e => seen(e) && text(e.innerText).startsWith(name))),
		sending: name => one("a button that begins with", name, [...where.querySelectorAll("form[method=post] button")].filter(e => seen(e) && text(e.innerText).startsWith(name))),
		submit: name => one("a button that sends", name, [...where.querySelectorAll("form[method=post] button:not([type=button])")].filter(e => seen(e) && text(e.innerText) === name)),
		field: name => {
			const labels = [...where.querySelectorAll("label")].filter(l => l.control && seen(l.control) && (text(l.textContent) === name || text(l.textContent) === name + " (required)"));
			const named = [...where.querySelectorAll("input, textarea, select")].filter(e => seen(e) && (e.getAttribute("aria-label") === name || e.name === name));
			return one("a field", name, [...new Set(labels.map(l => l.control).concat(named))]);
		},
	};
})()`

// quoted is a text as JavaScript has it.
func quoted(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a text is always JSON
	}
	return string(raw)
}

// click clicks a link or a button with this text, which need not lead to another page.
func (t *tab) click(name string) {
	t.Helper()
	t.press(`control(` + quoted(name) + `)`)
}

// press clicks what the finder finds, with the mouse.
func (t *tab) press(found string) {
	t.Helper()
	var at struct{ X, Y float64 }
	t.until("click "+found, func() (err error) {
		at, err = eval[struct{ X, Y float64 }](t, `(() => {
			const e = `+finder+`.`+found+`;
			e.scrollIntoView({block: "center", behavior: "instant"});
			const r = e.getClientRects()[0], x = r.x + r.width / 2, y = r.y + r.height / 2, hit = document.elementFromPoint(x, y);
			if (!hit || !(e.contains(hit) || hit.contains(e))) throw new Error("covered by " + hit?.outerHTML.slice(0, 200));
			return {X: x, Y: y};
		})()`)
		return err
	})
	for _, kind := range []input.DispatchMouseEventType{input.DispatchMouseEventTypeMousePressed, input.DispatchMouseEventTypeMouseReleased} {
		call(t, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: at.X, Y: at.Y, Button: input.MouseButtonLeft, ClickCount: 1})
	}
}

// follow clicks a link or a button that leads to another page, and waits for it.
func (t *tab) follow(name string) {
	t.Helper()
	t.leads(func() { t.click(name) })
}

// leads does what leads to another page, and waits for it.
func (t *tab) leads(do func()) {
	t.Helper()
	before := must[float64](t, "performance.timeOrigin")
	do()
	t.until("another page", func() error {
		loaded, err := eval[bool](t, fmt.Sprintf(`performance.timeOrigin !== %f && document.readyState === "complete"`, before))
		if err == nil && !loaded {
			err = errors.New("it is the same page still")
		}
		return err
	})
	t.complain()
}

// fill replaces the text of a field by the keyboard.
func (t *tab) fill(name, text string) {
	t.Helper()
	t.until("fill in "+name, func() error {
		_, err := eval[bool](t, `(() => { const e = `+finder+`.field(`+quoted(name)+`); e.focus(); e.select(); return true })()`)
		return err
	})
	call(t, input.InsertText, input.InsertTextParams{Text: text})
}

// upload gives a file to a field.
func (t *tab) upload(name, file, content string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	found := call(t, runtime.Evaluate, runtime.EvaluateParams{Expression: finder + `.field(` + quoted(name) + `)`})
	if found.ExceptionDetails != nil {
		t.Fatalf("upload %s: %s", name, found.ExceptionDetails.Exception.Description)
	}
	call(t, dom.SetFileInputFiles, dom.SetFileInputFilesParams{Files: []string{path}, ObjectID: found.Result.ObjectID})
}

// key presses a key.
func (t *tab) key(name string, code int64) {
	t.Helper()
	text := ""
	if name == "Enter" {
		text = "\r"
	}
	call(t, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: name, Code: name, WindowsVirtualKeyCode: code, Text: text})
	call(t, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: name, Code: name, WindowsVirtualKeyCode: code})
}

// see waits until the page has a text.
func (t *tab) see(text string) {
	t.Helper()
	t.until("see "+text, func() error { return t.has(text) })
}

// has reports as an error that the page does not have a text.
func (t *tab) has(text string) error {
	seen, err := eval[string](t, "document.body.innerText")
	if err == nil && !strings.Contains(strings.Join(strings.Fields(seen), " "), text) {
		err = errors.New("it is not there")
	}
	return err
}

// download clicks a link to a file and returns its name and its content.
func (t *tab) download(name string) (file, content string) {
	t.Helper()
	dir := t.TempDir()
	if _, err := chromedp.CallBrowser(t.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, BrowserContextID: chromedp.FromContext(t.ctx).BrowserContextID, DownloadPath: dir, EventsEnabled: new(true),
	}); err != nil {
		t.Fatal(err)
	}
	t.click(name)
	t.until("download "+name, func() error {
		files, err := filepath.Glob(filepath.Join(dir, "*"))
		if err != nil || len(files) != 1 || filepath.Ext(files[0]) != ".csv" {
			return errors.Join(err, fmt.Errorf("the files %q have come", files))
		}
		raw, err := os.ReadFile(files[0])
		file, content = filepath.Base(files[0]), string(raw)
		return err
	})
	return file, content
}
