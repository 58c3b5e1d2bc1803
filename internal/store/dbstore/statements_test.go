package dbstore_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/workrate"
)

var update = flag.Bool("update", false, "write the statements into the golden files")

// goldenDir has a directory for each database, with a file for each call.
const goldenDir = "../testdata/sql"

// TestStatements compares the SQL of each call, as the database receives it,
// with the golden files. Run it with -update after a change of a statement, and
// review the difference.
func TestStatements(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		got := callAll(t, db)
		dir := filepath.Join(goldenDir, db.Short())
		if *update {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(dir, 0o750); err != nil {
				t.Fatal(err)
			}
		}
		for name, text := range got {
			if *update {
				if err := os.WriteFile(filepath.Join(dir, name+".sql"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		compareStatements(t, dir, got)
	})
}

// compareStatements compares the statements of all calls with the golden files.
func compareStatements(t *testing.T, dir string, got map[string]string) {
	t.Helper()
	for name, text := range got {
		file := filepath.Join(dir, name+".sql")
		want, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v: run TestStatements with -update", err)
		} else if string(want) != text {
			t.Errorf("%s differs from the statements of %s:\n%s\nrun TestStatements with -update if that is intended", file, name, text)
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.sql"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if _, ok := got[strings.TrimSuffix(filepath.Base(file), ".sql")]; !ok {
			t.Errorf("%s is of no call: remove it", file)
		}
	}
}

// callAll calls every method of the store in the course of some tasks' lives, and
// returns the statements of each call.
func callAll(t *testing.T, db *testdb.DB) map[string]string {
	t.Helper()
	if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
		t.Fatal(err)
	}
	handle, rec := testdb.Recorded(t, db)
	c := &calls{T: t, rec: rec, golden: make(map[string]string), insertInto: func(tasks []store.NewTask, notify bool) error {
		return store.Insert(t.Context(), handle, db.Schema, tasks, notify)
	}}
	c.record("check_schema", func() error { return migrate.Check(t.Context(), handle, db.Schema) })
	c.record("open", func() (err error) {
		c.s, err = dbstore.Open(t.Context(), handle, db.Schema, dbstore.Options{})
		return err
	})
	defer c.s.Release(t.Context())
	c.presence(db)
	c.inserts()
	c.worker()
	c.operator()
	c.diagnosis(db, handle)
	c.children()
	c.limits(db)
	c.schedules()
	c.messages(handle)
	return c.golden
}

// calls records the statements of calls by name.
type calls struct {
	*testing.T
	s          store.Store
	rec        *testdb.Recording
	insertInto func([]store.NewTask, bool) error
	golden     map[string]string
	done       uuid.UUID // a task that has a result
}

// record runs a call and keeps its statements.
func (c *calls) record(name string, call func() error) {
	c.Helper()
	c.rec.Take()
	if err := call(); err != nil {
		c.Fatalf("%s: %v", name, err)
	}
	var parts []string
	for _, query := range c.rec.Take() {
		part := wrapped(query) + ";\n"
		if !slices.Contains(parts, part) { // a page after a page, say
			parts = append(parts, part)
		}
	}
	c.golden[name] = "-- Written by TestStatements; each statement once, in the order of execution.\n\n" + strings.Join(parts, "\n")
}

// insert stores tasks and returns their ids.
func (c *calls) insert(name string, notify bool, tasks ...store.NewTask) []uuid.UUID {
	c.Helper()
	c.record(name, func() error { return c.insertInto(tasks, notify) })
	ids := make([]uuid.UUID, len(tasks))
	for i := range tasks {
		ids[i] = tasks[i].ID
	}
	return ids
}

// newTask returns a task of the only kind.
func newTask(change ...func(*store.NewTask)) store.NewTask {
	t := store.NewTask{
		Submitted: store.Submitted{Kind: "demo", Owner: uuid.Max, RunAs: uuid.Max, Queue: "default"},
		ID:        uuid.Must(uuid.NewV7()), Revision: 1, Spec: json.RawMessage(`{"n": 1}`), Priority: 2, Total: -1,
		Options: new(store.Options),
	}
	for _, f := range change {
		f(&t)
	}
	return t
}

