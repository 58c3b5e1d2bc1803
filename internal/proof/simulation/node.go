package simulation

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
)

// node is one worker's way to the store, or a client's.
type node struct {
	*env
	label string

	state  sync.Mutex
	dead   bool
	frozen chan struct{} // closed when it goes on; nil: it runs
	ends   []context.CancelFunc
	txs    map[*nodeTx]bool

	safeMode      bool                   // it claims nothing
	due           map[string][]time.Time // when it found versions of schedules due, by the store's clock
	asked         []asked                // calls of an indicator of the user's
	readingHealth int                    // calls of ReadHealth that have not returned
	answered      map[string][]answer    // of indicators, see [Throttle]
	readings      map[uuid.UUID]reading  // what its sessions were told of the times of their tasks
	families      map[uuid.UUID]int64    // the fences with which its sessions last read the children of their tasks
}

func (w *env) node(label string) *node {
	return &node{env: w, label: label, txs: make(map[*nodeTx]bool), readings: make(map[uuid.UUID]reading), families: make(map[uuid.UUID]int64), due: make(map[string][]time.Time), answered: make(map[string][]answer)}
}

// crash ends the machine: no call of it gets through any more, and the store
// ends its transactions, soon or when they have been silent for too long.
func (n *node) crash() {
	n.state.Lock()
	defer n.state.Unlock()
	if n.dead {
		return
	}
	n.dead = true
	n.count("crash")
	n.know(func(f *facts) { f.workers = time.Now() })
	n.say("%s crashes", n.label)
	for _, end := range n.ends {
		end()
	}
	for t := range n.txs {
		t.abandon()
	}
	if n.frozen != nil {
		close(n.frozen)
		n.frozen = nil
	}
}

// onCrash calls f when the machine ends.
func (n *node) onCrash(f context.CancelFunc) {
	n.state.Lock()
	defer n.state.Unlock()
	if n.dead {
		f()
	}
	n.ends = append(n.ends, f)
}

// freeze stops the machine for a while, as SIGSTOP does. Its clock goes on.
func (n *node) freeze(d time.Duration) {
	n.state.Lock()
	if n.dead || n.frozen != nil {
		n.state.Unlock()
		return
	}
	c := make(chan struct{})
	n.frozen = c
	n.state.Unlock()
	n.say("%s stands still for %v", n.label, d)
	pass(d)
	n.state.Lock()
	defer n.state.Unlock()
	if n.frozen == c {
		close(c)
		n.frozen = nil
	}
}

func (n *node) isDead() bool {
	n.state.Lock()
	defer n.state.Unlock()
	return n.dead
}

// gate waits while the machine stands still and returns an error when it is
// dead. Deadlines do not pass on a machine that stands still: afterwards a call
// may go on as if nothing had been, and then it is one of somebody whose
// heartbeat deadline has passed meanwhile. Only a call that gives up at its deadline ends at it.
func (n *node) gate(ctx context.Context, givesUp bool) (context.Context, error) {
	n.state.Lock()
	frozen, dead := n.frozen, n.dead
	n.state.Unlock()
	if frozen != nil && !dead {
		var end <-chan struct{}
		if givesUp {
			end = ctx.Done()
		}
		select {
		case <-frozen:
		case <-end:
			return ctx, ctx.Err()
		}
		if ctx.Err() != nil && n.chance(0.7) {
			n.count("goes on past its deadline")
			ctx = context.WithoutCancel(ctx)
		}
		dead = n.isDead()
	}
	if dead {
		return ctx, errNetwork
	}
	return ctx, nil
}

// fate is what becomes of a call.
type fate int

const (
	arrives fate = iota
	lost         // it never arrives
	late         // it arrives after it was given up
	silent       // it arrives, and its answer does not
)

// fated draws the fate of a call and how long it travels.
func (n *node) fated() (f fate, there, back time.Duration) {
	p := &n.plan
	if p.Freeze > 0 && n.chance(0.01) {
		n.count("stands still in the middle of a call")
		go n.freeze(n.between(100*time.Millisecond, 3*deadAfter))
	}
	there, back = n.between(0, p.Latency), n.between(0, p.Latency)
	if n.chance(p.Stall) {
		n.count("stall")
		if n.chance(0.5) {
			there += n.between(0, 4*time.Second)
		} else {
			back += n.between(0, 4*time.Second)
		}
	}
	switch {
	case n.chance(p.Loss):
		f = lost
		if n.chance(0.5) {
			f = silent
		}
	case n.chance(p.Late):
		f = late
	}
	return f, there, back
}

// do makes one call. Its effect happens in the store at one moment; when that
// is, whether it is at all, and what of it the caller learns, is drawn.
func do[T any](ctx context.Context, n *node, what string, effect func(context.Context) (T, error)) (none T, err error) {
	givesUp := what == "Begin" // a LazyTx is locked meanwhile
	ctx, err = n.gate(ctx, givesUp)
	if err != nil {
		return none, err
	}
	f, there, back := n.fated()
	err = sleep(ctx, there)
	if err == nil {
		ctx, err = n.gate(ctx, givesUp)
	}
	if f == late || errors.Is(err, context.DeadlineExceeded) && n.chance(0.5) {
		n.arriveLate(what, func(ctx context.Context) { _, _ = effect(ctx) })
	}
	switch {
	case err != nil:
		return none, err
	case f == late:
		return none, errNetwork
	case f == lost:
		n.count(what + " lost")
		return none, errNetwork
	}
	v, err := effect(ctx)
	n.say("%s %s: %s", n.label, what, outcome(err))
	gone := sleep(ctx, back)
	if gone == nil {
		_, gone = n.gate(ctx, givesUp)
	}
	switch {
	case gone != nil:
		n.count(what + " answered too late")
		return none, gone
	case err != nil:
		return none, err
	case f == silent:
		n.count(what + " unanswered")
		return none, errNetwork
	}
	return v, nil
}

// arriveLate lets a call arrive when nobody waits for it any more.
func (n *node) arriveLate(what string, effect func(context.Context)) {
	n.count(what + " late")
	wait := n.between(0, 3*time.Second)
	go func() {
		pass(wait)
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		effect(ctx)
		n.say("%s %s: arrived late", n.label, what)
	}()
}

func outcome(err error) string {
	if err == nil {
		return "done"
	}
	return err.Error()
}

// nothing is the answer of a call that has none.
type nothing struct{}

func act(ctx context.Context, n *node, what string, effect func(context.Context) error) error {
	_, err := do(ctx, n, what, func(ctx context.Context) (nothing, error) { return nothing{}, effect(ctx) })
	return err
}
