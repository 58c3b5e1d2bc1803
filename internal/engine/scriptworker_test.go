package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

var errUnreachable = errors.New("the database is unreachable")

// scriptWorker is a worker of a script, and its way to the store.
type scriptWorker struct {
	env    *scriptEnv
	name   string
	cancel context.CancelFunc
	ended  chan struct{}

	store.Runtime // the methods that no script reaches

	mu            sync.Mutex
	cut, dead     bool
	loseAnswer    bool
	registrations int
	txs           []*memstore.Tx
	freeLock      context.CancelCauseFunc // ends Watch, which frees the presence lock
}

var _ store.Runtime = (*scriptWorker)(nil)

// worker performs a command on a worker.
func (e *scriptEnv) worker(command string, args []string) error {
	if command == "start" {
		return e.startWorker(args)
	}
	w := e.workers[args[0]]
	if w == nil {
		return fmt.Errorf("no worker %s", args[0])
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch command {
	case "stop":
		w.cancel()
	case "kill":
		w.dead = true
		for _, tx := range w.txs {
			tx.Kill()
		}
		w.freeLock(memstore.ErrGone)
		w.cancel()
	case "cut", "mend":
		w.cut = command == "cut"
	case "lose-answer":
		w.loseAnswer = true
	default:
		return fmt.Errorf("no command %s", command)
	}
	return nil
}

func (e *scriptEnv) startWorker(args []string) error {
	c := config(e.t)
	c.BatchTimeout = time.Hour
	if len(args) > 1 {
		slots, err := strconv.Atoi(args[1])
		if err != nil {
			return err
		}
		c.Slots = slots
	}
	w := &scriptWorker{env: e, name: args[0], ended: make(chan struct{}), freeLock: func(error) {}}
	e.workers[w.name] = w
	c.System, c.Log = w.name, slog.New(scriptLog{slog.DiscardHandler, w})
	kinds := demo(nil)
	kinds["demo"].Open = func(t session.Task, _ json.RawMessage) (session.Call, error) {
		return &execution{w: w, task: t.ID, commands: make(chan func(context.Context, *session.Step) *returned)}, nil
	}
	ctx, cancel := context.WithCancel(e.t.Context())
	w.cancel = cancel
	go func() {
		defer close(w.ended)
		if err := engine.New(w, kinds, c).Run(ctx); err != nil {
			e.t.Errorf("%s: %v", w.name, err)
		}
	}()
	return nil
}

// stopAll ends all workers.
func (e *scriptEnv) stopAll() {
	for _, w := range e.workers {
		w.cancel()
		<-w.ended
	}
}

func (w *scriptWorker) isDead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dead
}

// reach returns an error when the worker does not reach the database.
func (w *scriptWorker) reach() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut || w.dead {
		return errUnreachable
	}
	return nil
}

// reaching makes a call when the worker reaches the database.
func reaching[T any](w *scriptWorker, call func() (T, error)) (T, error) {
	if err := w.reach(); err != nil {
		var none T
		return none, err
	}
	return call()
}

// Dialect implements [store.Workers].
func (w *scriptWorker) Dialect() dialect.Name { return w.env.store.Dialect() }

// Schema implements [store.Workers].
func (w *scriptWorker) Schema() string { return w.env.store.Schema() }

// Release implements [store.Workers].
func (w *scriptWorker) Release(context.Context) {}

// RegisterWorker implements [store.Workers]. It names the process: w1, and w1#2 when w1
// registers for the second time.
func (w *scriptWorker) RegisterWorker(ctx context.Context, p store.Process) error {
	if err := w.reach(); err != nil {
		return err
	}
	w.registrations++
	name := w.name
	if w.registrations > 1 {
		name += "#" + strconv.Itoa(w.registrations)
	}
	w.env.mu.Lock()
	w.env.names[p.ID] = name
	w.env.mu.Unlock()
	return w.env.store.RegisterWorker(ctx, p)
}

// Heartbeat implements [store.Workers].
func (w *scriptWorker) Heartbeat(ctx context.Context, process string, draining bool) error {
	if err := w.reach(); err != nil {
		return err
	}
	return w.env.store.Heartbeat(ctx, process, draining)
}

