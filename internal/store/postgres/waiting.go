package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
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
var waitingQuery = `WITH ` + openQueues("$1", 3, "true") + `
SELECT EXISTS (
  SELECT FROM (VALUES ` + rankRows(false) + `) r(place, rank)
  CROSS JOIN open u` + joinCursor + `
  CROSS JOIN LATERAL (
    SELECT FROM {s}taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = u.queue AND ` + lifecycle.PostgresRank("q.") + ` = r.rank
      AND q.not_before <= statement_timestamp() AND ` + aboveCursor + `
      AND nullif(q.execution_component_name || ' ' || q.codec_revision::text = ANY((SELECT $2::text[])::text[]), false) IS NOT NULL
    ORDER BY q.not_before LIMIT 1
  ) t WHERE ` + probed + `)`

// waitingOwnersQuery finds whose tasks claimQuery would find, by their ranks.
var waitingOwnersQuery = `WITH ` + openQueues("$1", 3, "true") + `
SELECT DISTINCT t.owner_id, r.rank FROM (VALUES ` + rankRows(false) + `) r(place, rank)
  CROSS JOIN open u` + joinCursor + `
  CROSS JOIN LATERAL (
    SELECT q.owner_id FROM {s}taskkit_queued_task q
    WHERE q.workflow_status = 'QUEUED' AND q.control <> 'PAUSE'
      AND q.queue = u.queue AND ` + lifecycle.PostgresRank("q.") + ` = r.rank
      AND q.not_before <= statement_timestamp() AND ` + aboveCursor + `
      AND nullif(q.execution_component_name || ' ' || q.codec_revision::text = ANY((SELECT $2::text[])::text[]), false) IS NOT NULL
    ORDER BY q.not_before LIMIT ` + strconv.Itoa(store.WaitingMax) + `
  ) t WHERE ` + probed

// WaitingOwners implements [store.Workers].
func (s *Store) WaitingOwners(ctx context.Context, c store.Claim) (map[uuid.UUID]int, error) {
	return sqlbase.WaitingOwners(ctx, s.db, s.SQL(waitingOwnersQuery), append([]any{c.Queues, sqlbase.KindRevisions(c)}, s.cursors.current(c).args()...)...)
}
