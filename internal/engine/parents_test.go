package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// promptly is how soon a parent goes on after its wait. A reaper would wake it in some seconds.
const promptly = 500 * time.Millisecond

// family is a parent and its child, and what their executors do.
type family struct {
	store  *memstore.Store
	parent uuid.UUID
	child  func(ctx context.Context, s *session.Step) error // its only batch
	goesOn func(s *session.Step) error                      // begins each batch of the parent after a wait
	policy store.OnFailure
	rounds int                       // how many children it submits, one in a batch
	ended  atomic.Pointer[time.Time] // when a child was executed last
	atEnd  func(s *session.Step)     // reports
}

type familyState struct {
	Sent int `json:"sent"`
}

// kinds are those of the family.
func (f *family) kinds() map[string]*session.Kind {
	kind := func(name string, children bool, c session.Call) *session.Kind {
		return &session.Kind{
			Name: name, Revision: 1, Reads: []int{1}, Limit: 1, Children: children, HasReport: children,
			Open: func(session.Task, json.RawMessage) (session.Call, error) { return c, nil },
		}
	}
	return map[string]*session.Kind{"demo": kind("demo", true, parentCall{f}), "child": kind("child", false, childCall{f})}
}

// newFamily stores the parent.
func newFamily(t *testing.T) *family {
	t.Helper()
	s := memstore.New()
	s.Accept(insertItem)
	f := &family{
		store: s, parent: submit(t, s), policy: store.FailureContinues, rounds: 1,
		child: func(context.Context, *session.Step) error { return nil }, goesOn: func(*session.Step) error { return nil }, atEnd: func(*session.Step) {},
	}
	return f
}

// start starts a worker on a store.
func (f *family) start(t *testing.T, s store.Runtime) (stop func()) {
	t.Helper()
	c := config(t)
	c.Slots = 3
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- engine.New(s, f.kinds(), c).Run(ctx) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// run runs a worker on a store until the parent has ended in a status, at most for a minute.
func (f *family) run(t *testing.T, s store.Runtime, want lifecycle.Status) {
	t.Helper()
	defer f.start(t, s)()
	f.endsIn(t, want)
}

// endsIn waits until the parent has ended, at most for a minute.
func (f *family) endsIn(t *testing.T, want lifecycle.Status) {
	t.Helper()
	if task := f.wait(t, time.Minute); task.Status != want {
		t.Errorf("the parent is %s (%s %s), want %s", task.Status, task.WaitingReason, task.StatusDetail, want)
	}
}

// wait waits until the parent has ended, at most so long, and returns it.
func (f *family) wait(t *testing.T, most time.Duration) store.Task {
	t.Helper()
	for began := time.Now(); ; <-time.After(100 * time.Millisecond) {
		task, err := f.store.Task(t.Context(), f.parent)
		if err != nil {
			t.Fatal(err)
		}
		if task.Status.Terminal() || time.Since(began) > most {
			return task
		}
	}
}

type parentCall struct{ *family }

func (f parentCall) Execute(ctx context.Context, s *session.Step, raw json.RawMessage) (session.Next, json.RawMessage, error) {
	var state familyState
	if err := json.Unmarshal(raw, &state); err != nil {
		return session.Next{}, nil, err
	}
	if state.Sent > 0 {
		if err := f.goesOn(s); err != nil {
			return session.Next{}, nil, err
		}
	}
	if state.Sent >= f.rounds {
		return session.Next{Done: true}, raw, nil
	}
	state.Sent++
	child := store.NewTask{
		Submitted: store.Submitted{Kind: "child", Owner: s.Task.Owner, RunAs: s.Task.RunAs, Queue: "default", Parent: s.Task.ID},
		ID:        uuid.Must(uuid.NewV7()), Revision: 1, Spec: json.RawMessage(`{}`), Priority: 2, Total: -1,
		Options: &store.Options{Child: &store.Child{Parent: s.Task.ID, Number: int64(state.Sent)}},
	}
	if err := s.Tx.Insert(ctx, []store.NewTask{child}); err != nil {
		return session.Next{}, nil, err
	}
	out, err := json.Marshal(state)
	// Only the last wait is for all of them.
	return session.Next{AwaitChildren: true, OpenAtMost: int64(f.rounds - state.Sent), OnFailure: f.policy}, out, err
}

func (parentCall) Abort(context.Context, *session.Step, json.RawMessage) error { return nil }

func (f parentCall) Report(_ context.Context, s *session.Step, _ json.RawMessage) (json.RawMessage, error) {
	f.atEnd(s)
	return json.RawMessage(`{}`), nil
}

type childCall struct{ *family }

func (f childCall) Execute(ctx context.Context, s *session.Step, raw json.RawMessage) (session.Next, json.RawMessage, error) {
	err := f.child(ctx, s)
	now := time.Now()
	f.ended.Store(&now)
	return session.Next{Done: true}, raw, err
}

func (childCall) Abort(context.Context, *session.Step, json.RawMessage) error { return nil }

func (childCall) Report(context.Context, *session.Step, json.RawMessage) (json.RawMessage, error) {
	return nil, nil
}

// wokenPromptly checks how soon the parent was executed after the end of its child.
func (f *family) wokenPromptly(t *testing.T, at time.Time) {
	t.Helper()
	ended := f.ended.Load()
	if ended == nil || at.IsZero() {
		t.Fatal("the child or the parent was not executed")
	}
	if late := at.Sub(*ended); late > promptly {
		t.Errorf("the parent went on %v after its child had ended, want at most %v", late, promptly)
	}
}

// far is a store whose writes take a while, and that has no reaper to make a check that
// was left out.
type far struct {
	*memstore.Store

	delay time.Duration
}

func (far) Reap(context.Context, []int64) (store.Reaped, error) { return store.Reaped{}, nil }

func (s far) Apply(ctx context.Context, process string, writes []*store.Write) ([]store.Applied, error) {
	<-time.After(s.delay)
	return s.Store.Apply(ctx, process, writes)
}

func (s far) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	tx, err := s.Store.Begin(ctx, h, l)
	if err != nil {
		return nil, err
	}
	return farTx{tx, s.delay}, nil
}