// targets returns n frozen targets.
func targets(n int) *store.NewTargets {
	return &store.NewTargets{Field: "ids", Keys: func(yield func([]byte, error) bool) {
		for i := range n {
			if !yield(strconv.AppendInt(nil, int64(i), 10), nil) {
				return
			}
		}
	}}
}

// inserts records the forms of an INSERT.
func (c *calls) inserts() {
	keyed := func(key string) func(*store.NewTask) { return func(t *store.NewTask) { t.UniqueKey = key } }
	referring := func(t *store.NewTask) { t.Reference = "r" }
	full := func(n int64) func(*store.NewTask) {
		return func(t *store.NewTask) {
			text := strings.Repeat("x", int(n))
			t.Kind, t.Revision, t.Spec, t.Secrets = t.Kind+text, int(n), json.RawMessage(`{"n":"`+text+`"}`), text
			t.Owner, t.RunAs, t.Follows = uuid.New(), uuid.New(), uuid.New()
			t.Queue, t.Priority, t.Delay, t.Reason = text, int(n), time.Duration(n)*time.Hour, text
			t.UniqueKey, t.IdempotencyKey, t.Total, t.Traceparent = text, text, n, text
		}
	}
	c.insert("insert_one", false, newTask())
	c.insert("insert_many", false, newTask(), newTask())
	c.insert("insert_many_all_columns", false, newTask(full(1)), newTask(full(2)))
	c.insert("insert_with_notification", true, newTask())
	c.insert("insert_with_key", false, newTask(keyed("k")))
	c.insert("insert_many_with_keys", false, newTask(keyed("k1")), newTask(keyed("k2")))
	c.record("insert_duplicate", func() error {
		_ = c.insertInto([]store.NewTask{newTask(keyed("k"))}, false) // refused
		return nil
	})
	c.insert("insert_with_targets", false, newTask(func(t *store.NewTask) { t.Targets, t.Kind = targets(1), "frozen" }))
	c.insert("insert_with_many_targets", false, newTask(func(t *store.NewTask) { t.Targets, t.Kind = targets(19*store.TargetsPerPage), "frozen" }))
	c.insert("insert_with_options", false, newTask(func(t *store.NewTask) { t.Kind, t.Options.Approval = "approved", true }))
	c.insert("insert_with_reference", true, newTask(referring))
	c.insert("insert_merged", true, newTask(referring))
	c.insert("insert_merged_with_keys", false, newTask(referring, func(t *store.NewTask) { t.UniqueKey, t.IdempotencyKey = "m", "m" }))
	c.insert("insert_merged_version", false, newTask(referring, func(t *store.NewTask) { t.Version = new(int64(2)) }))
}

