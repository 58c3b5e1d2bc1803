package maintain

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskevent"
)

// A page is removed in one transaction. The pages of tasks that nothing is removed from
// are counted: a pass gives up after some, and the next one goes on there.
const (
	cleanPage      = 500
	cleanItems     = 20_000 // recorded items of the tasks of a page
	cleanIdlePages = 10
	// cleanShare is the part of its time in which a cleaner works: it waits nine times
	// as long as a page took.
	cleanShare = 10
)

// Cleaner removes rows that have been kept for long enough. Every worker has one. The
// statements are guarded, so two of them at the same time do no harm, and the more
// workers there are, the less often each does it. It runs on one goroutine.
type Cleaner struct {
	Store  store.Runtime
	Call   time.Duration // timeout of one call
	Keep   func(kind string) store.Retention
	Events *observe.Observer
	Intervals

	// The tasks that were read last; zero: begin with the oldest. Those at the beginning may be children that stay.
	afterEnded map[string]store.EndedCursor // by kind
	afterIdle  uuid.UUID
}

// Run cleans until ctx ends.
func (c *Cleaner) Run(ctx context.Context) {
	every := c.CleanEvery
	if every <= 0 {
		return
	}
	c.afterEnded = make(map[string]store.EndedCursor)
	// The first time comes late: a worker that starts has other things to do.
	t := time.NewTimer(every + rand.N(every/4+1))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		workers, err := c.pass(ctx)
		if err != nil && ctx.Err() == nil {
			c.Events.Report(taskevent.CallFailed{Worker: c.Events.Worker, Call: taskevent.CallClean, Try: 1, Err: err})
		}
		wait := every * time.Duration(max(workers, 1))
		t.Reset(wait - wait/8 + rand.N(wait/4+1))
	}
}

// pass removes what is old, and returns how many workers there are.
func (c *Cleaner) pass(ctx context.Context) (workers int, err error) {
	found := taskevent.OldRemoved{Worker: c.Events.Worker}
	defer func() {
		if found != (taskevent.OldRemoved{Worker: c.Events.Worker}) {
			c.Events.Report(found)
		}
	}()
	err = c.short(ctx, func(ctx context.Context) error {
		ps, err := c.Store.Processes(ctx, 0)
		for _, p := range ps {
			if p.Alive() {
				workers++
			}
		}
		return err
	})
	if err != nil {
		return workers, err
	}
	err = c.pages(ctx, &found.Results, c.Store.EraseResults)
	if err == nil {
		err = c.ended(ctx, &found)
	}
	if err == nil && c.Idle > 0 {
		err = c.idle(ctx, &found)
	}
	if err == nil {
		err = c.expire(ctx, &found)
	}
	if err == nil {
		err = c.versions(ctx)
	}
	if err == nil && c.Intervals.Events > 0 {
		err = c.pages(ctx, &found.Events, func(ctx context.Context, limit int) (int, error) {
			return c.Store.PruneEvents(ctx, c.Intervals.Events, limit)
		})
	}
	if err == nil {
		err = c.unknownKinds(ctx)
	}
	return workers, err
}

// versions forgets the versions of references without tasks. While a task is kept it can be retried, and must not be taken for the newest.
func (c *Cleaner) versions(ctx context.Context) error {
	removed := 0
	return c.pages(ctx, &removed, func(ctx context.Context, limit int) (int, error) {
		return c.Store.PruneVersions(ctx, store.OldVersions{Check: func(kind string) time.Duration {
			if ended := c.Keep(kind).Ended; ended > 0 {
				return ended + store.VersionsChecked
			}
			return 0
		}, Unused: store.VersionsKept, Limit: limit})
	})
}

// unknownKinds reports kinds that no worker has, and ends their tasks when they have been unknown
// for too long.
func (c *Cleaner) unknownKinds(ctx context.Context) error {
	some := false
	err := c.short(ctx, func(ctx context.Context) error {
		kinds, found, err := c.Store.SeeUnknownKinds(ctx)
		some = found
		for _, k := range kinds {
			c.Events.Report(taskevent.KindUnknown{Worker: c.Events.Worker, Kind: k.Kind, Revision: k.Revision, Queue: k.Queue, Tasks: k.Tasks, Since: k.First})
		}
		return err
	})
	if err != nil || !some || c.UnknownKindAfter <= 0 {
		return err
	}
	ended := 0
	err = c.pages(ctx, &ended, func(ctx context.Context, limit int) (int, error) {
		ids, err := c.Store.EndUnknownKinds(ctx, c.Events.Worker, c.UnknownKindAfter, limit)
		return len(ids), err
	})
	if ended > 0 {
		c.Events.Report(taskevent.UnknownKindsEnded{Worker: c.Events.Worker, Tasks: ended})
	}
	return err
}

