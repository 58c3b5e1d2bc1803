package dev

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"taskkit.dev/taskkit"
)

const (
	// look is how often the tasks are looked at.
	look = 150 * time.Millisecond
	// stuckAfter is how long nothing may happen before the demonstration gives
	// up. It is many times deadAfter.
	stuckAfter = time.Minute
)

// kill is a worker that was killed.
type kill struct {
	worker string
	tasks  []taskkit.ID // that it had
}

// follow follows the tasks to their ends and kills workers on the way.
func (r *run) follow(ctx context.Context) error {
	r.view = newView(r)
	defer r.view.close()
	tick := time.NewTicker(look)
	defer tick.Stop()
	moved := time.Now()
	for {
		changed, done, err := r.look(ctx)
		if err != nil {
			return err
		}
		if changed {
			moved = time.Now()
		}
		if done {
			return nil
		}
		if time.Since(moved) > stuckAfter {
			return r.stuck(ctx)
		}
		select {
		case <-ctx.Done():
			return r.abandon()
		case h := <-r.crew.held:
			if err := r.onHeld(ctx, h); err != nil {
				return err
			}
		case m := <-r.crew.ended:
			if r.crew.has(m) && ctx.Err() == nil {
				return r.crew.mishap(m)
			}
		case <-tick.C:
		}
	}
}

// look reads the tasks and shows them.
func (r *run) look(ctx context.Context) (changed, done bool, err error) {
	ids := make([]taskkit.ID, len(r.actions))
	for i, a := range r.actions {
		ids[i] = a.id
	}
	tasks, err := r.client.Tasks(ctx, taskkit.Filter{IDs: ids})
	if ctx.Err() != nil {
		return false, false, nil //nolint:nilerr // somebody interrupts: that is said elsewhere
	}
	if err != nil {
		return false, false, err
	}
	done = true
	for _, a := range r.actions {
		i := slices.IndexFunc(tasks, func(t *taskkit.Task) bool { return t.ID == a.id })
		if i < 0 {
			return false, false, fmt.Errorf("the task %s of %s was deleted", a.id, a.name)
		}
		t := tasks[i]
		changed = changed || a.task == nil || t.Modified != a.task.Modified || t.Progress != a.task.Progress
		done = done && t.Ended()
		a.task = t
	}
	r.view.show(r.actions)
	known := len(r.actions)
	err = r.adopt(ctx)
	return changed, done && len(r.actions) == known, err
}

// onHeld kills a worker that holds a batch, if one is still to be killed, and
// lets it go on otherwise.
func (r *run) onHeld(ctx context.Context, h heldBatch) error {
	if len(r.kills) >= r.Kills {
		_ = h.say(lineGo) // that it has died meanwhile is told elsewhere
		return nil
	}
	if err := r.crew.kill(h.member); err != nil {
		return err
	}
	if _, _, err := r.look(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	// Dead, it changes nothing any more: what has its name is what it had.
	k := kill{worker: h.name}
	var what []string
	for _, a := range r.actions {
		if !a.task.Ended() && strings.HasPrefix(a.task.Worker, h.name+"-") {
			k.tasks = append(k.tasks, a.id)
			a.takeovers++
			what = append(what, a.name)
		}
		if a.id.String() == h.task {
			what = slices.DeleteFunc(what, func(s string) bool { return s == a.name })
			what = slices.Insert(what, 0, fmt.Sprintf("%s at %s of %s", a.name, humanize.Comma(h.dealt), humanize.Comma(h.total)))
		}
	}
	r.kills = append(r.kills, k)
	r.view.note("worker %s (process %d) killed with SIGKILL; it had %s", h.name, h.cmd.Process.Pid, strings.Join(what, ", "))
	last := len(r.kills) >= r.Kills
	if last {
		r.crew.free()
	}
	m, err := r.crew.add(!last)
	if err != nil {
		return err
	}
	r.view.note("worker %s (process %d) started in its place", m.name, m.cmd.Process.Pid)
	return nil
}

// stuck is the error of tasks to which nothing happens.
func (r *run) stuck(ctx context.Context) error {
	var text strings.Builder
	fmt.Fprintf(&text, "nothing has happened for %v", stuckAfter)
	for _, a := range r.actions {
		if a.task.Ended() {
			continue
		}
		why, err := r.client.Explain(ctx, a.id)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "\n\t%s: %s", a.name, why)
	}
	return errors.New(text.String())
}

// abandon takes back what was submitted, when somebody interrupts. Where all is
// thrown away in any case there is nothing to do.
func (r *run) abandon() error {
	r.view.note("interrupted: the workers finish the batches in hand and end")
	if err := r.crew.end(); err != nil || r.place.temporary(r.Options) {
		return errors.Join(err, context.Canceled)
	}
	ctx := context.Background() // the run's has ended
	for _, a := range r.actions {
		if a.task != nil && a.task.Ended() {
			continue
		}
		_, err := r.client.Delete(ctx, a.id, taskkit.By(coach), taskkit.Because("taskkit dev was interrupted"))
		if err != nil && !errors.Is(err, taskkit.ErrNotFound) {
			return errors.Join(err, context.Canceled)
		}
	}
	return context.Canceled
}
