package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testdb"
	"taskkit.dev/internal/workflow"
)

// Open makes a migrated store for one case.
type Open func(t *testing.T) (store.Store, *testdb.DB)

// Run runs the cases as parallel subtests: all, or those of these names.
func Run(t *testing.T, open Open, only ...string) {
	t.Helper()
	for name, f := range map[string]func(*bed){
		"InsertOne": insertOne, "InsertMany": insertMany, "InsertTexts": insertTexts, "InsertDuplicate": insertDuplicate,
		"InsertExecerOnly": insertExecerOnly, "InsertRollback": insertRollback, "InsertCoalesce": insertCoalesce,
		"InsertTimes": insertTimes, "InsertRefused": insertRefused,

		"ClaimOrder": claimOrder, "ClaimWhatIsKnown": claimWhatIsKnown, "ClaimDead": claimDead, "ClaimNext": claimNext,
		"ClaimSetsAndClears": claimSetsAndClears, "ClaimSpecSize": claimSpecSize, "ClaimersCompete": claimersCompete,

		"RequestedFirst": requestedFirst, "ClaimRequested": claimRequested, "Unstarted": unstarted, "LostUnstarted": lostUnstarted,

		"ApplyStart": applyStart, "ApplyGuards": applyGuards, "ApplyMixed": applyMixed, "ApplyTwiceOneTask": applyTwiceOneTask,
		"ApplyEndWithoutStart": applyEndWithoutStart, "ApplyControl": applyControl, "ApplyDelete": applyDelete, "ApplyTexts": applyTexts,
		"ApplyResult": applyResult, "ApplyIllegal": applyIllegal, "ApplyNumbers": applyNumbers, "ApplyEvery": applyEvery, "ApplyBegun": applyBegun,
		"Revisions": revisions,
		"Secrets":   secrets,

		"BatchCommits": batchCommits, "BatchLost": batchLost, "BatchRollsBack": batchRollsBack, "BatchKeepsTakeoverAway": batchKeepsTakeoverAway,
		"BatchOutlivesItsBegin": batchOutlivesItsBegin, "BatchIsNotTheExecutors": batchIsNotTheExecutors,
		"BatchInterrupted": batchInterrupted, "BatchGuardAtCommit": batchGuardAtCommit, "BatchLeaksRows": batchLeaksRows,
		"BatchEndsUnderStatements": batchEndsUnderStatements,

		"DeadNeverRevives": deadNeverRevives, "LeaveReleases": leaveReleases, "ReapIsTotal": reapIsTotal, "ReapGoesOn": reapGoesOn, "ReapSettles": reapSettles,
		"Processes": processes,

		"RequestEveryStatus": requestEveryStatus, "RequestPauseResume": requestPauseResume, "RequestRetry": requestRetry,
		"RequestOrphan": requestOrphan, "RequestInTransaction": requestInTransaction, "RequestNotFound": requestNotFound,

		"ListPages": listPages, "ListFilters": listFilters, "ListOwned": listOwned, "Matching": matching, "Counts": counts, "ReadNothing": readNothing,
		"Watch": watch, "WatchEnds": watchEnds,

		"AttackBySQL": attackBySQL, "AttackImmutables": attackImmutables,
	} {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, db := open(t)
			if _, ok := s.(Bare); ok && sqlOnly[name] != "" {
				t.Skip("does not apply without SQL: " + sqlOnly[name])
			}
			f(&bed{T: t, s: s, db: db})
		})
	}
}

// bed is what one case lies on.
type bed struct {
	*testing.T
	s  store.Store
	db *testdb.DB
}

// The kind and process of a case that needs but one.
const (
	kind    = "demo"
	process = "test-1-a"
)

// within bounds whatever a case waits for.
const within = 20 * time.Second

func (b *bed) ctx() context.Context {
	ctx, cancel := context.WithTimeout(b.Context(), within)
	b.Cleanup(cancel)
	return ctx
}

