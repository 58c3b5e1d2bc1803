package postgres

import (
	"context"
	"crypto/md5" //nolint:gosec // as the table of the test has it
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/testkit/testdb"
)

// listed inserts tasks of a kind with a reference and key, the numbers of whose ids, which are in the order of time, are from $1 to $2. Their
// owner is the MD5 of the kind.
const listed = `INSERT INTO taskkit_queued_task (id, created_by, modified_by, owner_id, run_as_id, execution_component_name, workflow_status, execution_started_date, workflow_stopped_date, fence, workflow_status_desc, reference, unique_key)
SELECT lpad(to_hex(n), 32, '0')::uuid, o, o, o, o, $3::text, $4::text, clock_timestamp(), CASE WHEN $4::text <> 'QUEUED' THEN clock_timestamp() END, 1, 'gone: away', $5::text, $5::text
FROM (SELECT md5($3)::uuid o) x, generate_series($1::int, $2::int) n`

// listedChildren inserts tasks as [listed] does, which are children of $6 and follow it. An UPDATE would leave entries of old rows in the index
// of owners.
var listedChildren = strings.NewReplacer("unique_key)", "unique_key, parent_id, follows_id)", "$5::text, $5::text", "$5::text, $5::text, $6::uuid, $6::uuid").Replace(listed)

// listStates are the states of the statistics in which lists are planned.
var listStates = []string{"no statistics", "taken when empty", "taken of other tasks", "statistics"}

// listTables makes a table of 20,000 tasks, whose statistics are in a state.
func listTables(t *testing.T, state string) (*testdb.DB, func(query string, args ...any)) {
	t.Helper()
	db := testdb.Postgres(t)
	planStore(t, db)
	exec := execOn(t, db)
	exec("ALTER TABLE taskkit_queued_task SET (autovacuum_enabled = false)")
	exec("ALTER TABLE taskkit_queued_task DISABLE TRIGGER USER") // of the lifecycle
	switch state {
	case "taken when empty":
		exec("ANALYZE taskkit_queued_task")
	case "taken of other tasks":
		exec(listed, 1, 5000, "dead", "FAILURE", "many")
		exec("ANALYZE taskkit_queued_task")
		exec("TRUNCATE taskkit_queued_task CASCADE")
	}
	exec(listed, 1, 10_000, "ended", "COMPLETED", nil)
	exec(listed, 10_001, 20_000, "waiting", "QUEUED", nil)
	if state == "statistics" {
		exec("ANALYZE taskkit_queued_task")
	}
	return db, exec
}

// recorded returns the statement of a call of a client.
func recorded(t *testing.T, schema string, call func(context.Context, store.Client) error) (query string, args []any) {
	t.Helper()
	var r recorder
	if err := call(t.Context(), sqlbase.NewClient(&r, schema, dialect.Postgres)); !errors.Is(err, errRecorded) {
		t.Fatal(err)
	}
	return r.query, r.args
}