type farTx struct {
	store.Tx

	delay time.Duration
}

func (t farTx) Commit(ctx context.Context, w store.Write) (store.Applied, error) {
	<-time.After(t.delay)
	return t.Tx.Commit(ctx, w)
}

// A parent is checked after the end of its child has been committed, by the group commit
// and by a transaction. A check before the commit would not see the end.
func TestParentIsCheckedAfterTheCommit(t *testing.T) {
	t.Parallel()
	for name, writes := range map[string]bool{"group": false, "transaction": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var at time.Time
				f := newFamily(t)
				f.child = func(ctx context.Context, s *session.Step) (err error) {
					<-time.After(time.Second)
					if writes {
						_, err = s.Tx.ExecContext(ctx, insertItem, "x")
					}
					return err
				}
				f.goesOn = func(*session.Step) error { at = time.Now(); return nil }
				f.run(t, far{f.store, 100 * time.Millisecond}, lifecycle.Completed)
				f.wokenPromptly(t, at)
			})
		})
	}
}

// Nobody ends a child after a wait that is over when it is committed. The parent checks itself.
func TestParentChecksItselfAfterItsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var first time.Time
		f := newFamily(t)
		f.rounds = 2 // the first wait is for one of one child
		f.child = func(context.Context, *session.Step) error {
			<-time.After(10 * time.Second)
			return nil
		}
		f.goesOn = func(*session.Step) error {
			if first.IsZero() {
				first = time.Now()
			}
			return nil
		}
		began := time.Now()
		f.run(t, far{f.store, time.Millisecond}, lifecycle.Completed)
		if late := first.Sub(began); late > promptly {
			t.Errorf("the parent went on after %v, want at most %v", late, promptly)
		}
	})
}

// lateEnd is a store in which the first end of a child is committed after the read-back, and
// before the batch is executed again.
type lateEnd struct {
	far

	child atomic.Pointer[memstore.Tx]
	used  atomic.Bool
}

func (s *lateEnd) Begin(ctx context.Context, h store.Lease, l store.TxTimeouts) (store.Tx, error) {
	if tx := s.child.Swap(nil); tx != nil {
		if err := tx.Finish(); err != nil {
			return nil, err
		}
	}
	tx, err := s.Store.Begin(ctx, h, l)
	if err != nil {
		return nil, err
	}
	return lateEndTx{tx.(*memstore.Tx), s}, nil //nolint:forcetypeassert,errcheck // that is what it begins
}

type lateEndTx struct {
	*memstore.Tx

	s *lateEnd
}

func (t lateEndTx) Commit(ctx context.Context, w store.Write) (store.Applied, error) {
	if !w.To.Terminal() || t.s.used.Swap(true) {
		return t.Tx.Commit(ctx, w)
	}
	if a, err := t.Prepare(ctx, w); err != nil || !a.OK {
		return a, err
	}
	t.s.child.Store(t.Tx)
	return store.Applied{}, &store.UnknownError{Err: errors.New("no answer")}
}

