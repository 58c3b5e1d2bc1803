package engine

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// queueSlots counts the tasks that a worker has of queues for which it has only so many slots, from their claim until they leave
// their slot. Nil: it has no such queues. It is safe for concurrent use.
type queueSlots struct {
	most map[string]int

	mu    sync.Mutex
	tasks map[claimedFence]string // their queues
	used  map[string]int
}

// claimedFence identifies a claim: a task may be claimed again before the session of its last claim has left its slot.
type claimedFence struct {
	id    uuid.UUID
	fence int64
}

func newQueueSlots(most map[string]int) *queueSlots {
	if len(most) == 0 {
		return nil
	}
	return &queueSlots{most: most, tasks: make(map[claimedFence]string), used: make(map[string]int)}
}

// enter counts a task that was claimed.
func (q *queueSlots) enter(t store.ClaimedTask) {
	if q == nil || q.most[t.Queue] == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.tasks[claimedFence{t.ID, t.Fence}] = t.Queue
	q.used[t.Queue]++
}

// exit counts a task no longer, if it was counted.
func (q *queueSlots) exit(l store.Lease) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	claim := claimedFence{l.ID, l.Fence}
	if queue, ok := q.tasks[claim]; ok {
		delete(q.tasks, claim)
		q.used[queue]--
	}
}

// free returns how many more tasks of a queue that has slots of its own may be claimed.
func (q *queueSlots) free(queue string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.most[queue] - q.used[queue]
}

// split divides queues into those without slots of their own, which are claimed from together, and each of the others.
func (q *queueSlots) split(queues []string) (groups [][]string) {
	var open []string
	for _, name := range queues {
		if q.most[name] > 0 {
			groups = append(groups, []string{name})
		} else {
			open = append(open, name)
		}
	}
	if len(open) > 0 {
		groups = append(groups, open)
	}
	return groups
}

// claimSplit claims up to n tasks, from the queues with slots of their own one by one. Each round begins with the next of them. queueFull
// reports whether a queue has no free slot now: more may wait there.
func (c *claimer) claimSplit(ctx context.Context, n int) (found store.ClaimResult, queueFull bool, err error) {
	q := c.pool.queues
	found.Next = -1
	groups := q.split(c.claim.Queues)
	for i := range groups {
		claim := c.claim
		claim.Queues = groups[(i+c.claims)%len(groups)]
		claim.Limit = n - len(found.Tasks)
		own := q.most[claim.Queues[0]] > 0
		if own {
			claim.Limit = min(claim.Limit, q.free(claim.Queues[0]))
		}
		if claim.Limit > 0 {
			r, err := c.claimFrom(ctx, claim)
			if err != nil {
				return store.ClaimResult{}, false, err
			}
			found.Tasks = append(found.Tasks, r.Tasks...)
			found.Paused = found.Paused || r.Paused
			if r.Next >= 0 && len(r.Tasks) < claim.Limit && (found.Next < 0 || r.Next < found.Next) {
				found.Next = r.Next
			}
		}
		queueFull = queueFull || own && q.free(claim.Queues[0]) <= 0
	}
	return found, queueFull, nil
}