// eachPlan runs a statement by a custom and by a generic plan, and passes the scans of the tasks and how many buffers it read.
func eachPlan(t *testing.T, db *testdb.DB, query string, args []any, check func(mode string, s scans, buffers int)) {
	t.Helper()
	values := make([]string, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case int64:
			values[i] = strconv.FormatInt(v, 10)
		case []string:
			values[i] = "'{" + strings.Join(v, ",") + "}'"
		default:
			values[i] = fmt.Sprintf("'%s'", v)
		}
	}
	for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range []string{"SET LOCAL plan_cache_mode = " + mode, "PREPARE listed AS " + query} {
			if _, err := tx.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		execute := "EXECUTE listed"
		if len(values) > 0 {
			execute += "(" + strings.Join(values, ", ") + ")"
		}
		plan := planTree(t, tx, "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "+execute, nil)
		check(mode, scansOf(plan), int(blocksOf(plan)))
		for _, undo := range []func() error{
			func() error { _, err := tx.ExecContext(t.Context(), "DEALLOCATE listed"); return err },
			tx.Rollback,
		} {
			if err := undo(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// The end of an id is looked for in a part of the table, however many tasks have it.
func TestMatchingReadsTheNewest(t *testing.T) {
	t.Parallel()
	for _, state := range listStates {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			db, _ := listTables(t, state)
			for suffix, most := range map[string]int{
				"00ff": 500, // of no recent one
				"4e1f": 500, // of one, the second
				"1":    10,  // of many
				"":     10,
			} {
				query, args := recorded(t, db.Schema, func(ctx context.Context, c store.Client) error {
					_, err := c.Matching(ctx, suffix, 5)
					return err
				})
				fewer := strings.Replace(query, strconv.Itoa(store.MatchingRead), "1000", 1)
				if fewer == query {
					t.Fatalf("no bound in %s", query)
				}
				eachPlan(t, db, fewer, args, func(mode string, s scans, buffers int) {
					s.uses(t, mode+": "+suffix, "taskkit_queued_task_pkey")
					if n := s.rows("taskkit_queued_task_pkey"); n > 1000 || buffers > most {
						t.Errorf("%s: %q read %v tasks and %d buffers, want at most 1,000 and %d", mode, suffix, n, buffers, most)
					}
				})
			}
		})
	}
}

// ownerOf is the owner of the tasks that [listed] inserts of a kind.
func ownerOf(kind string) uuid.UUID { return md5.Sum([]byte(kind)) } //nolint:gosec // as the statement has it

// idOf is the id of the task with a number that [listed] inserts.
func idOf(n int) uuid.UUID { return uuid.MustParse(fmt.Sprintf("%032x", n)) }

// selection is a list, by which index it is read, and how many buffers that may take.
type selection struct {
	f     store.Filter
	index string
	most  int
}

// Lists by a reference, a unique key or the statuses of dead letters read what they list, whatever else the table holds and
// the statistics say.
func TestListsReadWhatTheyList(t *testing.T) {
	t.Parallel()
	failed, before := []lifecycle.Status{lifecycle.Error, lifecycle.Failure}, uuid.MustParse("00000000-0000-0000-0000-000000005000")
	const reference, key, dead, owned = "taskkit_listed_reference", "taskkit_listed_key", "taskkit_dead", "taskkit_owner"
	byKey := map[string]selection{
		"none by reference":      {store.Filter{Reference: "none"}, reference, 5},
		"few by reference":       {store.Filter{Reference: "few"}, reference, 30},
		"many by reference":      {store.Filter{Reference: "many", Limit: 10}, reference, 80},
		"a page by reference":    {store.Filter{Reference: "many", Limit: 10, Before: before}, reference, 80},
		"none by reference, all": {store.Filter{Reference: "none", Kinds: []string{"demo"}, Statuses: failed, Owner: uuid.Max, Queue: "default", Code: "gone", EndedFor: time.Hour}, reference, 5},
		"many by reference, all": {store.Filter{Reference: "many", Kinds: []string{"demo", "x"}, Statuses: lifecycle.Statuses(), Queue: "default", Limit: 10}, reference, 80},
		"none by key":            {store.Filter{UniqueKey: "none"}, key, 5},
		"few by key":             {store.Filter{UniqueKey: "few"}, key, 30},
		"many by key":            {store.Filter{UniqueKey: "many", Limit: 10}, key, 80},
		"none by both":           {store.Filter{UniqueKey: "none", Reference: "many"}, key, 5},
	}
	noDead := map[string]selection{
		"no dead letters":           {store.Filter{Statuses: failed}, dead, 10},
		"none in ERROR":             {store.Filter{Statuses: failed[:1], Kinds: []string{"demo"}}, dead, 10},
		"none with all that can be": {store.Filter{Statuses: failed, Kinds: []string{"demo"}, Queue: "default", Code: "gone", EndedFor: time.Hour, Before: uuid.Max}, dead, 10},
	}
	fewDead := map[string]selection{
		"few dead letters":    {store.Filter{Statuses: failed}, dead, 60},
		"few of a kind":       {store.Filter{Statuses: failed, Kinds: []string{"demo", "other"}}, dead, 60},
		"none of a kind":      {store.Filter{Statuses: failed, Kinds: []string{"ended"}}, dead, 20},
		"none of 1,000 kinds": {store.Filter{Statuses: failed, Kinds: manyKinds()}, dead, 20},
		"few with a code":     {store.Filter{Statuses: failed, Code: "gone", Queue: "default"}, dead, 60},
		"none with a code":    {store.Filter{Statuses: failed, Code: "other"}, dead, 60},
		"none that are old":   {store.Filter{Statuses: failed, EndedFor: time.Hour}, dead, 60},
	}
	manyDead := map[string]selection{
		"many dead letters": {store.Filter{Statuses: failed, Limit: 10}, dead, 200},
		"many of a kind":    {store.Filter{Statuses: failed, Kinds: []string{"broken"}, Limit: 10}, dead, 150},
		"a page of them":    {store.Filter{Statuses: failed, Kinds: []string{"broken"}, Limit: 10, Before: before}, dead, 150},
		"many with a code":  {store.Filter{Statuses: failed, Code: "gone", Queue: "default", Limit: 10}, dead, 200},
		"few beside many":   {store.Filter{Statuses: failed, Kinds: []string{"demo"}}, dead, 60},
		"none beside many":  {store.Filter{Statuses: failed[:1]}, dead, 30},
	}
	// An owner has three tasks, and the first of them 5,000 newer children.
	manyChildren := map[string]selection{
		"roots of an owner":      {store.Filter{Owner: ownerOf("parted"), Roots: true}, owned, 60},
		"a page of them":         {store.Filter{Owner: ownerOf("parted"), Roots: true, Limit: 2, Before: idOf(30_003)}, owned, 60},
		"roots with a status":    {store.Filter{Owner: ownerOf("parted"), Roots: true, Statuses: failed}, owned, 60},
		"roots of another":       {store.Filter{Owner: uuid.Max, Roots: true}, owned, 20},
		"dead roots of a kind":   {store.Filter{Statuses: failed, Roots: true, Kinds: []string{"parted", "x"}, Limit: 10}, dead, 80},
		"a page of its children": {store.Filter{Parent: idOf(30_001), Limit: 10}, "taskkit_child", 80},
	}
	for _, state := range listStates {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			db, exec := listTables(t, state)
			check := func(selections map[string]selection) {
				t.Helper()
				for what, c := range selections {
					query, args := recorded(t, db.Schema, func(ctx context.Context, o store.Client) error {
						_, _, err := o.Tasks(ctx, c.f)
						return err
					})
					eachPlan(t, db, query, args, func(mode string, s scans, buffers int) {
						indexes := []string{c.index, "taskkit_child", "taskkit_child_status"}
						if c.index == owned {
							indexes = append(indexes, "taskkit_in_flight", "taskkit_queued_task_pkey")
						}
						if c.index == dead {
							indexes = append(indexes, "taskkit_queued_task_pkey")
						}
						s.uses(t, mode+": "+what, indexes...)
						if buffers > c.most {
							t.Errorf("%s: %s read %d buffers, want at most %d", mode, what, buffers, c.most)
						}
					})
				}
			}
			exec(listed, 20_001, 25_000, "demo", "COMPLETED", "many")
			check(noDead)
			exec(listed, 25_001, 25_003, "demo", "FAILURE", "few")
			check(byKey)
			check(fewDead)
			exec(listed, 25_004, 30_000, "broken", "FAILURE", nil)
			check(manyDead)
			exec(listed, 30_001, 30_003, "parted", "FAILURE", nil)
			exec(listedChildren, 30_004, 35_000, "parted", "FAILURE", nil, idOf(30_001))
			check(manyChildren)
			for _, table := range []string{"taskkit_task_plan", "taskkit_task_parent"} { // few rows, which a join would read whole
				exec("INSERT INTO " + table + " (id, task_id) SELECT gen_random_uuid(), lpad(to_hex(n), 32, '0')::uuid FROM generate_series(1, 100) n")
				exec("ANALYZE " + table)
			}
			query, args := recorded(t, db.Schema, func(ctx context.Context, o store.Client) error {
				_, err := o.Children(ctx, idOf(30_001), uuid.Nil, 10, false)
				return err
			})
			eachPlan(t, db, query, args, func(mode string, s scans, buffers int) {
				s.uses(t, mode+": children", "taskkit_child")
				if n := s.rows("taskkit_child"); n > 11 || buffers > 60 {
					t.Errorf("%s: read %v children and %d buffers, want at most 11 and 60", mode, n, buffers)
				}
			})
		})
	}
}