// ok fails the case on an error.
func (b *bed) ok(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// is fails the case unless two values are equal.
func is[T comparable](b *bed, what string, got, want T) {
	b.Helper()
	if got != want {
		b.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// task is a new task of the kind; change it before it is inserted.
func task(change ...func(*store.NewTask)) store.NewTask {
	t := store.NewTask{
		ID: uuid.Must(uuid.NewV7()), Kind: kind, Revision: 1, Spec: json.RawMessage(`{"n": 1}`),
		Owner: uuid.New(), RunAs: uuid.New(), Queue: "default", Priority: 2, Total: -1,
	}
	for _, f := range change {
		f(&t)
	}
	return t
}

// insert stores tasks and returns their ids.
func (b *bed) insert(tasks ...store.NewTask) []uuid.UUID {
	b.Helper()
	b.ok(b.submit(tasks, false))
	ids := make([]uuid.UUID, len(tasks))
	for i := range tasks {
		ids[i] = tasks[i].ID
	}
	return ids
}

// one stores a task and returns its id.
func (b *bed) one(change ...func(*store.NewTask)) uuid.UUID {
	b.Helper()
	return b.insert(task(change...))[0]
}

// enrol makes a live process that knows the kind.
func (b *bed) enrol(change ...func(*store.Process)) {
	b.Helper()
	p := store.Process{
		ID: process, Version: "test", Kinds: map[string][]int{kind: {1}}, Queues: []string{"default"},
		Slots: 10, DeadAfter: time.Hour,
	}
	for _, f := range change {
		f(&p)
	}
	b.ok(b.s.Enrol(b.ctx(), p))
}

// asks is what the process claims.
func asks(limit int, change ...func(*store.Claim)) store.Claim {
	c := store.Claim{Process: process, Queues: []string{"default"}, Kinds: map[string][]int{kind: {1}}, Limit: limit, SpecMax: 1 << 20}
	for _, f := range change {
		f(&c)
	}
	return c
}

// claim takes tasks.
func (b *bed) claim(limit int, change ...func(*store.Claim)) []store.Claimed {
	b.Helper()
	c, err := b.s.Claim(b.ctx(), asks(limit, change...))
	b.ok(err)
	return c.Tasks
}

// held stores a task and claims it.
func (b *bed) held(change ...func(*store.NewTask)) store.Claimed {
	b.Helper()
	id := b.one(change...)
	got := b.claim(1)
	if len(got) != 1 || got[0].ID != id {
		b.Fatalf("claimed %v, want task %s", got, id)
	}
	return got[0]
}

// apply makes one write.
func (b *bed) apply(w store.Write) store.Applied {
	b.Helper()
	as, err := b.s.Apply(b.ctx(), process, []store.Write{w})
	b.ok(err)
	is(b, "answers", len(as), 1)
	return as[0]
}

// read reads a task.
func (b *bed) read(id uuid.UUID) store.Task {
	b.Helper()
	t, err := b.s.Task(b.ctx(), id)
	b.ok(err)
	return t
}

// gone fails the case unless there is no such task.
func (b *bed) gone(id uuid.UUID) {
	b.Helper()
	if _, err := b.s.Task(b.ctx(), id); !errors.Is(err, store.ErrNotFound) {
		b.Fatalf("task %s: got %v, want ErrNotFound", id, err)
	}
}

// exec runs a statement past the store.
func (b *bed) exec(query string, args ...any) {
	b.Helper()
	if bare, ok := b.s.(Bare); ok {
		b.ok(bare.Exec(b.ctx(), query, args...))
		return
	}
	if _, err := b.db.ExecContext(b.ctx(), query, args...); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
}

// count runs a query for one number.
func (b *bed) count(query string, args ...any) (n int) {
	b.Helper()
	if bare, ok := b.s.(Bare); ok {
		n, err := bare.Count(b.ctx(), query, args...)
		b.ok(err)
		return n
	}
	if err := b.db.QueryRowContext(b.ctx(), query, args...).Scan(&n); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
	return n
}

// at is the SQL of a time by the database's clock, so many seconds from now.
func (b *bed) at(seconds int) string {
	if b.db.Dialect == dialect.SQLite {
		return fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '%+d seconds')", seconds)
	}
	return fmt.Sprintf("clock_timestamp() + interval '%d seconds'", seconds)
}

// request asks something of a task.
func (b *bed) request(id uuid.UUID, a store.Action) (store.Task, error) {
	return b.s.Request(b.ctx(), id, store.Request{Action: a, Reason: "because"})
}

// bring makes a new task and brings it into a status.
func (b *bed) bring(status workflow.Status, change ...func(*store.NewTask)) uuid.UUID {
	b.Helper()
	if status == workflow.Queued {
		return b.one(change...)
	}
	c := b.held(change...)
	if status != workflow.Scheduling {
		if a := b.apply(store.Write{Hold: c.Hold, To: status, Attempts: c.Attempts}); !a.OK {
			b.Fatalf("task %s did not become %s", c.ID, status)
		}
	}
	return c.ID
}