// worker records what a worker calls.
func (c *calls) worker() {
	ctx, s := c.Context(), c.s
	p := store.Process{ID: "p", Version: "v", Kinds: map[string][]int{"demo": {1}}, Queues: []string{"default", "other"}, Slots: 1, DeadAfter: time.Hour}
	c.record("register_worker", func() error { return s.RegisterWorker(ctx, p) })
	c.record("heartbeat", func() error { return s.Heartbeat(ctx, "p", false) })
	ids := c.insert("insert_many", false, newTask(), newTask(), newTask(), newTask(), newTask(), newTask(), newTask(), newTask())
	finds := c.insert("insert_finding", false, newTask(func(t *store.NewTask) { t.Targets = &store.NewTargets{Field: "ids", Finding: true} }))[0]
	claim := store.Claim{Process: "p", Queues: p.Queues, Kinds: p.Kinds, Limit: 100, SpecMax: 1 << 20}
	requested := claim
	requested.Requested = true
	c.record("waiting", func() error { _, err := s.Waiting(ctx, claim); return err })
	c.record("waiting_requested", func() error { _, err := s.Waiting(ctx, requested); return err })
	c.queues()
	var claimed []store.ClaimedTask
	c.record("claim", func() error { r, err := s.Claim(ctx, claim); claimed = r.Tasks; return err })
	if len(claimed) < len(ids) {
		c.Fatalf("claimed %d tasks, want at least %d", len(claimed), len(ids))
	}
	c.record("plan", func() error { _, err := s.Plan(ctx, ids[0]); return err })
	c.record("store_trace", func() error {
		return s.StoreTrace(ctx, store.Lease{ID: ids[0], Fence: 1}, "00-1-2-01;00-3-4-01")
	})
	c.record("targets", func() error { _, err := s.Targets(ctx, ids[0], 0, 1); return err })
	c.record("positions", func() error { _, err := s.Positions(ctx, ids); return err })
	c.record("unstarted", func() error { _, err := s.Unstarted(ctx, "p"); return err })
	apply := func(name string, writes ...store.Write) {
		c.Helper()
		c.record(name, func() error { _, err := s.Apply(ctx, "p", pointers(writes)); return err })
		for i := range writes {
			if writes[i].Checkpoint {
				claimed[i].Seq++
			}
		}
	}
	start := func(n int) store.Write {
		return store.Write{Lease: claimed[n].Lease, To: lifecycle.Executing, Attempts: claimed[n].Attempts}
	}
	step := func(n int) store.Write {
		w := start(n)
		w.Begun, w.Checkpoint, w.Revision, w.State = true, true, 1, json.RawMessage(`{"n":`+string(rune('0'+n))+`}`)
		w.Progress = lifecycle.Progress{Total: 10, Position: int64(n), Done: int64(n)}
		return w
	}
	apply("apply_start", start(0))
	apply("apply_start_many", start(0), start(1), start(2), start(3))
	apply("apply_checkpoint", step(0))
	previewed := step(0)
	previewed.Report = json.RawMessage(`{"batches":1}`)
	apply("apply_preview", previewed)
	passing := step(0)
	passing.Retried = store.Retried{Round: 1, After: 1, Upto: 3, FailRest: true}
	apply("apply_pass_of_deferred", passing)
	working := func(n int) store.Write {
		w := step(n)
		w.Lease, w.Worked = claimed[n].Lease, &store.Worked{Kind: "demo", Sample: workrate.Sample{Items: 10, Took: 5 * time.Second}}
		return w
	}
	apply("apply_rate", working(0))
	apply("apply_rate_many", working(0), working(1))
	succeeding := func(n int, replaces bool) store.Write {
		w := step(n)
		w.Lease, w.Ledger = claimed[n].Lease, store.Ledger{Keys: []string{"1", "2"}, Replaces: replaces}
		return w
	}
	apply("apply_ledger", succeeding(0, false))
	apply("apply_ledger_many", succeeding(0, false), succeeding(1, true))
	c.record("apply_found", func() error {
		n := slices.IndexFunc(claimed, func(t store.ClaimedTask) bool { return t.ID == finds })
		w := step(n)
		w.Begun, w.State = false, json.RawMessage("{}")
		w.Found = &store.Found{Pages: []store.TargetPage{{Keys: json.RawMessage("[1]")}}, Total: 1}
		_, err := s.Apply(ctx, "p", []*store.Write{&w})
		return err
	})
	apply("apply_checkpoint_many", step(0), step(1), step(2), step(3))
	failing := func(n int, failed int64) store.Write {
		w := step(n)
		w.Lease, w.Check, w.StopAfter.Failed, w.Progress.Failed = claimed[n].Lease, true, 2, failed
		for i := range failed {
			w.Items = append(w.Items, store.Item{Key: fmt.Sprint(i), Outcome: store.ItemFailed, Code: "c"})
		}
		return w
	}
	apply("apply_failing", failing(0, 1))
	apply("apply_failing_many", failing(0, 1), failing(1, 1))
	apply("apply_reaching_limit", failing(0, 2))
	c.record("apply_checked_without_items", func() error {
		w := failing(1, 1)
		w.Items = nil
		_, err := s.Apply(ctx, "p", []*store.Write{&w})
		claimed[1].Seq++
		return err
	})
	end := func(n int, to lifecycle.Status, change func(*store.Write)) store.Write {
		w := start(n)
		w.Lease, w.Begun, w.To = claimed[n].Lease, true, to
		change(&w)
		return w
	}
	apply("apply_release_with_failed_attempt", end(3, lifecycle.Queued, func(w *store.Write) {
		w.Delay, w.Reason, w.Attempt = time.Hour, "waits", &store.Attempt{Process: "p", Class: "transient", Code: "c"}
	}))
	apply("apply_end_many", end(0, lifecycle.Completed, func(w *store.Write) {
		w.Revision, w.Result = 1, json.RawMessage("{}")
		w.Checkpoint, w.State, w.Secrets = true, json.RawMessage("{}"), "/x"
		w.Items = []store.Item{{Key: "1", Outcome: store.ItemFailed, Code: "c", Attempt: 1}}
		w.Report = json.RawMessage("{}")
	}), end(1, lifecycle.Failure, func(w *store.Write) {
		w.StatusDetail = "failed"
	}))
	c.record("apply_end_many_lost", func() error {
		ended := func(*store.Write) {}
		_, err := s.Apply(ctx, "p", []*store.Write{new(end(0, lifecycle.Completed, ended)), new(end(1, lifecycle.Completed, ended))})
		return err
	})
	c.done = claimed[0].ID
	c.batches(claimed)
	c.record("request_stop_in_flight", func() error {
		_, err := s.Request(ctx, claimed[5].ID, store.Request{Action: lifecycle.ActStop, Reason: "because"})
		return err
	})
	c.record("request_delete_in_flight", func() error {
		_, err := s.Request(ctx, claimed[6].ID, store.Request{Action: lifecycle.ActDelete})
		return err
	})
	c.record("request_stop_again", func() error {
		_, err := s.Request(ctx, claimed[7].ID, store.Request{Action: lifecycle.ActStop})
		return err
	})
	apply("apply_end_of_stopped", end(7, lifecycle.Completed, func(w *store.Write) { w.Begun, w.Partial = false, true }))
	apply("apply_end_of_deleted", end(6, lifecycle.Completed, func(w *store.Write) { w.Begun = false }))
	apply("apply_start_of_stopped", start(5))
	c.record("apply_checkpoint_of_stopped", func() error { _, err := s.Apply(ctx, "p", []*store.Write{new(step(5))}); return err })
	claimed[5].Seq++
	apply("apply_yield", end(5, lifecycle.Queued, func(w *store.Write) { w.Delay, w.Begun = -1, false }))
	c.record("claim_requested", func() error { _, err := s.Claim(ctx, requested); return err })
	c.afterFailures(claim)
	c.record("deregister", func() error { return s.Deregister(ctx, "p") })
	c.record("reap", func() error { _, err := s.Reap(ctx, []int64{1 << 62}); return err })
}

