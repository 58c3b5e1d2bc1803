package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
	"taskkit.dev/internal/testkit/testdb"
)

// Open makes a migrated store for one case, and the database that it is on.
type Open func(t *testing.T) (store.Store, *testdb.DB)

// Run runs the cases as parallel subtests: all, or the named ones.
func Run(t *testing.T, open Open, only ...string) {
	t.Helper()
	run(t, func(t *testing.T) *env {
		t.Helper()
		s, db := open(t)
		return &env{T: t, s: s, all: s, door: sqlBackdoor{db}, db: db, submitter: db}
	}, only)
}

// RunAsRoles is Run for a store whose calls are made by roles with few rights. Tasks are stored through the third handle; the
// second has all rights.
func RunAsRoles(t *testing.T, open func(*testing.T) (s store.Store, db, submitter *testdb.DB), only ...string) {
	t.Helper()
	run(t, func(t *testing.T) *env {
		t.Helper()
		s, db, submitter := open(t)
		return &env{T: t, s: s, all: s, door: submitting{sqlBackdoor{db}, submitter}, db: db, submitter: submitter}
	}, only)
}

// RunWithoutSQL is Run for a store that is not on a database. Cases about SQL are
// skipped.
func RunWithoutSQL(t *testing.T, open func(t *testing.T) (memstore.Double, Backdoor), only ...string) {
	t.Helper()
	run(t, func(t *testing.T) *env {
		t.Helper()
		s, door := open(t)
		return &env{T: t, s: s, door: door}
	}, only)
}

