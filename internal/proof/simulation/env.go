package simulation

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// env is what one seed's simulation shares. It draws all chances from one
// generator, in the order in which they are asked for.
type env struct {
	plan Plan
	mem  *memstore.Store
	db   memstore.Double // mem, or a mutant over it

	mu    sync.Mutex
	byID  map[uuid.UUID]*Task // every submission has an ID of its own
	ids   map[*Task]uuid.UUID // of its last submission
	rng   *rand.Rand
	calm  bool // no more faults
	began time.Time
	// beginning is when the simulation began by the store's clock.
	beginning time.Time
	seen      map[string]int // what happened, and how often
	hash      hash.Hash64
	trace     func(string) // nil: nobody reads along
	// unwell: an indicator is not well, see [Throttle].
	unwell bool

	pausing sync.Mutex // of what follows
	paused  []pausedQueue

	scheduling sync.Mutex // of what follows
	fires      []fire     // of schedules, in the order of their commits

	facts facts
}

// facts are what clients and executors know themselves.
type facts struct {
	submits   []submit                               // each try, with its outcome
	derived   []derivation                           // the same of tasks that were made from others
	permanent map[uuid.UUID]bool                     // an executor gave up for good, or panicked
	asked     map[uuid.UUID]map[lifecycle.Action]int // what operators requested, answered or not
	accepted  map[accepted]int                       // writes of which the store said that it made them
	given     map[uuid.UUID][]int64                  // how many targets an executor was given, each number once
	tooOften  map[uuid.UUID]int                      // an executor was called for a try that is one too many
	parents   map[uuid.UUID]uuid.UUID                // of the children that a parent has tried to submit
	wrong     []string                               // violations that an executor has seen
	safe      map[string]bool                        // processes of workers in safe mode
	workers   time.Time                              // when the last of them was killed, or registered
	back      time.Duration                          // how far the store's clock has jumped back in all
	// promptFrom is since when there are no faults, by the store's clock; zero: there are.
	promptFrom time.Time
}

// submit is one try to submit a task.
type submit struct {
	task    *Task
	id      uuid.UUID // of the task that the client was told of, or else of the try
	outcome string    // of the oracle's
}

// derivation is a task that an operator made from another, or tried to.
type derivation struct {
	submit

	key string
}

// accepted is what a holder knows of a write that was made.
type accepted struct {
	store.Lease
	to string // the status, or "deleted"
}

// accepts notes the answer to a write.
func (w *env) accepts(write store.Write, a store.Applied) {
	if a.OK {
		to := string(write.To)
		if write.To.Terminal() && a.Control == lifecycle.Delete {
			to = "deleted"
		}
		w.know(func(f *facts) { f.accepted[accepted{write.Lease, to}]++ })
	}
}

func newEnv(seed uint64) *env {
	rng := rand.New(rand.NewPCG(seed, 0x7a5c)) //nolint:gosec // it has to be repeatable
	mem := memstore.New()
	mem.Accept(insertTouch)
	w := &env{
		plan: newPlan(rng), mem: mem, db: mem, byID: make(map[uuid.UUID]*Task), ids: make(map[*Task]uuid.UUID), rng: rng, began: time.Now(),
		seen: make(map[string]int), hash: fnv.New64a(),
		facts: facts{
			permanent: make(map[uuid.UUID]bool), safe: make(map[string]bool), asked: make(map[uuid.UUID]map[lifecycle.Action]int),
			tooOften: make(map[uuid.UUID]int), accepted: make(map[accepted]int), parents: make(map[uuid.UUID]uuid.UUID), given: make(map[uuid.UUID][]int64),
		},
	}
	w.plan.drawParts(rand.New(rand.NewPCG(seed, 0x9a47)))     //nolint:gosec // as above
	w.plan.drawParents(rand.New(rand.NewPCG(seed, 0xfa41)))   //nolint:gosec // as above
	w.plan.drawTimes(rand.New(rand.NewPCG(seed, 0x71e5)))     //nolint:gosec // as above
	w.plan.drawThrottle(rand.New(rand.NewPCG(seed, 0x7407)))  //nolint:gosec // as above
	w.plan.drawQueues(rand.New(rand.NewPCG(seed, 0x90e5)))    //nolint:gosec // as above
	w.plan.drawSchedules(rand.New(rand.NewPCG(seed, 0x5c4e))) //nolint:gosec // as above
	mem.Jump(w.plan.Clock)
	w.beginning = mem.Now()
	for i := range w.plan.Tasks {
		w.names(&w.plan.Tasks[i], 0)
	}
	return w
}

// names gives a task the ID of a try to submit it, and returns it. An ID is never
// used again: as Submit does, who tries again asks for another task with the same
// key.
func (w *env) names(t *Task, try int) uuid.UUID {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := t.ID
	binary.BigEndian.PutUint32(id[1:], binary.BigEndian.Uint32(id[1:])+uint32(try)) //nolint:gosec // few tries
	w.byID[id], w.ids[t] = t, id
	return id
}

// task returns the task that an ID was given to.
func (w *env) task(id uuid.UUID) *Task {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byID[id]
}

// chance is true as often as p says, and never once it is calm.
func (w *env) chance(p float64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.Float64() < p && !w.calm
}

// between draws a duration. It has nanoseconds, so that hardly two things
// happen at once.
func (w *env) between(lo, hi time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if hi <= lo {
		return lo
	}
	return lo + time.Duration(w.rng.Int64N(int64(hi-lo)))
}

// pick draws a number below n.
func (w *env) pick(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n)
}

// wait draws how long until something that happens every mean.
func (w *env) wait(mean time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Duration(min(w.rng.ExpFloat64(), 5) * float64(mean))
}

// isCalm reports whether the faults have ended.
func (w *env) isCalm() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calm
}

// count counts what happened.
func (w *env) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[what]++
}

// counted adds what somebody else has counted.
func (w *env) counted(what string, n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 {
		w.seen[what] += int(n)
	}
}

// know notes a fact.
func (w *env) know(f func(*facts)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f(&w.facts)
}

// say writes one line of the trace. It never names what is random outside the
// seed, as a process's identity is.
func (w *env) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	line := fmt.Sprintf("%v ", time.Since(w.began)) + fmt.Sprintf(format, args...)
	_, _ = w.hash.Write([]byte(line))
	if w.trace != nil {
		w.trace(line)
	}
}

// name is what the trace calls a task.
func (w *env) name(id uuid.UUID) string {
	if t := w.task(id); t != nil {
		return fmt.Sprint("task ", t.ID[0])
	}
	return "no task"
}

// errNetwork is a call that came to nothing, or whose answer did.
var errNetwork = errors.New("simulated: connection reset by peer")

// pass lets time pass. It is the bubble's, and takes none.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // nobody waits
}

// sleep waits, at most until ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
