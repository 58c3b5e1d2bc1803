package engine

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// Worker is one running process of the runtime.
type Worker struct {
	store  store.Runtime
	kinds  map[string]*session.Kind
	config Config
	outage *outage

	current atomic.Pointer[registration] // nil: none
}

// New makes a worker. It starts nothing.
func New(s store.Runtime, kinds map[string]*session.Kind, c Config) *Worker {
	return &Worker{store: s, kinds: kinds, config: c, outage: newOutage(s, c.Call)}
}

// errIdentityLost ends a registration whose process ID may not be used any more.
var errIdentityLost = errors.New("the worker was declared dead, or its heartbeat could not be renewed")

// Run works until ctx ends. Then it claims nothing more, lets running batches
// finish within the drain time, releases its tasks without spending an attempt,
// and returns nil. It returns an error only when it could not register at first.
func (w *Worker) Run(ctx context.Context) error {
	defer func() {
		// A session that was abandoned may still write: its batch is not waited
		// for any longer.
		cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		w.store.Release(cctx)
	}()
	probes, endProbes := context.WithCancel(ctx)
	probed := start(func() { w.outage.run(probes) })
	defer func() { endProbes(); <-probed }()
	events := observe.New(ctx, w.config.Log, w.config.Observe)
	events.Covers = w.outage.covers
	for before := ""; ; {
		process, err := w.runRegistered(ctx, events, before)
		before = process
		if ctx.Err() != nil || !errors.Is(err, errIdentityLost) {
			return err
		}
	}
}

// runRegistered registers under a new process ID, which it returns, and works until ctx ends (nil) or
// the heartbeat is lost (errIdentityLost). Before is the process ID that it had, "" at first.
func (w *Worker) runRegistered(ctx context.Context, events *observe.Observer, before string) (process string, err error) {
	kinds := make(map[string][]int, len(w.kinds))
	for name, k := range w.kinds {
		kinds[name] = k.Reads
	}
	p := store.Process{
		ID: newProcessID(w.config.System), Version: w.config.Version, Kinds: kinds,
		Queues: w.config.Queues, Slots: w.config.Slots, DeadAfter: w.config.DeadAfter, SafeMode: w.config.SafeMode, MaxAttempts: w.config.MaxAttempts,
	}
	former := events.As(before)
	if w.outage.since(time.Now().Add(-w.config.DeadAfter)) {
		w.releaseFormer(ctx, former)
	}
	events = events.As(p.ID)
	sent := time.Now()
	for n := 1; ; n++ {
		cctx, cancel := context.WithTimeout(ctx, w.config.Call)
		err := w.store.RegisterWorker(cctx, p)
		cancel()
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return p.ID, nil //nolint:nilerr // asked to end before it had begun: that is no failure
		}
		if before == "" {
			return p.ID, fmt.Errorf("register worker %s: %w", p.ID, err)
		}
		delay := w.config.Backoff.Delay(n)
		if w.outage.lasts() {
			delay = min(delay, probeLast)
		}
		events.Report(taskevent.CallFailed{Worker: p.ID, Call: taskevent.CallRegister, Try: n, RetryIn: delay, Err: err})
		sleep(ctx, delay)
		sent = time.Now()
	}
	w.foundAlive(ctx, former)
	r := newRegistration(w, p, sent, events)
	events.Report(taskevent.WorkerStarted{Worker: p.ID, Slots: w.config.Slots, Queues: w.config.Queues, SafeMode: w.config.SafeMode, Busy: r.pool.running})
	w.current.Store(r)
	err = r.run(ctx)
	w.current.Store(nil)
	events.Report(taskevent.WorkerEnded{Worker: p.ID, Err: err})
	return p.ID, err
}

// releaseFormer releases the tasks that the worker had as the process that it was before, unless others have taken them over: it has lost
// them because of an outage, which costs no attempt. It tries again while the outage lasts. The worker does not register before, since it
// would then take the tasks over from a lost worker.
func (w *Worker) releaseFormer(ctx context.Context, events *observe.Observer) {
	if events.Worker == "" {
		return
	}
	for n := 1; ; n++ {
		lasts := w.outage.since(time.Now())
		cctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.config.Call)
		err := w.store.Deregister(cctx, events.Worker)
		cancel()
		if err == nil {
			return
		}
		events.Report(taskevent.CallFailed{Worker: events.Worker, Call: taskevent.CallDeregister, Try: n, Err: err})
		if !lasts || ctx.Err() != nil {
			return
		}
		sleep(ctx, min(w.config.Backoff.Delay(n), probeLast))
	}
}

// foundAlive records, if others had declared the process dead that this worker was before, that it
// ran.
func (w *Worker) foundAlive(ctx context.Context, events *observe.Observer) {
	if events.Worker == "" {
		return
	}
	cctx, cancel := context.WithTimeout(ctx, w.config.Call)
	defer cancel()
	switch declaredDead, err := w.store.FoundAlive(cctx, events.Worker); {
	case err != nil && ctx.Err() == nil:
		events.Report(taskevent.CallFailed{Worker: events.Worker, Call: taskevent.CallFoundAlive, Try: 1, Err: err})
	case declaredDead:
		events.Report(taskevent.DeclaredDead{Worker: events.Worker})
	}
}

// newProcessID returns <system>-<startup-timestamp>-<random> (SSP-24): a new ID
// for every registration, never used again.
func newProcessID(system string) string {
	if system == "" {
		system, _ = os.Hostname()
	}
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, see its documentation
	return fmt.Sprintf("%s-%s-%s", classify.Clean(system), time.Now().UTC().Format("20060102T150405.000Z"), hex.EncodeToString(b[:]))
}
