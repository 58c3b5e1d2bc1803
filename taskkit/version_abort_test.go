package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// calls records the calls of an executor with the version of their task, in their order.
type calls struct {
	mu  sync.Mutex
	log []string
}

func (c *calls) add(call string, b *countBatch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, fmt.Sprint(call, " ", b.Spec.Items))
}

func (c *calls) all() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.log)
}

// versioning is an executor whose batches wait to be released. The batch of version 1 returns next.
func (c *calls) versioning(begun, release [3]chan struct{}, next taskkit.Next) *aborting[countSpec, countState] {
	return &aborting[countSpec, countState]{
		funcs: funcs[countSpec, countState]{execute: func(_ context.Context, b *countBatch) (taskkit.Next, error) {
			c.add("execute", b)
			close(begun[b.Spec.Items])
			<-release[b.Spec.Items]
			if b.Spec.Items == 2 {
				return taskkit.Done, nil
			}
			b.State.Next = 1
			return next, nil
		}},
		abort:  func(_ context.Context, b *countBatch) error { c.add("abort", b); return nil },
		report: func(_ context.Context, b *countBatch) (string, error) { c.add("report", b); return "", nil },
	}
}

// An older version that ends beside a newer one, or after it, for whatever reason, ends without Abort, which could undo what the newer
// has done.
func TestSupersededVersionEndsWithoutAbort(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		next    taskkit.Next
		request func(*taskkit.Client, context.Context, taskkit.ID, ...taskkit.RequestOption) (*taskkit.Task, error)
		want    []string
	}{
		"superseded": {taskkit.Later(time.Millisecond), nil, []string{"execute 1", "execute 2", "report 1", "report 2"}},
		"stopped":    {taskkit.Later(time.Hour), (*taskkit.Client).Stop, []string{"execute 1", "execute 2", "report 1", "report 2"}},
		"deleted":    {taskkit.Later(time.Hour), (*taskkit.Client).Delete, []string{"execute 1", "execute 2", "report 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				var got calls
				begun, release := [3]chan struct{}{1: make(chan struct{}), 2: make(chan struct{})}, [3]chan struct{}{1: make(chan struct{}), 2: make(chan struct{})}
				started(t, db, registered[countSpec, countState](countKind, got.versioning(begun, release, c.next)), quick(t, db))
				first := accepted(t, db, 1)
				<-begun[1]
				second := accepted(t, db, 2)
				close(release[1])
				<-begun[2]
				if c.request != nil {
					if _, err := c.request(clientOf(db), t.Context(), first); err != nil {
						t.Fatal(err)
					}
				}
				until(t, "the first has ended", func() bool {
					task, err := clientOf(db).Task(t.Context(), first)
					return errors.Is(err, taskkit.ErrNotFound) || err == nil && task.Ended()
				})
				close(release[2])
				ended(t, db, second)
				all := got.all()
				slices.Sort(all) // the first may report before the second begins
				if !slices.Equal(all, c.want) {
					t.Errorf("calls %v, want %v", all, c.want)
				}
			})
		})
	}
}

// A version that is stopped while it executes cleans up before the newer one begins. So does one that waits, while it is the newest.
func TestNewestVersionEndsWithAbort(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]taskkit.Next{"while it executes": taskkit.More, "while it waits": taskkit.Later(time.Hour)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
				var got calls
				begun, release := [3]chan struct{}{1: make(chan struct{}), 2: make(chan struct{})}, [3]chan struct{}{1: make(chan struct{}), 2: make(chan struct{})}
				started(t, db, registered[countSpec, countState](countKind, got.versioning(begun, release, next)), quick(t, db))
				first := accepted(t, db, 1)
				<-begun[1]
				var second taskkit.ID
				if next == taskkit.More {
					second = accepted(t, db, 2)
				} else {
					close(release[1])
					until(t, "the first waits", func() bool {
						task, err := clientOf(db).Task(t.Context(), first)
						return err == nil && task.Status == taskkit.StatusQueued
					})
				}
				if _, err := clientOf(db).Stop(t.Context(), first); err != nil {
					t.Fatal(err)
				}
				if next == taskkit.More {
					close(release[1])
				}
				ended(t, db, first)
				if next != taskkit.More {
					second = accepted(t, db, 2)
				}
				close(release[2])
				ended(t, db, second)
				if all, want := got.all(), []string{"execute 1", "abort 1", "report 1", "execute 2", "report 2"}; !slices.Equal(all, want) {
					t.Errorf("calls %v, want %v", all, want)
				}
			})
		})
	}
}