// batches records the transactions of batches.
func (c *calls) batches(claimed []store.ClaimedTask) {
	ctx, timeouts := c.Context(), store.TxTimeouts{Idle: time.Minute, Statement: time.Minute, Lock: time.Minute}
	var tx store.Tx
	begin := func() (err error) { tx, err = c.s.Begin(ctx, claimed[4].Lease, timeouts); return err }
	c.record("begin", begin)
	c.record("savepoint", func() error { return tx.Savepoint(ctx, "s") })
	c.record("rollback_to", func() error { return tx.RollbackTo(ctx, "s") })
	c.record("renew_savepoint", func() error { return tx.RenewSavepoint(ctx, "s") })
	c.record("release_savepoint", func() error { return tx.ReleaseSavepoint(ctx, "s") })
	c.record("rollback", func() error { tx.Rollback(); return nil })
	if err := begin(); err != nil {
		c.Fatal(err)
	}
	c.record("statement_after_failed_one", func() error {
		_, _ = tx.ExecContext(ctx, "SELECT no_such_column")
		_, _ = tx.ExecContext(ctx, "SELECT 1") // refused by PostgreSQL
		return nil
	})
	tx.Rollback()
	if err := begin(); err != nil {
		c.Fatal(err)
	}
	w := store.Write{
		Lease: claimed[4].Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage("{}"),
		Progress: lifecycle.Progress{Total: -1}, Attempts: 1, Renew: true,
	}
	commit := func() error {
		_, err := tx.Commit(ctx, w)
		return err
	}
	c.record("commit", commit)
	claimed[4].Seq++
	if err := begin(); err != nil {
		c.Fatal(err)
	}
	w.Lease, w.To, w.Result = claimed[4].Lease, lifecycle.Completed, json.RawMessage("1")
	c.record("commit_end_with_result", commit)
}

