package browser_test

import (
	"strings"

	"github.com/chromedp/cdproto/emulation"
)

// finding is a rule of axe-core that a page breaks.
type finding struct {
	ID    string
	Help  string
	Nodes []string
}

// The rules whose result depends on the colours, and the rules whose result depends on the width.
const (
	ofColours = `["color-contrast", "link-in-text-block"]`
	ofWidth   = `["color-contrast", "link-in-text-block", "scrollable-region-focusable", "target-size"]`
)

// axe fails the test with what axe-core finds on the page as it is now, and with what is wider than the window or narrower than its words. Without rules, a list
// of JavaScript, all are checked. The page may be read again by itself only because a person has requested it.
func (t *tab) axe(where, rules string) {
	t.Helper()
	if !t.script { // it needs timers; the page's own scripts do not run any more
		call(t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false})
		defer call(t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	}
	if !must[bool](t, `"axe" in window`) {
		must[bool](t, shared.axe+";true")
	}
	only := `rules: {"meta-refresh": {enabled: !location.search.includes("refresh=")}}`
	if rules != "" {
		only = `runOnly: {type: "rule", values: ` + rules + `}`
	}
	for _, f := range must[[]finding](t, `axe.run(document, {resultTypes: ["violations"], `+only+`}).then(r => r.violations.map(v => ({
		ID: v.id, Help: v.help, Nodes: v.nodes.map(n => n.html + " " + n.failureSummary)})))`) {
		t.Errorf("%s: %s: %s\n%s", where, f.ID, f.Help, strings.Join(f.Nodes, "\n"))
	}
	for _, wide := range must[[]string](t, `document.documentElement.scrollWidth <= innerWidth ? [] :
		[...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth).map(e => e.outerHTML.slice(0, 150))`) {
		t.Errorf("%s: wider than the window: %s", where, wide)
	}
	for _, narrow := range must[[]string](t, `[...document.querySelectorAll("caption, h1, h2, h3, p")].filter(e => {
		const width = e.getBoundingClientRect().width; return width > 2 && width < 60 && e.textContent.trim().length > 30 }).map(e => e.outerHTML.slice(0, 150))`) {
		t.Errorf("%s: narrower than its words: %s", where, narrow)
	}
	t.complain()
}
