package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskpolicy"
)

// Plan is what a seed decides beforehand. Each seed turns on a part of the
// faults only, and each of those by another measure: where everything goes wrong
// at once, little else than giving up is ever reached.
type Plan struct {
	Workers int
	Slots   int
	Chaos   time.Duration // how long faults go on

	Latency      time.Duration // longest usual way there or back
	Loss         float64       // of a call on its way there, and of its answer
	Late         float64       // of a call that arrives after it was given up
	Stall        float64       // of a call that takes longer than anybody waits
	Crash        time.Duration // mean time between crashes; 0: none
	Freeze       time.Duration // mean time between pauses of a worker; 0: none
	Restart      time.Duration // mean time between orderly restarts; 0: none
	Jump         time.Duration // mean time between jumps of the store's clock; 0: none
	RequestEvery time.Duration // mean time between an operator's requests; 0: none
	NoNotify     bool          // no notifications

	ExecTime  time.Duration // longest usual execution
	Transient float64       // of an execution
	Ignore    float64       // of an execution: it ignores its context
	Later     float64       // of a batch: it asks to be continued later
	Try       float64       // of an item: its first write is undone

	Tasks []Task

	// Windows are those of tasks; nil: no task has times. Clock is how far the store's clock is ahead at first, and Boundaries
	// the mean time between its jumps to a boundary of a window or to a fire of a schedule; 0: none.
	Windows    []Window
	Clock      time.Duration
	Boundaries time.Duration

	Throttle Throttle

	// EditEvery is the mean time between an operator's changes of schedules.
	Schedules []Schedule
	EditEvery time.Duration

	// PauseEvery is the mean time between an operator's pauses and resumes of queues; 0: there are none, and one queue.
	// PausedAtEnd: tasks are stopped while the queues are paused and there are no faults. SafeMode: that a worker starts in
	// safe mode.
	PauseEvery  time.Duration
	PausedAtEnd bool
	SafeMode    float64

	// Afterwards is a parent that is submitted when there are no faults; nil: none is. It may be paused and
	// resumed, by a client that passes requests on or by one that does not.
	Afterwards                *Task
	PauseAfterwards, PassesOn bool
}

// Task is one task of a plan.
type Task struct {
	ID    uuid.UUID
	Kind  string
	Items int
	Batch int
	Key   string // unique key
	// Reference: all tasks with it differ in nothing but when they are submitted,
	// and in their spec, which is their number.
	Reference string
	After     time.Duration // when it is submitted
	Delay     time.Duration
	Spec      bool // its spec can be decoded

	// Items at which something always happens; -1: none.
	Poison int // a permanent error
	Panic  int
	Goexit int
	Killer int // it kills its worker
	Fails  int // every so many items one fails; 0: none
	Skips  int // every so many of the others are skipped; 0: none
	Defers int // every so many of the others are deferred, up to three times; 0: none

	Conditions lifecycle.Conditions
	Preview    bool
	Limits     []store.Limit
	Times      Times
	Queue      string // "": the default one

	// Search is how many items a task finds in a batch when it starts; 0: it does not search.
	Search  int
	Repeats int // every so many of those that it finds it finds one again; 0: never

	// Values are the items by their positions; nil: the positions. A walk comes twice to some.
	Values []int
	Parent uuid.UUID        // of such a task
	Action string           // by which it was made
	From   lifecycle.Status // of the other task then

	Family *Family // of a parent; nil: it is none
	// Part: it is a child that has a range of its parent's targets, or finds its own.
	Part  bool
	Range *store.Range
	// Policies are decided over the task and its children.
	Policies taskpolicy.Policies
}

// The kinds. All move a cursor over their items; they differ in what the engine
// does with them.
const (
	kindMove   = "move"   // writes, nothing else
	kindTidy   = "tidy"   // writes, with Abort and Report
	kindCount  = "count"  // writes nothing: most of its checkpoints travel in groups
	kindRemote = "remote" // half of its workers do not know it
	kindFrozen = "frozen" // takes its items from a frozen set of up to two pages, or finds these
	kindParent = "parent" // submits a child for each item, and waits for them
)

// longestCall is how long a call takes at most when there are no faults, there and back.
const longestCall = 400 * time.Millisecond