func run(t *testing.T, open func(*testing.T) *env, only []string) {
	t.Helper()
	for name, f := range map[string]func(*env){
		"InsertOne": insertOne, "InsertActor": insertActor, "InsertMany": insertMany, "InsertTexts": insertTexts, "InsertDuplicate": insertDuplicate,
		"InsertExecerOnly": insertExecerOnly, "InsertRollback": insertRollback,
		"FrozenTargets": frozenTargets, "FrozenTargetsRefused": frozenTargetsRefused, "FoundTargets": foundTargets, "FoundTargetsGuards": foundTargetsGuards, "Options": options, "Report": report,
		"Schedules": schedules, "SchedulesDue": schedulesDue, "ScheduleFires": scheduleFires, "ScheduleFiresOnce": scheduleFiresOnce, "SchedulesFire": schedulesFire, "ScheduleOverlaps": scheduleOverlaps,
		"Rates": rates, "KindRates": kindRates, "MeasuredOptions": measuredOptions, "LaterOptions": laterOptions,
		"LimitsAdmit": limitsAdmit, "LimitsIdle": limitsIdle, "LimitsTogether": limitsTogether, "LimitsWake": limitsWake, "LimitsReap": limitsReap, "RateRaised": rateRaised, "LimitsPaused": limitsPaused, "WaitingOwners": waitingOwners,
		"Derive": derive, "DeriveRefused": deriveRefused, "DeriveContinued": deriveContinued, "DeriveOfSeveral": deriveOfSeveral,
		"InsertTimes": insertTimes, "InsertRefused": insertRefused,

		"Coalesce": coalesce, "CoalesceIdentity": coalesceIdentity, "CoalesceTimes": coalesceTimes, "CoalesceRetry": coalesceRetry, "CoalesceHalfDone": coalesceHalfDone,
		"CoalesceKeys": coalesceKeys, "CoalescePaused": coalescePaused, "CoalesceRequested": coalesceRequested,
		"CoalesceTwoWaiting": coalesceTwoWaiting, "CoalesceConcurrently": coalesceConcurrently, "CoalesceRandomly": coalesceRandomly,
		"Versions": versions, "VersionsConcurrently": versionsConcurrently, "VersionsPermitted": versionsPermitted, "PruneVersions": pruneVersions,

		"ClaimOrder": claimOrder, "ClaimTries": claimTries, "ClaimWhatIsKnown": claimWhatIsKnown, "ClaimDead": claimDead, "ClaimNext": claimNext,
		"ClaimSetsAndClears": claimSetsAndClears, "ClaimSpecSize": claimSpecSize, "ClaimersCompete": claimersCompete,

		"QueuePaused": queuePaused, "QueuePauses": queuePauses, "QueueCounts": queueCounts, "EndedBetween": endedBetween, "SettingChanges": settingChanges,
		"DeadGroups": deadGroups, "DeadAsListed": deadAsListed, "Effective": effective,
		"UnknownKinds": unknownKinds, "UnknownKindsEnd": unknownKindsEnd, "UnknownKindsKnown": unknownKindsKnown, "ExpireTasks": expireTasks,

		"RequestedFirst": requestedFirst, "ClaimRequested": claimRequested, "Unstarted": unstarted, "LostUnstarted": lostUnstarted, "StalledStays": stalledStays,

		"ApplyStart": applyStart, "ApplyGuards": applyGuards, "ApplyMixed": applyMixed, "ApplyTwiceOneTask": applyTwiceOneTask,
		"ApplyEndWithoutStart": applyEndWithoutStart, "ApplyControl": applyControl, "ApplyLater": applyLater, "ApplyDelete": applyDelete, "ApplyTexts": applyTexts,
		"ApplyResult": applyResult, "ApplyIllegal": applyIllegal, "ApplyNumbers": applyNumbers, "ItemsReplaced": itemsReplaced, "ItemsInBatch": itemsInBatch, "ItemsPages": itemsPages, "FailedItems": failedItems, "ItemRecords": itemRecords, "ItemsByPosition": itemsByPosition, "ItemsDeferred": itemsDeferred, "InsertEveryField": insertEveryField,
		"LedgerPages": ledgerPages, "LedgerReplaces": ledgerReplaces, "LedgerGoes": ledgerGoes,
		"ApplyEvery": applyEvery, "ApplyBegun": applyBegun,
		"Revisions": revisions,
		"Secrets":   secrets,

		"BatchCommits": batchCommits, "BatchLost": batchLost, "BatchRollsBack": batchRollsBack, "BatchKeepsTakeoverAway": batchKeepsTakeoverAway,
		"BatchOutlivesItsBegin": batchOutlivesItsBegin, "BatchTxControl": batchTxControl, "BatchSavepoints": batchSavepoints,
		"BatchInterrupted": batchInterrupted, "BatchGuardAtCommit": batchGuardAtCommit, "BatchLeaksRows": batchLeaksRows,
		"BatchEndsUnderStatements": batchEndsUnderStatements,

		"DeadNeverRevives": deadNeverRevives, "LeaveReleases": leaveReleases, "ReapIsTotal": reapIsTotal, "ReapGoesOn": reapGoesOn, "ReapEnds": reapEnds,
		"Processes": processes, "Health": health, "PresenceAbsent": presenceAbsent, "PresenceHeld": presenceHeld,

		"RequestEveryStatus": requestEveryStatus, "RequestPauseResume": requestPauseResume, "RequestPriority": requestPriority, "RequestRetry": requestRetry, "RequestSkip": requestSkip,
		"ConditionsStopPolicy": conditionsStopPolicy, "ConditionsYield": conditionsYield, "ConditionsRequests": conditionsRequests, "ConditionsApproval": conditionsApproval,
		"RequestOrphan": requestOrphan, "RequestInTransaction": requestInTransaction, "RequestNotFound": requestNotFound,

		"ChildrenWait": childrenWait, "ChildrenWakeTwice": childrenWakeTwice, "ChildrenFail": childrenFail, "ChildrenWakeGuards": childrenWakeGuards, "ChildrenRequested": childrenRequested,
		"ChildrenPause": childrenPause, "ChildrenEnd": childrenEnd, "ChildrenInserted": childrenInserted, "ChildrenEndTogether": childrenEndTogether,
		"ChildrenRetried": childrenRetried, "RetriedParentWaits": retriedParentWaits, "ChildRetried": childRetried, "ChildDeleted": childDeleted, "ChildrenKept": childrenKept, "ParentKept": parentKept, "ChildrenCounted": childrenCounted, "SumsForgotten": sumsForgotten, "PoliciesOfParents": policiesOfParents, "RequestsOfWrites": requestsOfWrites, "PoliciesDecided": policiesDecided, "PolicyPausesToo": policyPausesToo, "ChildFailedWithPolicies": childFailedWithPolicies, "BucketOutlivesParent": bucketOutlivesParent,
		"PassOnEvery": passOnEvery, "PassOnPages": passOnPages, "PassOnDeleted": passOnDeleted, "PassOnPause": passOnPause, "PassOnOwnPause": passOnOwnPause, "PassOnChildFailed": passOnChildFailed, "PassOnBegun": passOnBegun,
		"RemovedWithParent": removedWithParent, "UnservedParent": unservedParent, "ReapParents": reapParents,

		"ListPages": listPages, "ListFilters": listFilters, "ListOwned": listOwned, "Matching": matching, "Counts": counts, "ReadNothing": readNothing,
		"PruneEvents": pruneEvents, "EraseResults": eraseResults, "RemoveEnded": removeEnded, "RemoveGuarded": removeGuarded, "RemoveIdle": removeIdle, "RemoveIdleByID": removeIdleByID, "RemovePages": removePages,
		"Watch": watch, "WatchEnds": watchEnds,

		"AttackBySQL": attackBySQL, "AttackImmutables": attackImmutables, "AttackEventPrune": attackEventPrune,
	} {
		if len(only) > 0 && !slices.Contains(only, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t)
			if e.db == nil && sqlOnly[name] != "" {
				t.Skip("does not apply without SQL: " + sqlOnly[name])
			}
			f(e)
		})
	}
}

