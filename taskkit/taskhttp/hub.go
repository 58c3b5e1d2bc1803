package taskhttp

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

// pollTimeout bounds one read of the watched jobs.
const pollTimeout = 10 * time.Second

// hub reads the tasks for which requests wait, all with one query, and sends the requests
// what has changed. It has a goroutine while there are such tasks.
type hub struct {
	rows   func(ctx context.Context, ids []taskkit.ID) (map[taskkit.ID]*taskkit.Task, error)
	every  time.Duration
	logger *slog.Logger

	mu     sync.Mutex
	tasks  map[taskkit.ID]*watched
	cancel context.CancelFunc // ends the goroutine; nil: there is none
}

// watched is a task for which requests wait. The hub's mutex guards it.
type watched struct {
	seen
	watchers int
	changed  chan struct{} // closed with the next change
}

// seen is a task as last read.
type seen struct {
	task   *taskkit.Task // nil: it is gone
	at     time.Time     // when
	failed error         // of the last read

	// Of its job, made once for all who wait for it:
	revision string
	done     bool
}

// seenNow is a task that was just read.
func seenNow(t *taskkit.Task) seen {
	s := seen{task: t, at: time.Now()}
	if t != nil {
		j := snapshot(t, 0)
		s.revision, s.done = j.Revision, j.Done
	}
	return s
}

func newHub(rows func(context.Context, []taskkit.ID) (map[taskkit.ID]*taskkit.Task, error), every time.Duration, l *slog.Logger) *hub {
	return &hub{rows: rows, every: every, logger: l, tasks: map[taskkit.ID]*watched{}}
}

// watch begins to watch a task that was just read. Each call needs an unwatch.
func (h *hub) watch(now seen) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.tasks[now.task.ID]
	if w == nil {
		w = &watched{changed: make(chan struct{}), seen: now}
		h.tasks[now.task.ID] = w
	}
	w.watchers++
	w.update(now)
	if h.cancel == nil {
		ctx, cancel := context.WithCancel(context.Background())
		h.cancel = cancel
		go h.run(ctx)
	}
}

// unwatch ends what watch began.
func (h *hub) unwatch(id taskkit.ID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w := h.tasks[id]; w.watchers > 1 {
		w.watchers--
		return
	}
	delete(h.tasks, id)
	if len(h.tasks) == 0 {
		h.cancel()
		h.cancel = nil
	}
}

// last returns a task as last read and a channel that is closed when it has changed.
func (h *hub) last(id taskkit.ID) (seen, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.tasks[id]
	return w.seen, w.changed
}

// run reads the tasks until ctx ends.
func (h *hub) run(ctx context.Context) {
	tick := time.NewTicker(h.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			h.poll(ctx)
		}
	}
}

// poll reads the tasks once.
func (h *hub) poll(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, pollTimeout)
	defer cancel()
	ids := h.watchedIDs()
	if len(ids) == 0 {
		return
	}
	found, err := h.rows(limited, ids)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		h.logger.WarnContext(ctx, "cannot read the jobs that requests wait for; will try again", "jobs", len(ids), "error", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		if w := h.tasks[id]; w != nil {
			if w.failed = err; err == nil {
				w.update(seenNow(found[id]))
			}
		}
	}
}

func (h *hub) watchedIDs() []taskkit.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	ids := make([]taskkit.ID, 0, len(h.tasks))
	for id := range h.tasks {
		ids = append(ids, id)
	}
	return ids
}

// update records what a read has found. Reads may overlap, so an older one may come
// later.
func (w *watched) update(now seen) {
	if w.task == nil || now.task != nil && older(now.task, w.task) {
		return
	}
	same := now.task != nil && now.revision == w.revision
	w.seen = now
	if !same {
		close(w.changed)
		w.changed = make(chan struct{})
	}
}

// older reports whether a is an earlier state of a task than b.
func older(a, b *taskkit.Task) bool {
	switch {
	case a.Fence != b.Fence:
		return a.Fence < b.Fence
	case a.Checkpoints != b.Checkpoints:
		return a.Checkpoints < b.Checkpoints
	}
	return a.Modified.Before(b.Modified)
}

// waits counts the requests that wait.
type waits struct {
	most, each int

	mu  sync.Mutex
	all int
	by  map[uuid.UUID]int
}

// begin counts a request of an owner, or returns false if there are too many. Each
// begin needs an end.
func (w *waits) begin(owner uuid.UUID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.all >= w.most || w.by[owner] >= w.each {
		return false
	}
	w.all++
	w.by[owner]++
	return true
}

func (w *waits) end(owner uuid.UUID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all--
	w.by[owner]--
	if w.by[owner] == 0 {
		delete(w.by, owner)
	}
}
