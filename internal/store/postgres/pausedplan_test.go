package postgres

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
)

// secondQuery is a recorder of the second query of a call. The first one is executed.
type secondQuery struct {
	recorder
	db    *sql.DB
	asked bool
}

func (s *secondQuery) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if !s.asked {
		s.asked = true
		return s.db.QueryContext(ctx, query, args...)
	}
	return s.recorder.QueryContext(ctx, query, args...)
}

// What is read of paused tasks, and of those that wait for approval, is read from their index, and no more than is returned, whatever else waits
// or is paused.
func TestPausedTasksReadWhatTheyList(t *testing.T) {
	t.Parallel()
	for _, state := range listStates {
		t.Run(state, func(t *testing.T) {
			t.Parallel()
			db, exec := listTables(t, state)
			list := func(f store.Filter) (string, []any) {
				return recorded(t, db.Schema, func(ctx context.Context, c store.Client) error { _, _, err := c.Tasks(ctx, f); return err })
			}
			count := func() (string, []any) {
				r := secondQuery{db: db.DB}
				if _, err := sqlbase.NewClient(&r, db.Schema, dialect.Postgres).WaitingCauses(t.Context(), 1000); err == nil {
					t.Fatal("no second query")
				}
				fewer := strings.Replace(r.query, "LIMIT "+strconv.Itoa(store.ListRead), "LIMIT 100", 1)
				if fewer == r.query {
					t.Fatalf("no bound in %s", r.query)
				}
				return fewer, r.args
			}
			check := func(what string, most float64, buffers int, query string, args []any) {
				t.Helper()
				eachPlan(t, db, query, args, func(mode string, s scans, read int) {
					s.uses(t, mode+": "+what, "taskkit_paused", "taskkit_child", "taskkit_child_status")
					if n := s.rows("taskkit_paused"); n > most || read > buffers {
						t.Errorf("%s: %s: read %v paused tasks and %d buffers, want at most %v and %d", mode, what, n, read, most, buffers)
					}
				})
			}
			checkAll := func(what string, approvals, paused float64) {
				t.Helper()
				for name, f := range map[string]store.Filter{
					"approvals": {Approval: true, Limit: 10}, "approvals without parents": {Approval: true, Roots: true, Limit: 10},
					"approvals of a kind": {Approval: true, Kinds: []string{"waiting"}, Limit: 10},
				} {
					query, args := list(f)
					check(what+": "+name, approvals, 60, query, args)
				}
				query, args := list(store.Filter{Paused: true, Roots: true, Limit: 10})
				check(what+": paused", min(paused, 20)+approvals, 160, query, args)
				query, args = count()
				check(what+": counts", min(paused, 300)+approvals+4, 600, query, args) // the rows of each of the four keys are rounded
			}
			checkAll("none", 0, 0)
			exec("UPDATE taskkit_queued_task SET control = 'PAUSE', control_reason = $1 WHERE id IN ($2, $3, $4)", lifecycle.ReasonApproval+"first", idOf(10_001), idOf(15_000), idOf(20_000))
			checkAll("few", 3, 0)
			exec("UPDATE taskkit_queued_task SET control = 'PAUSE' WHERE id BETWEEN $1 AND $2", idOf(15_001), idOf(19_000))
			exec(listedChildren, 20_001, 25_000, "waiting", "QUEUED", nil, idOf(10_002))
			exec("UPDATE taskkit_queued_task SET control = 'PAUSE', control_reason = $1 WHERE parent_id IS NOT NULL", lifecycle.ReasonParent)
			checkAll("many", 3, 9000)
			if state == "statistics" {
				exec("ANALYZE taskkit_queued_task")
				checkAll("many, with statistics", 3, 9000)
			}
		})
	}
}
