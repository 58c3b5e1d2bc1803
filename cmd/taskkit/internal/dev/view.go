package dev

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
)

// view shows the progress of the tasks.
type view interface {
	show(actions []*action)
	message(format string, args ...any)
	close()
}

// newView returns progress bars for a terminal and lines for everything else.
func newView(r *run) view {
	if r.Out.Terminal {
		return newBars(r)
	}
	return &lines{run: r}
}

// linesEvery is how often a line of progress is written.
const linesEvery = 2 * time.Second

// lines writes lines.
type lines struct {
	run  *run
	last time.Time
}

func (l *lines) show(actions []*action) {
	if time.Since(l.last) < linesEvery {
		return
	}
	l.last = time.Now()
	parts := make([]string, len(actions))
	for i, a := range actions {
		parts[i] = a.name + " " + humanize.Comma(a.task.Progress.Processed())
	}
	l.message("%s", strings.Join(parts, "  "))
}

func (l *lines) message(format string, args ...any) {
	fmt.Fprintf(l.run.Out, "%s  %s\n", l.run.since(), screen.Text(fmt.Sprintf(format, args...)))
}

func (l *lines) close() {}

// bars draws a bar for each task.
type bars struct {
	run      *run
	progress *mpb.Progress
	bars     []*mpb.Bar
	words    []*atomic.Pointer[string] // beside the bars, which another goroutine draws
}

func newBars(r *run) *bars {
	// The file itself: mpb checks whether it is a terminal.
	return &bars{run: r, progress: mpb.New(mpb.WithOutput(r.Out.Writer), mpb.WithWidth(min(r.Out.Width(), 100)))}
}

func (b *bars) show(actions []*action) {
	for i, a := range actions {
		if i == len(b.bars) {
			b.add(a)
		}
		word := condition(a)
		b.words[i].Store(&word)
		bar, t := b.bars[i], a.task
		bar.SetCurrent(t.Progress.Processed())
		if t.Ended() {
			bar.SetTotal(-1, true) // even if there were fewer items than expected
		}
	}
}

func (b *bars) add(a *action) {
	word := new(atomic.Pointer[string])
	word.Store(new(string))
	b.words = append(b.words, word)
	b.bars = append(b.bars, b.progress.AddBar(int64(len(b.run.people.all)),
		mpb.PrependDecorators(decor.Name(a.name, decor.WCSyncSpaceR), decor.CountersNoUnit("%d/%d", decor.WCSyncSpace)),
		mpb.AppendDecorators(decor.Percentage(decor.WCSyncSpace), decor.Any(func(decor.Statistics) string { return *word.Load() })),
	))
}

// condition describes the state of a task.
func condition(a *action) string {
	switch t := a.task; {
	case t.Status == taskkit.StatusQueued && a.takeovers > 0:
		return "  waiting for takeover"
	case t.Ended():
		return "  " + string(t.Status) + " in " + screen.Brief(t.Elapsed)
	default:
		return "  " + string(t.Status)
	}
}

func (b *bars) message(format string, args ...any) {
	// mpb writes it above the bars.
	_, _ = fmt.Fprintf(b.progress, "%s  %s\n", b.run.since(), screen.Text(fmt.Sprintf(format, args...)))
}

func (b *bars) close() {
	for _, bar := range b.bars {
		bar.Abort(false)
	}
	b.progress.Wait()
}
