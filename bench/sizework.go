package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"taskkit.dev/internal/engine/maintain"
	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit"
)

// workerSizes measures what an idle worker reads, beside the backlog and alone.
func workerSizes(ctx context.Context, full, empty *sized, _ sizes, window time.Duration, out io.Writer) error {
	if !full.postgres {
		return nil
	}
	var rows [][]string
	for _, s := range []*sized{full, empty} {
		k := &kit{db: s.db, name: "size", rows: insertRows(true)}
		var buffers, calls int64
		stop, err := k.serve(ctx, taskkit.Config{Logger: quiet()}, func(int64) {})
		if err != nil {
			return err
		}
		if err = pause(ctx, 5*time.Second); err == nil { // it starts
			buffers, calls, err = s.meter(ctx, func(ctx context.Context) error { return pause(ctx, window) })
		}
		if err := errors.Join(err, stop()); err != nil {
			return err
		}
		name := map[*sized]string{full: "beside the backlog", empty: "in empty tables"}[s]
		rows = append(rows, []string{name, thousands(buffers), thousands(calls)})
	}
	markdown(out, fmt.Sprintf("An idle worker for %v, %s", window, full.name), []string{"", "buffers", "statements"}, rows)
	return nil
}

// watched is a store that counts what a cleaner removes, and ends it when a pass is done.
type watched struct {
	store.Store
	mu      sync.Mutex
	passes  int
	most    int // passes
	end     context.CancelFunc
	removed map[string]int // by kind
	calls   time.Duration  // of the calls that remove
}

// Processes is the first call of each pass.
func (w *watched) Processes(ctx context.Context, ended time.Duration) ([]store.Process, error) {
	w.mu.Lock()
	if w.passes++; w.passes > w.most {
		w.end()
	}
	w.mu.Unlock()
	return w.Store.Processes(ctx, ended)
}

// RemoveEnded counts what it removes.
func (w *watched) RemoveEnded(ctx context.Context, p store.EndedTasks) (store.RemovedEnded, error) {
	began := time.Now()
	r, err := w.Store.RemoveEnded(ctx, p)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.removed[p.Kind] += len(r.IDs)
	w.calls += time.Since(began)
	return r, err
}

// clean runs the cleaner of a worker for some passes, at most for a while, by the periods after which ended tasks are removed.
func clean(ctx context.Context, r *reader, passes int, most time.Duration, keep func(kind string) time.Duration) (*watched, error) {
	run, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	w := &watched{Store: r.worker, most: passes, end: cancel, removed: make(map[string]int)}
	c := &maintain.Cleaner{
		Store: w, Call: time.Minute,
		Keep:      func(kind string) store.Retention { return store.Retention{Ended: keep(kind)} },
		Events:    observe.New(ctx, quiet(), nil),
		Intervals: maintain.Intervals{CleanEvery: 100 * time.Millisecond, Events: 90 * 24 * time.Hour, UnknownKindAfter: 14 * 24 * time.Hour},
	}
	c.Run(run)
	return w, ctx.Err()
}

// cleanerSizes measures a pass of the cleaner when nothing is due, and a round in which one kind is kept for an hour and a part of the
// others is due too.
func cleanerSizes(ctx context.Context, full, empty *sized, n sizes, window time.Duration, out io.Writer) error {
	var rows [][]string
	for _, s := range []*sized{full, empty} {
		r, stop, err := s.open(ctx, "", n)
		if err != nil {
			return err
		}
		for _, pass := range []string{"the first", "the second"} { // which has the kinds that the first has seen
			began := time.Now()
			buffers, calls, err := s.meter(ctx, func(ctx context.Context) error {
				_, err := clean(ctx, r, 1, callWithin, func(string) time.Duration { return 365 * 24 * time.Hour })
				return err
			})
			if err != nil {
				stop()
				return err
			}
			name := map[*sized]string{full: "full tables", empty: "empty tables"}[s]
			counted := []string{thousands(buffers), thousands(calls)}
			if !s.postgres {
				counted = []string{"", ""}
			}
			rows = append(rows, append([]string{name + ", " + pass}, append(counted, figure(time.Since(began).Seconds()))...))
		}
		stop()
	}
	markdown(out, "A pass of the cleaner with nothing due, "+full.name, []string{"", "buffers", "statements", "s, with its pauses"}, rows)

	r, stop, err := full.open(ctx, "", n)
	if err != nil {
		return err
	}
	defer stop()
	began := time.Now()
	w, err := clean(ctx, r, 1, window, func(kind string) time.Duration {
		if kind == "short" {
			return time.Hour
		}
		return 150 * 24 * time.Hour
	})
	if err != nil {
		return err
	}
	took, all := time.Since(began), 0
	rows = nil
	for _, kind := range slices.Sorted(maps.Keys(w.removed)) {
		all += w.removed[kind]
		rows = append(rows, []string{kind, thousands(int64(w.removed[kind])), figure(float64(w.removed[kind]) / took.Seconds()), ""})
	}
	rows = append(rows, []string{"all", thousands(int64(all)), figure(float64(all) / took.Seconds()), figure(float64(all) / max(w.calls, time.Millisecond).Seconds())})
	markdown(out, fmt.Sprintf("A round of the cleaner for %v, short is kept for 1 h and the others for 150 of 180 days, %s", took.Round(time.Second), full.name),
		[]string{"kind", "removed", "tasks/s", "tasks/s without its pauses"}, rows)
	return nil
}
