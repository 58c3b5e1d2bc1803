package store

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"
)

// Start is where a new task starts if that is not at its beginning. The zero value
// is the beginning.
type Start struct {
	State json.RawMessage // nil: none
	// SpecRevision is the revision of the spec, if it differs from the revision of the task; else 0.
	SpecRevision int
	// Position is the number of elements that taskkit.Take has passed.
	Position int64
}

// Given reports whether the task does not start at its beginning.
func (s *Start) Given() bool { return s.State != nil || s.SpecRevision != 0 || s.Position != 0 }

// specRevision is what is stored for a task of a revision; -1: nothing.
func (s *Start) specRevision(revision int) int64 {
	if s.SpecRevision == 0 || s.SpecRevision == revision {
		return -1
	}
	return int64(s.SpecRevision)
}

// position is the value to store, or -1 for the column's default.
func (s *Start) position() int64 {
	if s.Position == 0 {
		return -1
	}
	return s.Position
}

// Origin is the task that another is made from, and reads the rest of it in the same
// transaction.
type Origin struct {
	Task Task
	Plan Plan
	ItemReader
	// Also locks and reads another task, which the new one is made from too. It may be called until the new task is stored.
	Also func(ctx context.Context, id uuid.UUID) (Origin, error)
}

// ItemReader reads the plan, the items, the targets and the children of a task, and what was made from it, see [Client].
type ItemReader interface {
	Subjects(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]*Subject, error)
	Plan(ctx context.Context, id uuid.UUID) (Plan, error)
	Children(ctx context.Context, parent, after uuid.UUID, limit int, states bool) ([]ChildTask, error)
	Targets(ctx context.Context, id uuid.UUID, first, last int) ([]TargetPage, error)
	Items(ctx context.Context, id uuid.UUID, outcome Outcome, after ItemCursor, limit int) ([]Item, error)
}

// Follow returns a new task that follows the origin, with its owner, its options and how it is run. The state is empty.
func (o *Origin) Follow() NewTask {
	t := &o.Task
	return NewTask{
		Submitted: Submitted{
			Kind: t.Kind, Owner: t.Owner, RunAs: t.RunAs, Queue: t.Queue, UniqueKey: t.UniqueKey, Follows: t.ID, TargetsField: o.targetsField(),
		},
		ID: NewID(), Revision: t.SpecRevision, Spec: o.Plan.Spec, Secrets: t.Secrets, Options: o.Plan.Options.inherited(),
		Priority: t.Priority, Total: -1,
	}
}

// targetsField is the list of targets in the revision of the spec.
func (o *Origin) targetsField() string {
	if o.Plan.Frozen != nil && !o.Plan.Frozen.AreParts() {
		return o.Plan.Frozen.Field
	}
	return o.Task.TargetsField
}

// Idempotency keys of the tasks that are made from another.
const (
	// ContinuationPrefix is what the key of a [ContinuationKey] has before the id.
	ContinuationPrefix = "taskkit.continue."
	// RetryPrefix is the same of a [RetryKey].
	RetryPrefix = "taskkit.retry."
	// ApplicationPrefix is the same of an [ApplyKey].
	ApplicationPrefix = "taskkit.apply."
)

// ContinuationKey is the idempotency key of the task that continues another. There is
// at most one, and the other is not retried any more.
func ContinuationKey(id uuid.UUID) string { return ContinuationPrefix + id.String() }

// RetryKey is the idempotency key of the task that retries the failed items of another,
// unless it was given another key.
func RetryKey(id uuid.UUID) string { return RetryPrefix + id.String() }

// ApplyKey is the idempotency key of the task that applies a preview. There is at most
// one.
func ApplyKey(id uuid.UUID) string { return ApplicationPrefix + id.String() }
