package command

import (
	"context"
	"fmt"
	"strings"
	"time"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
)

// progressEvery is how often watch reads the rate of a task: no more often than it is
// measured.
const progressEvery = 5 * time.Second

// remaining formats how much remains of a task, for show.
func remaining(p *taskkit.TaskProgress) string {
	var parts []string
	if p.Remaining >= 0 && !p.Status.Ended() {
		parts = append(parts, screen.Count(p.Remaining)+" remaining")
	}
	if s := speed(p); s != "" {
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

// speed formats how fast a task is and how long the rest takes. It is "" for a task that
// has ended, and while nothing is known.
func speed(p *taskkit.TaskProgress) string {
	if p.Status.Ended() {
		return ""
	}
	var parts []string
	if of := p.Parts; of != nil {
		text := fmt.Sprintf("%s %s ended", screen.Count(of.Ended), of.Name)
		if of.Total >= 0 {
			text = fmt.Sprintf("%s of %s %s", screen.Count(of.Ended), screen.Count(of.Total), of.Name)
		}
		if of.Reduced > 0 && p.Halted == nil {
			text += fmt.Sprintf(", reduced: %d of %d running ones do not work", of.Reduced, of.Running)
		}
		parts = append(parts, text)
	}
	if p.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%.3g items/s", p.Rate))
	}
	if left := p.TimeLeft; left != nil {
		between := screen.Brief(left.Low) + " to " + screen.Brief(left.High)
		text := "done in " + between
		if p.Waiting != "" {
			text = between + " of work"
		}
		if p.FromEarlier {
			text += " if it is like earlier tasks"
		}
		parts = append(parts, text)
	}
	if p.Halted != nil {
		parts = append(parts, "halted: no batch seen since "+screen.Time(*p.Halted))
	}
	return strings.Join(parts, ", ")
}

// speedReader reads the speed of a task from time to time.
type speedReader struct {
	client *taskkit.Client
	read   time.Time
	text   string
}

// of returns the speed of a task, after two spaces. If it cannot be read it is what it
// was.
func (r *speedReader) of(ctx context.Context, t *taskkit.Task) string {
	if t.Ended() {
		return ""
	}
	if time.Since(r.read) < progressEvery {
		return r.text
	}
	r.read = time.Now()
	if p, err := r.client.Progress(ctx, t.ID); err == nil {
		r.text = ""
		if s := speed(p); s != "" {
			r.text = "  " + s
		}
	}
	return r.text
}