// The worker of a child learns of its end only from a read-back, which is not that after the COMMIT:
// then it had not happened yet. The parent is checked all the same.
func TestParentIsCheckedAfterReadBack(t *testing.T) {
	t.Parallel()
	// By chance the parent may be found by a poll just then: not each time.
	for range 8 {
		synctest.Test(t, func(t *testing.T) {
			var at time.Time
			f := newFamily(t)
			f.child = func(ctx context.Context, s *session.Step) error {
				_, err := s.Tx.ExecContext(ctx, insertItem, "x")
				return err
			}
			f.goesOn = func(*session.Step) error { at = time.Now(); return nil }
			f.run(t, &lateEnd{far: far{Store: f.store}}, lifecycle.Completed)
			f.wokenPromptly(t, at)
		})
	}
}

// A failed parent that is retried waits again for what it has waited for, and its executor is not
// called while the retried child is open. The child fails again, and so does the parent.
func TestRetriedParentWaitsAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFamily(t)
		f.policy = store.FailureFails
		var tries, executed atomic.Int64
		f.child = func(context.Context, *session.Step) error {
			<-time.After(3 * time.Second)
			if tries.Add(1) > 2 {
				return nil
			}
			return &classify.MarkedError{Class: lifecycle.Permanent, Code: "broken", Err: errors.New("not now")}
		}
		f.goesOn = func(s *session.Step) error {
			executed.Add(1)
			if s.Family.Open > 0 {
				t.Errorf("the parent is executed while %d children are open", s.Family.Open)
			}
			return nil
		}
		defer f.start(t, far{Store: f.store})()
		for try := range 2 {
			f.endsIn(t, lifecycle.Failure)
			if executed.Load() != 0 || tries.Load() != int64(try)+1 {
				t.Errorf("the parent was executed %d times after a wait, its child %d times", executed.Load(), tries.Load())
			}
			if _, err := f.store.Request(t.Context(), f.parent, store.Request{Action: lifecycle.ActRetry}); err != nil {
				t.Fatal(err)
			}
		}
		f.endsIn(t, lifecycle.Completed)
		if executed.Load() != 1 {
			t.Errorf("the parent was executed %d times after its wait, want once", executed.Load())
		}
	})
}

// unreadable is a store that cannot read children for a while.
type unreadable struct {
	far

	until atomic.Pointer[time.Time]
}

func (s *unreadable) Family(ctx context.Context, l store.Lease) (store.Family, error) {
	if until := s.until.Load(); until != nil && time.Now().Before(*until) {
		return store.Family{}, errors.New("the database is unreachable")
	}
	return s.Store.Family(ctx, l)
}

// A parent that is to end, and whose children cannot be read, is given back until they can.
func TestEndOfParentWaitsForItsChildrenToBeRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFamily(t)
		s := &unreadable{far: far{Store: f.store}}
		f.goesOn = func(*session.Step) error {
			until := time.Now().Add(20 * time.Second)
			s.until.CompareAndSwap(nil, &until)
			return &classify.MarkedError{Class: lifecycle.Permanent, Code: "broken", Err: errors.New("it cannot be done")}
		}
		f.run(t, s, lifecycle.Failure)
	})
}

// A parent that was stopped while it waited reports what has become of its children.
func TestReportOfStoppedParentSeesItsChildren(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFamily(t)
		f.rounds = 2
		f.child = func(_ context.Context, s *session.Step) error {
			if s.Child.Number == 1 {
				return &classify.MarkedError{Class: lifecycle.Permanent, Code: "broken", Err: errors.New("it cannot be done")}
			}
			<-time.After(10 * time.Second)
			return nil
		}
		var seen atomic.Pointer[store.Family]
		f.atEnd = func(s *session.Step) { family := *s.Family; seen.Store(&family) }
		defer f.start(t, far{Store: f.store})()
		<-time.After(5 * time.Second)
		if _, err := f.store.Request(t.Context(), f.parent, store.Request{Action: lifecycle.ActStop}); err != nil {
			t.Fatal(err)
		}
		f.endsIn(t, lifecycle.Completed)
		if got := seen.Load(); got == nil || got.Open != 0 || got.Failed != 1 {
			t.Errorf("its report sees %+v, want 1 failed child and none that is open", got)
		}
	})
}