// operator records what clients call.
func (c *calls) operator() {
	ctx, s := c.Context(), c.s
	id := c.insert("insert_one", false, newTask())[0]
	for _, a := range []lifecycle.Action{lifecycle.ActPause, lifecycle.ActResume, lifecycle.ActStop, lifecycle.ActDelete} {
		c.record("request_"+string(a), func() error {
			_, err := s.Request(ctx, id, store.Request{Action: a, Actor: uuid.Max, Reason: "because"})
			return err
		})
	}
	limited := c.insert("insert_one", false, newTask())[0]
	for range 2 {
		c.record("request_limit", func() error {
			_, err := s.Request(ctx, limited, store.Request{Action: lifecycle.ActChange, StopAfter: lifecycle.StopPolicy{Failed: 1}})
			return err
		})
	}
	c.record("request_priority", func() error {
		_, err := s.Request(ctx, limited, store.Request{Action: lifecycle.ActChange, Priority: 1})
		return err
	})
	approved := c.insert("insert_with_options", false, newTask(func(t *store.NewTask) { t.Kind, t.Options.Approval = "approved", true }))[0]
	c.record("request_approve", func() error {
		_, err := s.Request(ctx, approved, store.Request{Action: lifecycle.ActApprove, Actor: uuid.New()})
		return err
	})
	c.record("task_options", func() error { _, err := s.TaskOptions(ctx, approved); return err })
	failed, _, err := s.Tasks(ctx, store.Filter{Statuses: []lifecycle.Status{lifecycle.Failure}})
	if err != nil || len(failed) == 0 {
		c.Fatalf("%d failed tasks, %v", len(failed), err)
	}
	c.record("request_retry", func() error {
		_, err := s.Request(ctx, failed[0].ID, store.Request{Action: lifecycle.ActRetry, Skip: true})
		return err
	})
	of := c.done
	c.record("task", func() error { _, err := s.Task(ctx, of); return err })
	c.record("tasks", func() error { _, _, err := s.Tasks(ctx, store.Filter{}); return err })
	c.record("tasks_filtered", func() error {
		_, _, err := s.Tasks(ctx, store.Filter{
			IDs: []uuid.UUID{of}, Kinds: []string{"demo"}, Statuses: lifecycle.Statuses(), Queue: "default",
			Reference: "r", UniqueKey: "k", Parent: of, Follows: of, Previews: true, Before: uuid.Max, Limit: 10,
		})
		return err
	})
	c.record("tasks_roots", func() error { _, _, err := s.Tasks(ctx, store.Filter{Roots: true, Limit: 1}); return err })
	c.record("tasks_of_owner", func() error {
		_, _, err := s.Tasks(ctx, store.Filter{Owner: uuid.Max, Roots: true, Before: uuid.Max, Limit: 10})
		return err
	})
	c.record("tasks_running", func() error {
		_, _, err := s.Tasks(ctx, store.Filter{Owner: uuid.Max, Roots: true, Running: true})
		return err
	})
	c.record("tasks_of_reference", func() error {
		_, _, err := s.Tasks(ctx, store.Filter{Reference: "r", Owner: uuid.Max, Kinds: []string{"demo"}, Before: uuid.Max, Limit: 10})
		return err
	})
	c.record("tasks_of_key", func() error { _, _, err := s.Tasks(ctx, store.Filter{UniqueKey: "k", Reference: "r"}); return err })
	c.record("matching", func() error { _, err := s.Matching(ctx, "00", 10); return err })
	c.record("result", func() error { _, _, err := s.Result(ctx, of); return err })
	c.record("fetch", func() error { _, _, err := s.Fetch(ctx, of); return err })
	c.record("result_absent", func() error { _, _, err := s.Result(ctx, failed[0].ID); return err })
	c.record("deferred", func() error { _, _, err := s.Deferred(ctx, of, 0, 10); return err })
	c.record("subjects", func() error { _, err := s.Subjects(ctx, []uuid.UUID{of, failed[0].ID}); return err })
	c.record("rate", func() error { _, err := s.Rate(ctx, of); return err })
	c.record("kind_rates", func() error { _, err := s.KindRates(ctx, "demo", 10); return err })
	c.record("items", func() error { _, err := s.Items(ctx, of, store.ItemFailed, store.ItemCursor{}, 10); return err })
	c.record("failed_items", func() error {
		_, err := s.FailedItems(ctx, time.Unix(0, 0), store.FailedItem{Created: time.Unix(1<<32, 0)}, 10)
		return err
	})
	c.record("item_records", func() error {
		_, err := s.ItemRecords(ctx, "1", time.Hour, store.ItemRecord{}, 10)
		return err
	})
	c.record("recorded", func() error { _, err := s.Recorded(ctx, of, []string{"1", "2"}); return err })
	c.record("ledger", func() error { _, err := s.Ledger(ctx, of, -1, 10); return err })
	c.record("ledger_items", func() error { _, err := s.LedgerItems(ctx, of); return err })
	c.record("derive", func() error {
		_, err := s.Derive(ctx, of, true, func(o store.Origin) (store.NewTask, error) {
			t := o.Follow()
			t.IdempotencyKey = store.ContinuationKey(of)
			t.Start = store.Start{State: json.RawMessage(`{"a":1}`), SpecRevision: t.Revision + 1, Position: 3}
			return t, nil
		})
		return err
	})
	c.record("attempts", func() error { _, err := s.Attempts(ctx, of, 10); return err })
	c.record("events", func() error { _, err := s.Events(ctx, of, 10); return err })
	c.record("prune_events", func() error { _, err := s.PruneEvents(ctx, time.Nanosecond, 10); return err })
	c.record("processes", func() error { _, err := s.Processes(ctx, time.Hour); return err })
	c.record("counts", func() error { _, _, err := s.Counts(ctx, "", store.CountRead); return err })
	c.record("counts_of_kind", func() error { _, _, err := s.Counts(ctx, "demo", store.CountRead); return err })
	c.pruneVersions()
	c.record("erase_results", func() error { _, err := s.EraseResults(ctx, 10); return err })
	c.record("ended_kinds", func() error { _, err := s.EndedKinds(ctx); return err })
	c.record("remove_ended", func() error {
		p := store.EndedTasks{Kind: "demo", Period: time.Nanosecond, Limit: 1}
		for {
			r, err := s.RemoveEnded(ctx, p)
			if p.After = r.Next; err != nil || r.Next == (store.EndedCursor{}) {
				return err
			}
		}
	})
	c.record("remove_idle", func() error {
		r, err := s.RemoveIdle(ctx, store.WaitingTasks{Limit: 100, Keep: func(string) store.Retention { return store.Retention{Idle: time.Nanosecond} }})
		if err == nil && len(r.IDs) == 0 {
			err = errors.New("no task was removed")
		}
		return err
	})
}