// env is the environment of one case: a store, and what it needs beside it.
type env struct {
	*testing.T
	s         memstore.Double
	all       store.Store // nil: without SQL
	door      Backdoor
	db        *testdb.DB // nil: without SQL
	submitter *testdb.DB // stores tasks; nil: without SQL
}

// The kind and process of a case that needs but one.
const (
	kind    = "demo"
	process = "test-1-a"
)

// ops returns the part of the store for operators. Without SQL there is none, and the rest of the case is skipped.
func (e *env) ops() store.Ops {
	e.Helper()
	if e.all == nil {
		e.Skip("a store in memory counts nothing for operators")
	}
	return e.all
}

// ctx bounds whatever a case waits for.
func (e *env) ctx() context.Context { return testdb.Within(e.T) }

// ok fails the case on an error.
func (e *env) ok(err error) {
	e.Helper()
	if err != nil {
		e.Fatal(err)
	}
}

// is fails the case unless two values are equal.
func is[T any](e *env, what string, got, want T) {
	e.Helper()
	if !reflect.DeepEqual(got, want) {
		e.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// task is a new task of the kind; change it before it is inserted.
func task(change ...func(*store.NewTask)) store.NewTask {
	t := store.NewTask{
		Submitted: store.Submitted{Kind: kind, Owner: uuid.New(), RunAs: uuid.New(), Queue: "default"},
		ID:        uuid.Must(uuid.NewV7()), Revision: 1, Spec: json.RawMessage(`{"n": 1}`), Priority: 2, Total: -1,
		Options: new(store.Options),
	}
	for _, f := range change {
		f(&t)
	}
	return t
}

// insert stores tasks and returns their ids.
func (e *env) insert(tasks ...store.NewTask) []uuid.UUID {
	e.Helper()
	e.ok(e.submit(tasks, false))
	ids := make([]uuid.UUID, len(tasks))
	for i := range tasks {
		ids[i] = tasks[i].ID
	}
	return ids
}

// one stores a task and returns its id.
func (e *env) one(change ...func(*store.NewTask)) uuid.UUID {
	e.Helper()
	return e.insert(task(change...))[0]
}

// registerWorker registers a live process with the kind.
func (e *env) registerWorker(change ...func(*store.Process)) {
	e.Helper()
	p := store.Process{
		ID: process, Version: "test", Kinds: map[string][]int{kind: {1}}, Queues: []string{"default"},
		Slots: 10, DeadAfter: time.Hour,
	}
	for _, f := range change {
		f(&p)
	}
	e.ok(e.s.RegisterWorker(e.ctx(), p))
}

// claimOf is a claim of the process.
func claimOf(limit int, change ...func(*store.Claim)) store.Claim {
	c := store.Claim{Process: process, Queues: []string{"default"}, Kinds: map[string][]int{kind: {1}}, Limit: limit, SpecMax: 1 << 20}
	for _, f := range change {
		f(&c)
	}
	return c
}

// claim takes tasks.
func (e *env) claim(limit int, change ...func(*store.Claim)) []store.ClaimedTask {
	e.Helper()
	c, err := e.s.Claim(e.ctx(), claimOf(limit, change...))
	e.ok(err)
	return c.Tasks
}

// claimedTask stores a task and claims it.
func (e *env) claimedTask(change ...func(*store.NewTask)) store.ClaimedTask {
	e.Helper()
	id := e.one(change...)
	got := e.claim(1)
	if len(got) != 1 || got[0].ID != id {
		e.Fatalf("claimed %v, want task %s", got, id)
	}
	return got[0]
}

// apply makes one write.
func (e *env) apply(w store.Write) store.Applied {
	e.Helper()
	as, err := e.s.Apply(e.ctx(), process, []*store.Write{&w})
	e.ok(err)
	is(e, "answers", len(as), 1)
	return as[0]
}

// read reads a task.
func (e *env) read(id uuid.UUID) store.Task {
	e.Helper()
	t, err := e.s.Task(e.ctx(), id)
	e.ok(err)
	return t
}

// gone fails the case unless there is no such task.
func (e *env) gone(id uuid.UUID) {
	e.Helper()
	if _, err := e.s.Task(e.ctx(), id); !errors.Is(err, store.ErrNotFound) {
		e.Fatalf("task %s: got %v, want ErrNotFound", id, err)
	}
}

// exec executes a statement on the database.
func (e *env) exec(query string, args ...any) {
	e.Helper()
	if _, err := e.db.ExecContext(e.ctx(), query, args...); err != nil {
		e.Fatalf("%s: %v", query, err)
	}
}

// now is the SQL of the present time by the database's clock.
func (e *env) now() string { return sqlBackdoor{e.db}.at(0) }

// request makes a request, and checks that what Subjects has read before it decides in the same way.
func (e *env) request(id uuid.UUID, a lifecycle.Action) (store.Task, error) {
	e.Helper()
	r := store.Request{Action: a, Reason: "because"}
	subjects, err := e.s.Subjects(e.ctx(), []uuid.UUID{id})
	e.ok(err)
	want := store.ErrNotFound
	if s := subjects[id]; s != nil {
		_, want = s.Decide(r)
	}
	t, err := e.s.Request(e.ctx(), id, r)
	is(e, fmt.Sprintf("the refusal of a %s of task %s, and what Subjects says", a, id), fmt.Sprint(err), fmt.Sprint(want))
	return t, err
}

// bring makes a new task and brings it into a status.
func (e *env) bring(status lifecycle.Status, change ...func(*store.NewTask)) uuid.UUID {
	e.Helper()
	if status == lifecycle.Queued {
		return e.one(change...)
	}
	c := e.claimedTask(change...)
	if status != lifecycle.Scheduling {
		if a := e.apply(store.Write{Lease: c.Lease, To: status, Attempts: c.Attempts}); !a.OK {
			e.Fatalf("task %s did not become %s", c.ID, status)
		}
	}
	return c.ID
}
