package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine/session"
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

// fairShare makes the owners of tasks take turns by the items that they process, when all slots are taken: a
// task yields at a batch boundary to a waiting one whose owner has processed fewer, if that would be
// claimed before it. It does so once for each reading of who waits: another worker may have claimed that one
// since, and the task would come and go in vain. Each worker counts for itself. An owner who comes later begins
// with the fewest items of those who are there. It is safe for concurrent use.
type fairShare struct {
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

func newFairShare(waiting func(context.Context) (map[uuid.UUID]int, error)) *fairShare {
	return &fairShare{waiting: waiting, items: make(map[uuid.UUID]int64), seen: make(map[uuid.UUID]time.Time)}
}

// age is how long ago it was last read who waits.
func (f *fairShare) age() time.Duration { return time.Since(time.Unix(0, f.read.Load())) }

// taskWaiting notes that tasks may have come: the waiting owners are read at the next batch boundary.
func (f *fairShare) taskWaiting() { f.woken.Store(true) }

// stale reports whether it is to be read again who waits.
func (f *fairShare) stale() bool {
	age := f.age()
	return age >= ownerTurn || f.woken.Load() && age >= time.Duration(f.pause.Load())
}

// add counts items that a task of an owner has processed.
func (f *fairShare) add(owner uuid.UUID, items int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.enter(owner, time.Now())
	f.items[owner] += items
}

// enter notes that an owner executes or waits. The caller has locked the turns.
func (f *fairShare) enter(owner uuid.UUID, now time.Time) {
	if _, known := f.seen[owner]; !known {
		first := true
		for _, n := range f.items {
			if first || n < f.items[owner] {
				f.items[owner], first = n, false
			}
		}
	}
	f.seen[owner] = now
}

// TurnOver reports whether a task, whose session began some time ago, must yield. Order returns its place in the
// order of claims. A session that has not executed anything yet reads nothing for this.
func (f *fairShare) turnOver(ctx context.Context, task session.Task, order func() int, began time.Time, executed bool) bool {
	switch {
	case !executed:
	case time.Since(began) < ownerTurn:
		return false
	case f.stale():
		f.refresh(ctx)
	}
	if f.age() > 2*ownerTurn {
		return false // who waited then may have had a turn since
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.enter(task.Owner, time.Now())
	if _, already := f.yielded[task.ID]; already {
		return false
	}
	own := order()
	for other, first := range f.owners {
		if other != task.Owner && first <= own && f.items[other] < f.items[task.Owner] {
			f.yielded[task.ID] = struct{}{}
			return true
		}
	}
	return false
}

// refresh reads the waiting owners. On error there are none.
func (f *fairShare) refresh(ctx context.Context) {
	if !f.reads.TryLock() {
		return // another session does it
	}
	defer f.reads.Unlock()
	f.woken.Store(false)
	began := time.Now()
	owners, err := f.waiting(ctx)
	if err != nil {
		owners = nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	f.owners, f.yielded = owners, make(map[uuid.UUID]struct{})
	f.read.Store(now.UnixNano())
	f.pause.Store(int64(min(ownerReads*now.Sub(began), ownerTurn)))
	for o := range owners {
		f.enter(o, now)
	}
	for o, at := range f.seen {
		if now.Sub(at) > ownerForgotten {
			delete(f.seen, o)
			delete(f.items, o)
		}
	}
}
