package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/filters"
)

// listIndexes are those that lists may be read from.
var listIndexes = []string{
	"taskkit_queued_task_pkey", "taskkit_owner", "taskkit_in_flight", "taskkit_listed_reference", "taskkit_listed_key",
	"taskkit_child", "taskkit_child_status", "taskkit_follows", "taskkit_dead", "taskkit_paused",
}

// Each filter and each pair of filters reads no more than a bounded part of the table, in an order that an index has, whether many, few
// or no tasks match, and whatever the statistics say.
func TestFiltersReadABoundedPart(t *testing.T) {
	t.Parallel()
	ids := func(from, n int) (ids []uuid.UUID) {
		for i := range n {
			ids = append(ids, idOf(from+i))
		}
		return ids
	}
	values := filters.Values(
		filters.Tasks{
			IDs: ids(15_000, 200), Kind: "ended", Queue: "default", Key: "many", Code: "gone", Statuses: []lifecycle.Status{lifecycle.Completed, lifecycle.Failure},
			Owner: ownerOf("ended"), Parent: ids(1, 1)[0], Before: ids(24_000, 1)[0], EndedFor: time.Microsecond,
		},
		filters.Tasks{
			IDs: ids(25_001, 3), Kind: "demo", Queue: "few", Key: "few", Code: "rare", Statuses: []lifecycle.Status{lifecycle.Executing, lifecycle.Scheduling},
			Owner: ownerOf("demo"), Parent: ids(2, 1)[0], Before: ids(4, 1)[0], EndedFor: time.Minute,
		},
		filters.Tasks{
			IDs: ids(1_000_000, 3), Kind: "none", Queue: "none", Key: "none", Code: "none", Statuses: []lifecycle.Status{lifecycle.Error},
			Owner: ownerOf("none"), Parent: ids(1_000_000, 1)[0], Before: ids(1, 1)[0], EndedFor: time.Hour,
		},
	)
	const searched = 300
	for _, state := range listStates {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			db, exec := listTables(t, state)
			exec(listedChildren, 20_001, 25_000, "ended", "FAILURE", "many", idOf(1))
			exec(listed, 25_001, 25_003, "demo", "FAILURE", "few")
			exec("UPDATE taskkit_queued_task SET parent_id = $1, follows_id = $1, queue = 'few', workflow_status_desc = 'rare: code' WHERE reference = 'few'", idOf(2))
			exec("UPDATE taskkit_queued_task SET workflow_status = 'EXECUTING', workflow_stopped_date = NULL WHERE id = $1", idOf(25_001))
			exec("UPDATE taskkit_queued_task SET control = 'PAUSE' WHERE id BETWEEN $1 AND $2", idOf(12_001), idOf(16_000))
			exec("UPDATE taskkit_queued_task SET control = 'PAUSE', control_reason = $1 WHERE id IN ($2, $3)", lifecycle.ReasonApproval+"first", idOf(12_500), idOf(19_000))
			check := func(name, query string, args []any) {
				t.Helper()
				// Paused tasks have 1, 2 or 4 parts.
				for most, part := range map[int]int{store.ListRead: 1, store.ListRead / 2: 2, store.ListRead / 4: 4, store.DeadSearch: 1, store.DeadSearchMany: 1} {
					for _, form := range []string{"LIMIT %d)", "= %d AS last"} {
						query = strings.ReplaceAll(query, fmt.Sprintf(form, most), fmt.Sprintf(form, searched/part))
					}
				}
				eachPlan(t, db, query, args, func(mode string, s scans, buffers int) {
					s.uses(t, mode+": "+name, listIndexes...)
					read := 0.0
					for _, index := range listIndexes {
						read += s.rows(index)
					}
					// A child is looked for of each task of the page, and a row of the index of dead letters of each kind.
					if read > searched+3*100 || buffers > 6*searched {
						t.Errorf("%s: %s read %v tasks and %d buffers", mode, name, read, buffers)
					}
				})
			}
			filters.Pairs(values, func(name string, f store.Filter) {
				query, args := recorded(t, db.Schema, func(ctx context.Context, c store.Client) error {
					_, _, err := c.TaskRefs(ctx, f)
					return err
				})
				// A list that no index has is bounded by a number of its statement. The others read what their index has.
				if all := strings.Contains(query, `AS "q" WHERE "q"."id" <`) || strings.Contains(query, `AS "q" ORDER BY "q"."id" DESC`); all == f.Indexed() {
					t.Errorf("%s is read among all tasks: %t", name, all)
				}
				check(name+": refs", query, args)
				query, args = recorded(t, db.Schema, func(ctx context.Context, c store.Client) error {
					_, _, err := c.Tasks(ctx, f)
					return err
				})
				check(name, query, args)
			})
		})
	}
}