// Deregister implements [store.Workers].
func (w *scriptWorker) Deregister(ctx context.Context, process string) error {
	if err := w.reach(); err != nil {
		return err
	}
	return w.env.store.Deregister(ctx, process)
}

// Claim implements [store.Workers]. It claims one task at a time and takes a while, so
// that what follows from a claim does not happen at the moment of another.
func (w *scriptWorker) Claim(ctx context.Context, c store.Claim) (store.ClaimResult, error) {
	c.Limit = min(c.Limit, 1)
	time.Sleep(10 * time.Millisecond)
	return reaching(w, func() (store.ClaimResult, error) { return w.env.store.Claim(ctx, c) })
}

// Unstarted implements [store.Workers].
func (w *scriptWorker) Unstarted(ctx context.Context, process string) (map[uuid.UUID]store.Position, error) {
	return reaching(w, func() (map[uuid.UUID]store.Position, error) { return w.env.store.Unstarted(ctx, process) })
}

// Waiting implements [store.Workers].
func (w *scriptWorker) Waiting(ctx context.Context, c store.Claim) (bool, error) {
	return reaching(w, func() (bool, error) { return w.env.store.Waiting(ctx, c) })
}

// WaitingOwners implements [store.Workers].
func (w *scriptWorker) WaitingOwners(ctx context.Context, c store.Claim) (map[uuid.UUID]int, error) {
	return reaching(w, func() (map[uuid.UUID]int, error) { return w.env.store.WaitingOwners(ctx, c) })
}

// Watch implements [store.Workers]: what wakes the worker is the same in all
// scripts, cut off or not.
func (w *scriptWorker) Watch(ctx context.Context, process string, to store.Watcher) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	w.mu.Lock()
	w.freeLock = end
	dead := w.dead
	w.mu.Unlock()
	if dead {
		return errUnreachable
	}
	return w.env.store.Watch(ctx, process, to)
}

// ReadPresence implements [store.Workers].
func (w *scriptWorker) ReadPresence(ctx context.Context, process string) (store.PresenceReading, error) {
	return reaching(w, func() (store.PresenceReading, error) { return w.env.store.ReadPresence(ctx, process) })
}

// Probe implements [store.Workers].
func (w *scriptWorker) Probe(context.Context, bool) error { return w.reach() }

// ReadHealth implements [store.Workers].
func (w *scriptWorker) ReadHealth(ctx context.Context, q store.HealthQuery) (store.HealthReading, error) {
	return reaching(w, func() (store.HealthReading, error) { return w.env.store.ReadHealth(ctx, q) })
}

// FoundAlive implements [store.Workers].
func (w *scriptWorker) FoundAlive(ctx context.Context, process string) (bool, error) {
	return reaching(w, func() (bool, error) { return w.env.store.FoundAlive(ctx, process) })
}

// Plan implements [store.Common].
func (w *scriptWorker) Plan(ctx context.Context, id uuid.UUID) (store.Plan, error) {
	return reaching(w, func() (store.Plan, error) { return w.env.store.Plan(ctx, id) })
}

// Targets implements [store.Common].
func (w *scriptWorker) Targets(ctx context.Context, id uuid.UUID, first, last int) ([]store.TargetPage, error) {
	return reaching(w, func() ([]store.TargetPage, error) { return w.env.store.Targets(ctx, id, first, last) })
}

// Deferred implements [store.Sessions].
func (w *scriptWorker) Deferred(ctx context.Context, id uuid.UUID, after int64, limit int) (positions []int64, all int64, err error) {
	positions, err = reaching(w, func() (found []int64, err error) {
		found, all, err = w.env.store.Deferred(ctx, id, after, limit)
		return found, err
	})
	return positions, all, err
}

// Apply implements [store.Sessions].
func (w *scriptWorker) Apply(ctx context.Context, process string, writes []*store.Write) ([]store.Applied, error) {
	return reaching(w, func() ([]store.Applied, error) { return w.env.store.Apply(ctx, process, writes) })
}