// newPlan draws a plan.
func newPlan(r *rand.Rand) Plan {
	in := func(lo, hi int) int { return lo + r.IntN(hi-lo+1) }
	maybe := func(p float64) bool { return r.Float64() < p }
	between := func(lo, hi time.Duration) time.Duration { return lo + time.Duration(r.Int64N(int64(hi-lo)+1)) }
	some := func(p float64, lo, hi time.Duration) time.Duration {
		if !maybe(p) {
			return 0
		}
		return between(lo, hi)
	}
	rate := func(p, most float64) float64 {
		if !maybe(p) {
			return 0
		}
		return most * r.Float64() * r.Float64()
	}
	p := Plan{
		Workers: in(1, 4), Slots: in(1, 4), Chaos: between(4*time.Second, 20*time.Second),
		Latency: []time.Duration{time.Millisecond, 5 * time.Millisecond, 30 * time.Millisecond, longestCall / 2}[r.IntN(4)],
		Loss:    rate(0.7, 0.3), Late: rate(0.6, 0.3), Stall: rate(0.4, 0.1),
		Crash:        some(0.6, time.Second, 10*time.Second),
		Freeze:       some(0.5, time.Second, 10*time.Second),
		Restart:      some(0.4, time.Second, 8*time.Second),
		Jump:         some(0.4, time.Second, 8*time.Second),
		RequestEvery: some(0.7, 50*time.Millisecond, 2*time.Second),
		NoNotify:     maybe(0.3),

		ExecTime:  []time.Duration{20 * time.Millisecond, 200 * time.Millisecond, 1500 * time.Millisecond}[r.IntN(3)],
		Transient: rate(0.7, 0.5), Ignore: rate(0.3, 0.1), Later: rate(0.5, 0.5), Try: rate(0.4, 0.5),
	}
	kinds := []string{ // a third of the frozen sets are found
		kindMove, kindMove, kindMove, kindMove, kindTidy, kindTidy, kindCount, kindCount, kindRemote, kindRemote, kindFrozen, kindFrozen, kindFrozen,
	}
	for i := range in(1, 10) {
		t := Task{
			Kind: kinds[r.IntN(len(kinds))], Spec: !maybe(0.04),
			Items: in(0, 20), Batch: in(1, mostInBatch), Poison: -1, Panic: -1, Goexit: -1, Killer: -1,
			After: between(0, p.Chaos), Delay: some(0.2, 0, 3*time.Second),
		}
		for b := range 16 {
			t.ID[b] = byte(r.Uint32())
		}
		t.ID[0], t.ID[6], t.ID[8] = byte(i), t.ID[6]&0x0f|0x70, t.ID[8]&0x3f|0x80
		if t.Kind == kindFrozen {
			t.Items = in(1, 1300)
			t.After /= 2 // or few have ended when others could be made from them
			t.drawSearch(in, maybe)
		}
		if maybe(0.2) {
			t.Key = fmt.Sprint("key ", r.IntN(2))
		}
		if t.Items > 0 {
			for _, at := range []*int{&t.Poison, &t.Panic, &t.Goexit, &t.Killer} {
				if maybe(0.06) {
					*at = r.IntN(t.Items)
				}
			}
		}
		every := 1
		if t.Kind == kindFrozen {
			every = 50 // each item apart from the others is a statement
		}
		if maybe(0.2) {
			t.Fails = every * in(2, 5)
		}
		if maybe(0.2) {
			t.Skips = every * in(2, 5)
		}
		t.drawOptions(every, in, maybe)
		if keepsLedger(t.Kind) && maybe(0.6) {
			t.comeAgain()
		}
		p.Tasks = append(p.Tasks, t)
	}
	if p.Tasks[0].Kind != kindFrozen && maybe(0.5) {
		first := p.Tasks[0]
		first.Key, first.Reference = "", "one thing"
		first.Conditions, first.Preview, first.Limits = lifecycle.Conditions{}, false, nil // a task with these is not replaced
		for i, t := range p.Tasks {
			if i == 0 || maybe(0.7) {
				p.Tasks[i] = first
				p.Tasks[i].ID, p.Tasks[i].After, p.Tasks[i].Delay = t.ID, t.After, t.Delay
			}
		}
	}
	return p
}

// drawOptions draws what a task has besides its items.
func (t *Task) drawOptions(every int, in func(lo, hi int) int, maybe func(p float64) bool) {
	if t.Kind == kindFrozen && maybe(0.3) {
		t.Defers = 25 * in(1, 4)
	}
	if maybe(0.2) {
		t.Conditions.StopAfter = lifecycle.StopPolicy{Failed: int64(in(1, 4))}
		if t.Kind == kindFrozen && maybe(0.5) {
			t.Conditions.StopAfter = lifecycle.StopPolicy{Percent: float64(in(100, 300)) / 100}
		}
		if t.Fails == 0 && maybe(0.7) {
			t.Fails = every * in(1, 3)
		}
	}
	if maybe(0.08) {
		t.Conditions.Canary = int64(in(1, 1+t.Items/2))
		t.Conditions.Approval = maybe(0.5)
	} else {
		t.Conditions.Approval = maybe(0.03)
	}
	t.Preview = maybe(0.08)
	for n, key := range []string{"one at once", "two at once"} {
		if maybe(0.15) {
			t.Limits = append(t.Limits, store.Limit{Key: key, AtMost: n + 1})
		}
	}
}

// drawSearch lets some tasks over a frozen set find it. They begin in the middle, so
// that what they find does not ascend.
func (t *Task) drawSearch(in func(lo, hi int) int, maybe func(p float64) bool) {
	if !maybe(0.35) {
		return
	}
	if maybe(0.15) {
		t.Items = 0
	}
	t.Search, t.Repeats = in(20, 200), in(0, 50)
	first := in(0, t.Items)
	t.Values = make([]int, t.Items)
	for at := range t.Values {
		t.Values[at] = (first + at) % t.Items
	}
}

// mostInBatch is how many items a batch of a walk has at most.
const mostInBatch = 5

// comeAgain lets a walk come again to items that have failed, in a later batch. Then they succeed.
func (t *Task) comeAgain() {
	for i := range t.Items {
		t.Values = append(t.Values, i)
		if was := i - mostInBatch; was >= 0 && t.fails(was) {
			t.Values = append(t.Values, was)
		}
	}
	t.Items = len(t.Values)
}

// again reports whether a walk has been at the item of a position before.
func (t *Task) again(at int) bool {
	return t.Kind != kindFrozen && t.Values != nil && slices.Contains(t.Values[:at], t.Values[at])
}
