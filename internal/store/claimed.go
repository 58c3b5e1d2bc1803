package store

import (
	"database/sql"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/workflow"
)

// claimedRow is a claimed task as a statement returns it, or nulls.
type claimedRow struct {
	id, owner, runAs                    uuid.NullUUID
	fence, seq, revision, attempts      sql.NullInt64
	specRevision                        sql.NullInt64
	kind, queue, control, traceparent   sql.NullString
	spec, state                         json.RawMessage
	omitted                             sql.NullBool
	total, taken, done, failed, skipped sql.NullInt64
	rank                                sql.NullInt64
	created                             time.Time
}

// columns are where the columns of a claim go, in their order.
func (r *claimedRow) columns() []any {
	return []any{
		&r.id, &r.fence, &r.seq, &r.kind, &r.revision, &r.queue, &r.owner, &r.runAs,
		raw{&r.spec},
		&r.omitted,
		raw{&r.state},
		&r.attempts, &r.control,
		&r.total, &r.taken, &r.done, &r.failed, &r.skipped,
		moment{&r.created},
		&r.traceparent, &r.specRevision,
	}
}

// lastStalled is the last rank of tasks that were taken from a dead worker.
const lastStalled = 4

func (r *claimedRow) claimed() Claimed {
	return Claimed{
		Hold: Hold{ID: r.id.UUID, Fence: r.fence.Int64, Seq: r.seq.Int64},
		Kind: r.kind.String, Revision: int(r.revision.Int64), SpecRevision: int(r.specRevision.Int64), Queue: r.queue.String,
		Owner: r.owner.UUID, RunAs: r.runAs.UUID,
		Spec: r.spec, SpecOmitted: r.omitted.Bool, State: r.state,
		Attempts: int(r.attempts.Int64), Stalled: r.rank.Int64 <= lastStalled,
		Control: workflow.Control(r.control.String),
		Progress: Progress{
			Total: r.total.Int64, Taken: r.taken.Int64, Done: r.done.Int64,
			Failed: r.failed.Int64, Skipped: r.skipped.Int64,
		},
		Created: r.created, Traceparent: r.traceparent.String,
	}
}