// Positions implements [store.Sessions].
func (w *scriptWorker) Positions(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]store.Position, error) {
	return reaching(w, func() (map[uuid.UUID]store.Position, error) { return w.env.store.Positions(ctx, ids) })
}

// Attempts implements [store.Common].
func (w *scriptWorker) Attempts(ctx context.Context, id uuid.UUID, limit int) ([]store.Attempt, error) {
	return reaching(w, func() ([]store.Attempt, error) { return w.env.store.Attempts(ctx, id, limit) })
}

// Events implements [store.Common].
func (w *scriptWorker) Events(ctx context.Context, id uuid.UUID, limit int) ([]store.Event, error) {
	return reaching(w, func() ([]store.Event, error) { return w.env.store.Events(ctx, id, limit) })
}

// Processes implements [store.Common].
func (w *scriptWorker) Processes(ctx context.Context, since time.Duration) ([]store.Process, error) {
	return reaching(w, func() ([]store.Process, error) { return w.env.store.Processes(ctx, since) })
}

// Reap implements [store.Upkeep].
func (w *scriptWorker) Reap(ctx context.Context, absent []int64) (store.Reaped, error) {
	return reaching(w, func() (store.Reaped, error) { return w.env.store.Reap(ctx, absent) })
}

// Begin implements [store.Sessions].
func (w *scriptWorker) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	return reaching(w, func() (store.Tx, error) {
		tx, err := w.env.store.Begin(ctx, h, l)
		if err != nil {
			return nil, err
		}
		own := tx.(*memstore.Tx) //nolint:forcetypeassert,errcheck // that is what it begins
		w.mu.Lock()
		defer w.mu.Unlock()
		w.txs = append(w.txs, own)
		return &scriptTx{own, w}, nil
	})
}

// scriptTx is a transaction whose commit may be late.
type scriptTx struct {
	*memstore.Tx

	w *scriptWorker
}

// Commit implements [store.Tx].
func (t *scriptTx) Commit(ctx context.Context, write store.Write) (store.Applied, error) {
	if err := t.w.reach(); err != nil {
		return store.Applied{}, err
	}
	t.w.mu.Lock()
	lose := t.w.loseAnswer
	t.w.loseAnswer = false
	t.w.mu.Unlock()
	if !lose {
		return t.Tx.Commit(ctx, write)
	}
	if a, err := t.Prepare(ctx, write); err != nil || !a.OK {
		return a, err
	}
	t.w.env.late = t.Tx
	return store.Applied{}, &store.UnknownError{Err: errUnreachable}
}

// execution is an executor that does what commands tell it.
type execution struct {
	w        *scriptWorker
	task     uuid.UUID
	commands chan func(context.Context, *session.Step) *returned
}

// returned is what Execute returns.
type returned struct {
	next  session.Next
	state json.RawMessage
	err   error
}

// do lets the execution do something.
func (x *execution) do(f func(context.Context, *session.Step) *returned) error {
	select {
	case x.commands <- f:
		return nil
	case <-time.After(settleTime):
		return errors.New("its execution has ended")
	}
}

// Execute implements [session.Call].
func (x *execution) Execute(ctx context.Context, s *session.Step, state json.RawMessage) (session.Next, json.RawMessage, error) {
	e := x.w.env
	e.event(rankExecutes, "%s executes %s: attempt=%d state=%s", x.w.name, x.task, s.Attempt, state)
	e.mu.Lock()
	name := e.names[x.task.String()]
	e.executions[name] = x
	e.mu.Unlock()
	for {
		select {
		case f := <-x.commands:
			if r := f(ctx, s); r != nil {
				return r.next, r.state, r.err
			}
		case <-ctx.Done():
			if !x.w.isDead() {
				e.event(rankCancelled, "%s: the execution of %s is cancelled: %v", x.w.name, x.task, context.Cause(ctx))
			}
			return session.Next{}, nil, context.Cause(ctx)
		}
	}
}

// Abort implements [session.Call].
func (x *execution) Abort(context.Context, *session.Step, json.RawMessage) error { return nil }

// Report implements [session.Call].
func (x *execution) Report(context.Context, *session.Step, json.RawMessage) (json.RawMessage, error) {
	return nil, nil
}
