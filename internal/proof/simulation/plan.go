package simulation

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
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
}

// The kinds. All move a cursor over their items; they differ in what the engine
// does with them.
const (
	kindMove   = "move"   // writes, nothing else
	kindTidy   = "tidy"   // writes, with Abort and Report
	kindCount  = "count"  // writes nothing: its checkpoints travel in groups
	kindRemote = "remote" // half of its workers do not know it
	kindFrozen = "frozen" // takes its items from a frozen set of up to two pages
)

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
		Latency: []time.Duration{time.Millisecond, 5 * time.Millisecond, 30 * time.Millisecond, 200 * time.Millisecond}[r.IntN(4)],
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
	for i := range in(1, 10) {
		t := Task{
			Kind: []string{kindMove, kindMove, kindTidy, kindCount, kindRemote, kindFrozen}[r.IntN(6)], Spec: !maybe(0.04),
			Items: in(0, 20), Batch: in(1, 5), Poison: -1, Panic: -1, Goexit: -1, Killer: -1,
			After: between(0, p.Chaos), Delay: some(0.2, 0, 3*time.Second),
		}
		for b := range 16 {
			t.ID[b] = byte(r.Uint32())
		}
		t.ID[0], t.ID[6], t.ID[8] = byte(i), t.ID[6]&0x0f|0x70, t.ID[8]&0x3f|0x80
		if t.Kind == kindFrozen {
			t.Items = in(1, 1300)
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
		p.Tasks = append(p.Tasks, t)
	}
	if p.Tasks[0].Kind != kindFrozen && maybe(0.5) {
		first := p.Tasks[0]
		first.Key, first.Reference = "", "one thing"
		for i, t := range p.Tasks {
			if i == 0 || maybe(0.7) {
				p.Tasks[i] = first
				p.Tasks[i].ID, p.Tasks[i].After, p.Tasks[i].Delay = t.ID, t.After, t.Delay
			}
		}
	}
	return p
}