// manyKinds are 1,000 kinds that no task has.
func manyKinds() (kinds []string) {
	for n := range 1000 {
		kinds = append(kinds, "kind"+strconv.Itoa(n))
	}
	return kinds
}

// The groups of dead letters are of the newest of each kind and status.
func TestDeadGroupsReadTheNewest(t *testing.T) {
	t.Parallel()
	for _, state := range listStates {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			db, exec := listTables(t, state)
			check := func(what string, most int, f store.Filter) {
				t.Helper()
				query, args := recorded(t, db.Schema, func(ctx context.Context, o store.Client) error {
					_, err := o.DeadGroups(ctx, f, 0)
					return err
				})
				fewer := strings.Replace(query, strconv.Itoa(store.DeadRead), "100", 1)
				if fewer == query {
					t.Fatalf("no bound in %s", query)
				}
				eachPlan(t, db, fewer, args, func(mode string, s scans, buffers int) {
					s.uses(t, mode+": "+what, "taskkit_dead")
					if n := s.rows("taskkit_dead"); n > 210 || buffers > most {
						t.Errorf("%s: %s: read %v dead letters and %d buffers, want at most 210 and %d", mode, what, n, buffers, most)
					}
				})
			}
			all := store.Filter{Kinds: []string{"broken", "demo"}, Queue: "default", Code: "gone", EndedFor: time.Hour}
			check("none", 10, store.Filter{})
			exec(listed, 25_001, 25_003, "demo", "FAILURE", nil)
			check("few", 30, store.Filter{})
			check("few by all that can be", 30, all)
			exec(listed, 25_004, 30_000, "broken", "FAILURE", nil)
			check("many", 300, store.Filter{})
			query, args := recorded(t, db.Schema, func(ctx context.Context, o store.Client) error {
				_, err := o.DeadGroups(ctx, store.Filter{}, 400)
				return err
			})
			eachPlan(t, db, query, args, func(mode string, s scans, buffers int) {
				s.uses(t, mode+": keys", "taskkit_dead")
				if n := s.rows("taskkit_dead"); n > 5 || buffers > 30 {
					t.Errorf("%s: keys: read %v dead letters and %d buffers, want at most 5 and 30", mode, n, buffers)
				}
			})
			found, err := sqlbase.NewClient(db.DB, db.Schema, dialect.Postgres).DeadGroups(t.Context(), store.Filter{}, 400)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(found.Groups); n != 2 || found.Groups[0].Tasks != 200 || found.Groups[1].Tasks != 3 || !slices.Equal(found.Truncated, []string{"broken"}) {
				t.Errorf("the groups of 400 dead letters are %+v", found)
			}
			check("many by all that can be", 300, all)
			check("none of another kind", 30, store.Filter{Kinds: []string{"ended"}})
		})
	}
}
