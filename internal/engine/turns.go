package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

const (
	// ownerTurn is how long a task executes at least before it yields to one of another owner.
	ownerTurn = time.Second
	// ownerReads: a wake-up lets a worker read who waits before a turn is over, but a reading takes a hundredth
	// of the time at most.
	ownerReads = 100
	// ownerForgotten is how long an owner is remembered who neither executes nor waits.
	ownerForgotten = time.Minute
)

// turns let the owners of tasks take turns by the items that they process, when all slots are taken: a
// task yields at a batch boundary to a waiting one whose owner has processed fewer, if that would be
// claimed before it. It does so once for each reading of who waits: another worker may have claimed that one
// since, and the task would come and go in vain. Each worker counts for itself. An owner who comes later begins
// with the fewest items of those who are there. It is safe for concurrent use.
type turns struct {
	waiting func(ctx context.Context) (map[uuid.UUID]int, error) // owners of tasks that wait, see [store.Store]
	reads   sync.Mutex                                           // of the session that reads them
	read    atomic.Int64                                         // when they were last read, as Unix nanoseconds
	pause   atomic.Int64                                         // so long there is no other reading, in nanoseconds
	woken   atomic.Bool                                          // tasks may have come since

	mu     sync.Mutex
	items  map[uuid.UUID]int64
	seen   map[uuid.UUID]time.Time // when an owner last executed or waited
	owners map[uuid.UUID]int       // who waited when that was last read, with the place of the first task
	// yielded are the tasks that have yielded since then.
	yielded map[uuid.UUID]struct{}
}

func newTurns(waiting func(context.Context) (map[uuid.UUID]int, error)) *turns {
	return &turns{waiting: waiting, items: make(map[uuid.UUID]int64), seen: make(map[uuid.UUID]time.Time)}
}

// age is how long ago it was last read who waits.
func (t *turns) age() time.Duration { return time.Since(time.Unix(0, t.read.Load())) }

// taskWaiting says that tasks may have come: who waits is read at the next batch boundary.
func (t *turns) taskWaiting() { t.woken.Store(true) }

// stale reports whether it is to be read again who waits.
func (t *turns) stale() bool {
	age := t.age()
	return age >= ownerTurn || t.woken.Load() && age >= time.Duration(t.pause.Load())
}

// add counts items that a task of an owner has processed.
func (t *turns) add(owner uuid.UUID, items int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.enter(owner, time.Now())
	t.items[owner] += items
}

// enter notes that an owner executes or waits. The caller has locked the turns.
func (t *turns) enter(owner uuid.UUID, now time.Time) {
	if _, known := t.seen[owner]; !known {
		first := true
		for _, n := range t.items {
			if first || n < t.items[owner] {
				t.items[owner], first = n, false
			}
		}
	}
	t.seen[owner] = now
}

// over reports whether a task, whose session began some time ago, must yield. Order returns its place in the
// order of claims. A session that has not executed anything yet reads nothing for this.
func (t *turns) over(ctx context.Context, task Task, order func() int, began time.Time, executed bool) bool {
	switch {
	case !executed:
	case time.Since(began) < ownerTurn:
		return false
	case t.stale():
		t.refresh(ctx)
	}
	if t.age() > 2*ownerTurn {
		return false // who waited then may have had a turn since
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.enter(task.Owner, time.Now())
	if _, already := t.yielded[task.ID]; already {
		return false
	}
	own := order()
	for other, first := range t.owners {
		if other != task.Owner && first <= own && t.items[other] < t.items[task.Owner] {
			t.yielded[task.ID] = struct{}{}
			return true
		}
	}
	return false
}

// refresh reads who waits. Without an answer nobody does.
func (t *turns) refresh(ctx context.Context) {
	if !t.reads.TryLock() {
		return // another session does it
	}
	defer t.reads.Unlock()
	t.woken.Store(false)
	began := time.Now()
	owners, err := t.waiting(ctx)
	if err != nil {
		owners = nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	t.owners, t.yielded = owners, make(map[uuid.UUID]struct{})
	t.read.Store(now.UnixNano())
	t.pause.Store(int64(min(ownerReads*now.Sub(began), ownerTurn)))
	for o := range owners {
		t.enter(o, now)
	}
	for o, at := range t.seen {
		if now.Sub(at) > ownerForgotten {
			delete(t.seen, o)
			delete(t.items, o)
		}
	}
}
