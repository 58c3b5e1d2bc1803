package sqlbase

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// ClaimedRow is a row that a claim returns: a claimed task, or nulls.
type ClaimedRow struct {
	ID, owner, runAs               uuid.NullUUID
	fence, seq, revision, attempts sql.NullInt64
	specRevision                   sql.NullInt64
	kind, queue, control           sql.NullString
	spec, state                    json.RawMessage
	total, position, round         sql.NullInt64
	deferred                       sql.NullBool
	done, failed, skipped          sql.NullInt64
	Rank                           sql.NullInt64
	created                        time.Time
}

// Columns returns the scan targets of the columns of a claim, in their order.
func (r *ClaimedRow) Columns() []any {
	return []any{
		&r.ID, &r.fence, &r.seq, &r.kind, &r.revision, &r.queue, &r.owner, &r.runAs,
		sqlrows.JSON(&r.spec),
		sqlrows.JSON(&r.state),
		&r.attempts, &r.control,
		&r.total, &r.position, &r.round, &r.deferred, &r.done, &r.failed, &r.skipped,
		sqlrows.Time(&r.created),
		&r.specRevision,
	}
}

// Task returns the claimed task.
func (r *ClaimedRow) Task() store.ClaimedTask {
	return store.ClaimedTask{
		Lease: store.Lease{ID: r.ID.UUID, Fence: r.fence.Int64, Seq: r.seq.Int64},
		Kind:  r.kind.String, Revision: int(r.revision.Int64), SpecRevision: int(r.specRevision.Int64), Queue: r.queue.String, Priority: lifecycle.RankPriority(int(r.Rank.Int64)),
		Owner: r.owner.UUID, RunAs: r.runAs.UUID,
		Spec: r.spec, State: r.state,
		Attempts: int(r.attempts.Int64), Stalled: lifecycle.StalledRank(int(r.Rank.Int64)),
		Control: lifecycle.Control(r.control.String),
		Progress: lifecycle.Progress{
			Total: r.total.Int64, Position: r.position.Int64, Round: int(r.round.Int64), Deferred: r.deferred.Bool, Done: r.done.Int64,
			Failed: r.failed.Int64, Skipped: r.skipped.Int64,
		},
		Created: r.created,
	}
}

// WaitingOwners runs the query of [store.Store] of that name.
func WaitingOwners(ctx context.Context, q sqlrows.Queryer, query string, args ...any) (map[uuid.UUID]int, error) {
	owners, orders := make(map[uuid.UUID]int), lifecycle.RankOrders(false)
	_, err := sqlrows.Query(ctx, q, query, args, func(rows *sql.Rows) error {
		var (
			owner uuid.UUID
			rank  int
		)
		if err := rows.Scan(&owner, &rank); err != nil {
			return err
		}
		order := orders[rank]
		if was, known := owners[owner]; !known || order < was {
			owners[owner] = order
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for the owners of waiting tasks: %w", err)
	}
	return owners, nil
}
