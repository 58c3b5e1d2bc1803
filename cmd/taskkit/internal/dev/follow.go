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
	// pollInterval is how often the tasks are read.
	pollInterval = 150 * time.Millisecond
	// stuckAfter is how long the demonstration waits for a change before it gives
	// up. It is many times deadAfter.
	stuckAfter = time.Minute
)

// kill is a worker that was killed.
type kill struct {
	worker string
	tasks  []taskkit.ID // the tasks that it had claimed
	// buckets is how many of them are buckets.
	buckets int
}

// follow follows the tasks of the actions until they end and kills workers in the
// meantime.
func (r *run) follow(ctx context.Context) error {
	r.killsNow = r.Kills
	r.view = newView(r)
	defer func() {
		r.view.close()
		r.view = &lines{run: r} // for what comes after the bars
	}()
	return r.wait(ctx, func() (changed, done bool, err error) { return r.poll(ctx) })
}

// wait calls read, which reads tasks, until it reports that they are done. When ctx ends
// it returns context.Canceled.
func (r *run) wait(ctx context.Context, read func() (changed, done bool, err error)) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	moved := time.Now()
	for {
		changed, done, err := read()
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
			return context.Canceled
		case h := <-r.workers.held:
			if err := r.onHeld(ctx, h); err != nil {
				return err
			}
		case m := <-r.workers.ended:
			if r.workers.has(m) && ctx.Err() == nil {
				return r.workers.unexpectedEnd(m)
			}
		case <-tick.C:
		}
	}
}

// poll reads the tasks and shows their progress.
func (r *run) poll(ctx context.Context) (changed, done bool, err error) {
	done = true
	for _, a := range r.actions {
		if a.task != nil && a.task.Ended() {
			continue
		}
		t, err := r.client.Task(ctx, a.id) // a list does not sum up the buckets
		if ctx.Err() != nil {
			return false, false, nil //nolint:nilerr // the run was interrupted, which the caller reports
		}
		if err != nil {
			return false, false, fmt.Errorf("read the task of %s: %w", a.name, err)
		}
		changed = changed || a.task == nil || t.Modified != a.task.Modified || t.Progress != a.task.Progress
		done = done && t.Ended()
		a.task = t
	}
	r.view.show(r.actions)
	known := len(r.actions)
	err = r.addChildren(ctx)
	return changed, done && len(r.actions) == known, err
}

// onHeld kills a worker that holds a batch, unless enough have been killed: then
// it lets the worker continue.
func (r *run) onHeld(ctx context.Context, h heldBatch) error {
	if len(r.kills) >= r.killsNow {
		_ = h.write(lineGo) // if it has died, ended reports it
		return nil
	}
	if err := r.workers.kill(h.process); err != nil {
		return err
	}
	// A dead worker changes nothing: the tasks with its name are those it had claimed.
	k := kill{worker: h.name}
	var what []string
	for _, a := range slices.Concat(r.actions, r.sheet.steps()) {
		running, err := r.runningOf(ctx, a, h.name)
		if err != nil || ctx.Err() != nil {
			return err
		}
		others := 0 // buckets
		for _, t := range running {
			k.tasks = append(k.tasks, t.ID)
			a.takeovers++
			name := a.name
			if t.ID != a.id {
				name = "a bucket of " + a.name
				k.buckets++
			}
			switch {
			case t.ID.String() == h.task:
				what = slices.Insert(what, 0, fmt.Sprintf("%s at %s of %s", name, humanize.Comma(h.processed), humanize.Comma(h.total)))
			case t.ID == a.id:
				what = append(what, name)
			default:
				others++
			}
		}
		if others > 0 {
			what = append(what, fmt.Sprintf("%d other claimed buckets of %s", others, a.name))
		}
	}
	r.kills = append(r.kills, k)
	r.view.message("worker %s (process %d) killed with SIGKILL while running %s", h.name, h.cmd.Process.Pid, strings.Join(what, ", "))
	hold := holdAny // after the first, in a bucket
	if len(r.kills) >= r.killsNow {
		hold = holdNothing
		r.workers.free()
	} else {
		r.workers.arm(hold)
	}
	m, err := r.workers.add(hold)
	if err != nil {
		return err
	}
	r.view.message("worker %s (process %d) started as a replacement", m.name, m.cmd.Process.Pid)
	return nil
}

// stuck is the error for tasks that no longer change.
func (r *run) stuck(ctx context.Context) error {
	var text strings.Builder
	fmt.Fprintf(&text, "no task has changed for %v", stuckAfter)
	for _, a := range r.submitted() {
		if a.task == nil || a.task.Ended() {
			continue
		}
		why, err := r.client.Explain(ctx, a.id)
		if errors.Is(err, taskkit.ErrNotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "\n\t%s: %s", a.name, why)
	}
	return errors.New(text.String())
}

// abandon ends the workers after an interrupt, and then deletes the tasks of the run that have not
// ended. When the whole database is removed anyway it only ends the workers.
func (r *run) abandon() error {
	r.view.message("interrupted: the workers finish their current batches and end")
	err := r.workers.end()
	if !r.workspace.temporary(r.Options) {
		err = errors.Join(err, r.deleteLive(), r.workers.end())
	}
	return errors.Join(err, context.Canceled)
}

// deleteLive deletes the tasks of the run that have not ended, and returns when they are gone. No
// worker runs, so that on SQLite nobody else writes. A task with children is removed by a
// worker after them: if there is one, it starts a worker, which has nothing else to do.
func (r *run) deleteLive() error {
	ctx, cancel := context.WithTimeout(context.Background(), stuckAfter) // the run's context has ended
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		left, err := r.live(ctx)
		if err != nil {
			return fmt.Errorf("delete the tasks of the run: %w", err)
		}
		if len(left) == 0 {
			return nil
		}
		asked := false
		for _, t := range left {
			if t.Parent != (taskkit.ID{}) || t.Control == taskkit.ControlDelete {
				continue // a child is deleted with its parent
			}
			asked = true
			_, err := r.client.Delete(ctx, t.ID, taskkit.WithActor(coach), taskkit.WithReason("taskkit dev was interrupted"))
			if err != nil && !errors.Is(err, taskkit.ErrNotFound) {
				return fmt.Errorf("delete task %s: %w", t.ID, err)
			}
		}
		if asked {
			continue // most are gone at once
		}
		if len(r.workers.running) == 0 {
			if _, err := r.workers.add(holdNothing); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d tasks of the queue %s have not been deleted within %v", len(left), r.workspace.queue, stuckAfter)
		case <-tick.C:
		}
	}
}
