package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/internal/testkit/testdb"
)

// SQLite uses the same indexes. It has no statistics until somebody asks for
// them, and looks them up by the words of a condition.
func TestSQLitePlans(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	if err := migrate.Migrate(t.Context(), db.DB, ""); err != nil {
		t.Fatal(err)
	}
	s := New(db.DB, time.Second)
	owned := recordedQuery(t, func(o store.Client) error {
		_, _, err := o.Tasks(t.Context(), store.Filter{Owner: uuid.New(), Roots: true, Before: uuid.Max, Limit: 10})
		return err
	})
	items := recordedQuery(t, func(o store.Client) error {
		_, err := o.Items(t.Context(), uuid.Max, store.ItemFailed, store.ItemCursor{}, 10)
		return err
	})
	failedItems := recordedQuery(t, func(o store.Client) error {
		_, err := o.FailedItems(t.Context(), time.Unix(0, 0), store.FailedItem{Created: time.Now()}, 10)
		return err
	})
	records := recordedQuery(t, func(o store.Client) error {
		_, err := o.ItemRecords(t.Context(), "7", time.Hour, store.ItemRecord{}, 10)
		return err
	})
	rates := recordedQuery(t, func(o store.Client) error {
		_, err := o.KindRates(t.Context(), "demo", 10)
		return err
	})
	matching := recordedQuery(t, func(o store.Client) error {
		_, err := o.Matching(t.Context(), "00ff", 5)
		return err
	})
	counts := recordedQuery(t, func(o store.Client) error {
		_, _, err := o.Counts(t.Context(), "demo", 10)
		return err
	})
	queues := recordedQuery(t, func(o store.Client) error {
		_, err := o.QueueCounts(t.Context(), 10)
		return err
	})
	between := recordedQuery(t, func(o store.Client) error {
		_, _, err := o.EndedBetween(t.Context(), time.Unix(0, 0), time.Now(), 10)
		return err
	})
	approvals := recordedQuery(t, func(o store.Client) error {
		_, err := o.AwaitingApproval(t.Context(), time.Now(), time.Hour, 10)
		return err
	})
	listedBy := func(f store.Filter) string {
		return recordedQuery(t, func(o store.Client) error {
			_, _, err := o.Tasks(t.Context(), f)
			return err
		})
	}
	failed := []lifecycle.Status{lifecycle.Error, lifecycle.Failure}
	groups := recordedQuery(t, func(o store.Client) error {
		_, err := o.DeadGroups(t.Context(), store.Filter{Kinds: []string{"demo"}, Queue: "default", Code: "gone", EndedFor: time.Hour}, 0)
		return err
	})
	kinds := recordedUpkeep(t, func(b *sqlbase.Base) error {
		_, err := b.EndedKinds(t.Context())
		return err
	})
	ended := recordedUpkeep(t, func(b *sqlbase.Base) error {
		_, err := b.RemoveEnded(t.Context(), store.EndedTasks{Kind: "demo", After: store.EndedCursor{Ended: time.Now()}})
		return err
	})
	unknown := recordedUpkeep(t, func(b *sqlbase.Base) error {
		_, err := b.FindUnknownKinds(t.Context())
		return err
	})
	for name, c := range map[string]struct{ query, index string }{
		"items that have failed": {failedItems, "taskkit_item_failed ("},
		"records of an item":     {records, "taskkit_item_history (item=? AND "},
		"unknown kinds":          {unknown, "taskkit_claim (queue=? AND execution_component_name=? AND codec_revision=? AND <expr>=?)"},
		"kinds of ended tasks":   {kinds, "taskkit_ended (execution_component_name>?)"},
		"ended tasks of a kind":  {ended, "taskkit_ended (execution_component_name=? AND workflow_stopped_date>? AND workflow_stopped_date<?)"},
		"ended in a span":        {between, "taskkit_ended (execution_component_name=? AND workflow_stopped_date>? AND workflow_stopped_date<?)"},
		"end of an id":           {matching, "SCAN taskkit_queued_task USING COVERING INDEX sqlite_autoindex_taskkit_queued_task_1"},
		"queues":                 {queues, "taskkit_claim (queue>?)"},
		"kinds of queues":        {queues, "taskkit_claim (queue=? AND execution_component_name>?)"},
		"revisions of queues":    {queues, "taskkit_claim (queue=? AND execution_component_name=? AND codec_revision>?)"},
		"ranks of queues":        {queues, "taskkit_claim (queue=? AND execution_component_name=? AND codec_revision=? AND <expr>>?)"},
		"tasks of lanes":         {queues, "taskkit_claim (queue=? AND execution_component_name=? AND codec_revision=? AND <expr>=?)"},
		"in flight in queues":    {queues, "taskkit_in_flight"},
		"counts":                 {counts, "SCAN taskkit_queued_task USING INDEX sqlite_autoindex_taskkit_queued_task_1"},
		"tasks of a reference":   {listedBy(store.Filter{Reference: "r", Owner: uuid.Max, Before: uuid.Max}), "taskkit_listed_reference (<expr>=? AND id<?)"},
		"tasks of a key":         {listedBy(store.Filter{UniqueKey: "k", Reference: "r", Kinds: []string{"demo"}}), "taskkit_listed_key (<expr>=?)"},
		"dead letters":           {listedBy(store.Filter{Statuses: failed}), "taskkit_dead (<expr>=?)"},
		"keys of dead letters":   {listedBy(store.Filter{Statuses: failed}), "taskkit_dead (<expr>>?)"},
		"selected dead letters":  {listedBy(store.Filter{Statuses: failed[:1], Kinds: []string{"demo"}, Queue: "default", Code: "gone", EndedFor: time.Hour, Before: uuid.Max}), "taskkit_dead (<expr>=? AND id<?)"},
		"groups of dead letters": {groups, "taskkit_dead (<expr>=?)"},
		"tasks of a pause":       {listedBy(store.Filter{Paused: true, Before: uuid.Max}), "taskkit_paused (<expr>=? AND id<?)"},
		"tasks of an approval":   {listedBy(store.Filter{Approval: true, Owner: uuid.Max}), "taskkit_paused (<expr>=?)"},
		"approvals":              {approvals, "taskkit_paused (<expr>=? AND id<?)"},
		"claim":                  {pickNext, "taskkit_claim (queue=? AND execution_component_name=? AND codec_revision=? AND <expr>=? AND not_before<?)"},
		"claim with waits":       {pickNextWaited, "taskkit_claim (queue=? AND execution_component_name=? AND codec_revision=? AND <expr>=? AND not_before<?)"},
		"next":                   {nextQuery, "taskkit_claim (queue=? AND execution_component_name=? AND codec_revision=? AND <expr>=? AND not_before>?)"},
		"apply":                  {s.statements(applyPlan{to: lifecycle.Completed, checkpoint: true, at: true}).free, "sqlite_autoindex_taskkit_queued_task_1 (id=?)"},
		"lost": {`SELECT q.id FROM taskkit_queued_task q WHERE q.workflow_status IN ('SCHEDULING', 'EXECUTING') AND NOT EXISTS (
			SELECT 1 FROM taskkit_task_process p WHERE p.id = q.scheduled_by_process AND p.ended_date IS NULL)`, "taskkit_in_flight"},
		"claim of those that are to end": {s.SQL(requestedProbe), "taskkit_requested (control=?)"},
		"asked to stop": {`SELECT q.id FROM taskkit_queued_task q WHERE (q.control = 'DELETE' OR (q.control = 'STOP' AND q.workflow_status = 'QUEUED'))
			AND q.control = 'STOP' ORDER BY q.id`, "taskkit_requested (control=?)"},
		"asked to delete":         {"SELECT q.id FROM taskkit_queued_task q WHERE q.control = 'DELETE' ORDER BY q.id", "taskkit_requested (control=?)"},
		"tasks of an owner":       {owned, "taskkit_owner (owner_id=? AND id<?)"},
		"tasks of Running":        {listedBy(store.Filter{Running: true, Owner: uuid.Max}), "taskkit_in_flight"},
		"tasks of Running, above": {listedBy(store.Filter{Running: true, Owner: uuid.Max}), "SEARCH p USING INDEX sqlite_autoindex_taskkit_queued_task_1 (id=?)"},
		"rates of a kind":         {rates, "taskkit_rate_kind (execution_component_name=?)"},
		"items":                   {items, "taskkit_item_outcome (task_id=? AND outcome=? AND (position,id)>(?,?))"},
	} {
		c.query = s.SQL(c.query)
		var args []any
		for n := 1; strings.Count(c.query, "?") >= n; n++ {
			args = append(args, "")
		}
		if strings.Contains(c.query, "$") {
			args = make([]any, 18) // a statement may leave out some
		}
		var steps []string
		if _, err := sqlrows.Query(t.Context(), db, "EXPLAIN QUERY PLAN "+c.query, args, func(rows *sql.Rows) error {
			var (
				a, b, n int
				step    string
			)
			err := rows.Scan(&a, &b, &n, &step)
			steps = append(steps, step)
			return err
		}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plan := strings.Join(steps, "\n")
		// A claim sorts what it takes of several lanes, which is not more than its limit of each, and a list its page.
		sorts := name == "claim" || name == "claim with waits" || strings.Contains(name, "dead letters") || strings.HasPrefix(name, "tasks of ") || name == "approvals"
		if !strings.Contains(plan, c.index) || strings.Contains(plan, "SCAN taskkit_queued_task\n") || strings.Contains(plan, "TEMP B-TREE FOR ORDER BY") && !sorts {
			t.Errorf("%s: want %s in the plan:\n%s", name, c.index, plan)
		}
	}
}

// recordedQuery is the query of a call.
func recordedQuery(t *testing.T, call func(store.Client) error) string {
	t.Helper()
	var r recorder
	if err := call(sqlbase.NewClient(&r, "", dialect.SQLite)); !errors.Is(err, errRecorded) {
		t.Fatal(err)
	}
	return r.query
}

// recordedUpkeep is the query of a call of a worker.
func recordedUpkeep(t *testing.T, call func(*sqlbase.Base) error) string {
	t.Helper()
	var r recorder
	if err := call(sqlbase.New(&r, "", dialect.SQLite, nil)); !errors.Is(err, errRecorded) {
		t.Fatal(err)
	}
	return r.query
}

// recorder is a handle that records its queries.
type recorder struct{ query string }

var errRecorded = errors.New("recorded")

func (r *recorder) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return nil, errRecorded
}

func (r *recorder) QueryContext(_ context.Context, query string, _ ...any) (*sql.Rows, error) {
	r.query = query
	return nil, errRecorded
}
