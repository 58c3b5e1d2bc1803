package browser_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"taskkit.dev/internal/testkit/testdb"
)

// shared is the browser of this process, which runs while tests use it. It is package state, against the rule, as the servers of
// tests are.
var shared process

// process is a running browser.
type process struct {
	mu    sync.Mutex
	users int
	ctx   context.Context // chromedp keeps the browser in it
	end   func()
	axe   string
}

// use returns the context of the browser, which runs until the test has ended. The test is skipped where there can be no browser.
func (p *process) use(tb testing.TB) context.Context {
	tb.Helper()
	if testing.Short() {
		tb.Skip("it starts a browser")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.users == 0 {
		err := p.start(testdb.Within(tb))
		if missing, ok := errors.AsType[*missingError](err); ok {
			tb.Skip(missing)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	p.users++
	tb.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.users--; p.users == 0 {
			p.end()
		}
	})
	return p.ctx
}

// start starts the browser. The caller holds the mutex.
func (p *process) start(ctx context.Context) error {
	browser, err := findChromium(ctx)
	if err != nil {
		return err
	}
	if p.axe == "" {
		if p.axe, err = readAxe(ctx); err != nil {
			return err
		}
	}
	var said bytes.Buffer
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browser.path), chromedp.Env(browser.env...), chromedp.CombinedOutput(&said), chromedp.DisableGPU,
		chromedp.Flag("force-device-scale-factor", "1"), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("lang", "en-GB"),
	)
	allocator, release := chromedp.NewExecAllocator(context.WithoutCancel(ctx), options...)
	running, stop := chromedp.NewContext(allocator)
	p.end = func() {
		stop()
		release()
	}
	if err := chromedp.Do(running); err != nil {
		p.end()
		return fmt.Errorf("start the browser %s: %w\n%s", browser.path, err, said.Bytes())
	}
	p.ctx = running
	return nil
}
