package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"taskkit.dev/internal/testkit/testdb"
)

// appearance is how a browser shows the dashboard.
type appearance struct {
	dark   bool
	width  int64
	script bool
}

// usual is the appearance in tests that are about something else.
var usual = appearance{width: 1440, script: true}

func (l appearance) String() string {
	scheme, script := "light", "script"
	if l.dark {
		scheme = "dark"
	}
	if !l.script {
		script = "no-script"
	}
	return fmt.Sprintf("%s-%d-%s", scheme, l.width, script)
}

// stepTimeout bounds a step of a person: what is not there then, does not come.
const stepTimeout = time.Minute

// tab is a tab of the browser with cookies and a cache of its own, for one site. It fails the test when the page makes a request to elsewhere,
// breaks its policy, or the browser has something to complain about.
type tab struct {
	testing.TB

	ctx    context.Context // chromedp keeps the tab in it
	site   string          // every address begins with it
	script bool

	mu       sync.Mutex
	expected map[string]bool // addresses that answer with an error
	found    []string        // what is wrong
	reads    []string        // the addresses at which parts of a page were read again
}

// open opens a tab for a site, such as http://127.0.0.1:1234.
func openTab(tb testing.TB, site string, l appearance) *tab {
	tb.Helper()
	t := &tab{TB: tb, site: site, script: l.script, expected: map[string]bool{}}
	ctx, cancel := chromedp.NewContext(shared.use(tb), chromedp.WithNewBrowserContext(), chromedp.WithListener(t.watch))
	t.ctx = ctx
	tb.Cleanup(func() {
		cancel()
		t.complain()
	})
	// The context of the first run is the one of the tab, so it has no deadline of its own.
	if err := chromedp.Do(ctx); err != nil {
		tb.Fatalf("open a tab: %v", err)
	}
	call(t, audits.Enable, cdp.Empty{})
	t.resize(l)
	call(t, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !l.script})
	return t
}

// resize changes scheme and width, also of the page that is open.
func (t *tab) resize(l appearance) {
	t.Helper()
	scheme := "light"
	if l.dark {
		scheme = "dark"
	}
	call(t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: scheme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	call(t, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: l.width, Height: 900, DeviceScaleFactor: 1, Mobile: l.width < 500})
}

// call sends a command to the tab.
func call[P, R any](t *tab, command cdp.Command[P, R], params P) R {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.ctx, stepTimeout)
	defer cancel()
	result, err := chromedp.Call(ctx, command, params)
	if err != nil {
		t.Fatalf("%s: %v", command.Method, err)
	}
	return result
}

// watch takes the events of the tab, in the order of the browser.
func (t *tab) watch(event any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !t.ours(e.Request.URL) {
			t.found = append(t.found, "a request to "+e.Request.URL)
		}
		if e.Type == network.ResourceTypeFetch && strings.Contains(e.Request.URL, "live=") {
			t.reads = append(t.reads, e.Request.URL)
		}
	case *log.EventEntryAdded:
		if e.Entry.Source == log.EntrySourceNetwork && t.expected[e.Entry.URL] {
			return
		}
		if e.Entry.Source == log.EntrySourceSecurity || e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			t.found = append(t.found, fmt.Sprintf("the log has (%s, %s) %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL))
		}
	case *runtime.EventConsoleAPICalled:
		var text []string
		for _, a := range e.Args {
			text = append(text, string(a.Value)+a.Description)
		}
		t.found = append(t.found, fmt.Sprintf("the console has (%s) %s", e.Type, strings.Join(text, " ")))
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if e.ExceptionDetails.Exception != nil {
			text += " " + e.ExceptionDetails.Exception.Description
		}
		t.found = append(t.found, "an exception: "+text)
	case *audits.EventIssueAdded:
		t.found = append(t.found, fmt.Sprintf("an issue: %s %+v", e.Issue.Code, e.Issue.Details))
	}
}

// ours reports whether an address is of the site or of nowhere.
func (t *tab) ours(address string) bool {
	return strings.HasPrefix(address, t.site+"/") || strings.HasPrefix(address, "data:") || strings.HasPrefix(address, "about:")
}

// complain fails the test with what was found since the last call.
func (t *tab) complain() {
	t.Helper()
	t.mu.Lock()
	found := t.found
	t.found = nil
	t.mu.Unlock()
	for _, f := range slices.Compact(found) {
		t.Error(f)
	}
}

// mayFail expects that a request of an address is answered with an error.
func (t *tab) mayFail(address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expected[address] = true
}

// open opens a page of the site, which answers 200.
func (t *tab) open(path string) {
	t.Helper()
	t.openWith(path, http.StatusOK)
}

// openWith opens a page of the site, which answers with a status.
func (t *tab) openWith(path string, status int) {
	t.Helper()
	address := path
	if !strings.HasPrefix(path, "http") {
		address = t.site + path
	}
	if status >= http.StatusBadRequest {
		t.mayFail(address)
	}
	ctx, cancel := context.WithTimeout(t.ctx, stepTimeout)
	defer cancel()
	response, err := chromedp.Run(ctx, chromedp.NavigateResponse(address))
	if err != nil {
		t.Fatalf("open %s: %v", address, err)
	}
	if response == nil || int(response.Status) != status {
		t.Fatalf("open %s: %+v, want %d", address, response, status)
	}
	t.complain()
}

// eval returns the value of an expression of JavaScript in the page, which may be a promise.
func eval[T any](t *tab, expression string) (T, error) {
	var value T
	ctx, cancel := context.WithTimeout(t.ctx, stepTimeout)
	defer cancel()
	result, err := chromedp.Call(ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: expression, AwaitPromise: new(true), ReturnByValue: new(true)})
	if err != nil {
		return value, err
	}
	if e := result.ExceptionDetails; e != nil {
		text := e.Text
		if e.Exception != nil {
			text = e.Exception.Description
		}
		return value, fmt.Errorf("evaluate: %s", text)
	}
	if len(result.Result.Value) == 0 {
		return value, nil
	}
	return value, json.Unmarshal(result.Result.Value, &value)
}

// must is eval of what cannot fail.
func must[T any](t *tab, expression string) T {
	t.Helper()
	value, err := eval[T](t, expression)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// until repeats a step until it succeeds, which it must within the time of a step.
func (t *tab) until(what string, step func() error) {
	t.Helper()
	for deadline := time.Now().Add(min(stepTimeout, testdb.Patience(t))); ; {
		err := step()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			text, _ := eval[string](t, `location.href + "\n" + document.body.innerText`)
			t.Fatalf("%s: %v\nthe page is %s", what, err, text)
		}
		select {
		case <-time.After(30 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatalf("%s: %v", what, context.Cause(t.Context()))
		}
	}
}
