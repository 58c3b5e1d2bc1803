package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/internal/store/sqlrows"
)

// Waiting implements [store.Workers].
func (s *Store) Waiting(ctx context.Context, c store.Claim) (waiting bool, err error) {
	query, args := waitingQuery, []any{c.Queues, sqlbase.KindRevisions(c)}
	if c.Requested {
		query = "SELECT EXISTS (SELECT FROM {s}taskkit_queued_task q" + requestedWhere("$1", "$2") + ")"
	}
	search := func(cursor ...any) error {
		_, err := sqlrows.Query(ctx, s.db, s.SQL(query), slices.Concat(args, cursor), func(rows *sql.Rows) error {
			return rows.Scan(&waiting)
		})
		return err
	}
	if c.Requested {
		err = search()
	} else if b := s.cursors.current(c); len(b.of) > 0 {
		err = search(b.args()...)
	}
	if err == nil && !waiting && !c.Requested {
		err = search(claimCursor{}.args()...)
	}
	if err != nil {
		return false, fmt.Errorf("look for waiting tasks: %w", err)
	}
	return waiting, nil
}

// waitingQuery checks whether claimQuery would find something.
var waitingQuery = "WITH " + lanes("$1", "$2", 3, false, "true", "true") + `
SELECT EXISTS (SELECT FROM waits w CROSS JOIN LATERAL (
    SELECT` + dueInLane + `
    ORDER BY q.not_before, q.id LIMIT 1
  ) t)`

// waitingOwnersQuery finds whose tasks claimQuery would find, by their ranks.
var waitingOwnersQuery = "WITH " + lanes("$1", "$2", 3, false, "true", "true") + `
SELECT DISTINCT t.owner_id, w.rank FROM waits w CROSS JOIN LATERAL (
    SELECT q.owner_id` + dueInLane + `
    ORDER BY q.not_before, q.id LIMIT ` + strconv.Itoa(store.WaitingMax) + `
  ) t`

// WaitingOwners implements [store.Workers].
func (s *Store) WaitingOwners(ctx context.Context, c store.Claim) (map[uuid.UUID]int, error) {
	return sqlbase.WaitingOwners(ctx, s.db, s.SQL(waitingOwnersQuery), append([]any{c.Queues, sqlbase.KindRevisions(c)}, s.cursors.current(c).args()...)...)
}