// pages removes pages until there is none that is full.
func (c *Cleaner) pages(ctx context.Context, removed *int, page func(ctx context.Context, limit int) (int, error)) error {
	for n := cleanPage; n == cleanPage; {
		err := c.short(ctx, func(ctx context.Context) (err error) {
			n, err = page(ctx, cleanPage)
			return err
		})
		if err != nil {
			return err
		}
		*removed += n
	}
	return nil
}

// ended removes tasks that have ended, a page of each kind in turn, so that none waits for another.
func (c *Cleaner) ended(ctx context.Context, found *taskevent.OldRemoved) error {
	var kinds []store.EndedKind
	err := c.short(ctx, func(ctx context.Context) (err error) {
		kinds, err = c.Store.EndedKinds(ctx)
		return err
	})
	if err != nil {
		return err
	}
	idle := make(map[string]int, len(kinds)) // the kinds that may have more
	for _, k := range kinds {
		if period := c.Keep(k.Kind).Ended; period > 0 && k.Age > period {
			idle[k.Kind] = 0
		}
	}
	for len(idle) > 0 {
		for kind := range idle {
			var r store.RemovedEnded
			err := c.short(ctx, func(ctx context.Context) (err error) {
				r, err = c.Store.RemoveEnded(ctx, store.EndedTasks{
					Kind: kind, Period: c.Keep(kind).Ended, After: c.afterEnded[kind], Limit: cleanPage, Items: cleanItems,
				})
				return err
			})
			if err != nil {
				return err
			}
			found.Tasks += len(r.IDs)
			if len(r.IDs) == 0 {
				idle[kind]++
			}
			c.afterEnded[kind] = r.Next
			if r.Next == (store.EndedCursor{}) {
				delete(c.afterEnded, kind)
			}
			if r.Next == (store.EndedCursor{}) || idle[kind] == cleanIdlePages {
				delete(idle, kind)
			}
		}
	}
	return nil
}

// expire ends and removes tasks as their options say.
func (c *Cleaner) expire(ctx context.Context, found *taskevent.OldRemoved) error {
	failed := 0
	defer func() {
		if failed > 0 {
			c.Events.Report(taskevent.TasksExpired{Worker: c.Events.Worker, Tasks: failed})
		}
	}()
	for more := true; more; {
		err := c.short(ctx, func(ctx context.Context) error {
			e, err := c.Store.ExpireTasks(ctx, c.Events.Worker, cleanPage, cleanItems)
			failed, found.Tasks, more = failed+len(e.Failed), found.Tasks+len(e.Removed), e.More
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// idle removes tasks that wait and that nobody wants.
func (c *Cleaner) idle(ctx context.Context, found *taskevent.OldRemoved) error {
	for idle := 0; idle < cleanIdlePages; {
		var r store.RemovedIdle
		err := c.short(ctx, func(ctx context.Context) (err error) {
			r, err = c.Store.RemoveIdle(ctx, store.WaitingTasks{
				After: c.afterIdle, Limit: cleanPage, Items: cleanItems, Keep: c.Keep, Youngest: c.Idle,
			})
			return err
		})
		if err != nil {
			return err
		}
		found.Idle += len(r.IDs)
		if len(r.IDs) == 0 {
			idle++
		}
		c.afterIdle = r.Next
		if r.Next == uuid.Nil {
			return nil
		}
	}
	return nil
}

// short makes a call to the database, and then leaves it alone for a while.
func (c *Cleaner) short(ctx context.Context, f func(ctx context.Context) error) error {
	began := time.Now()
	// The rows of a task with a million items are removed at once.
	cctx, cancel := context.WithTimeout(ctx, 6*c.Call)
	defer cancel()
	if err := f(cctx); err != nil {
		return err
	}
	sleep(ctx, (cleanShare-1)*time.Since(began))
	return ctx.Err()
}
