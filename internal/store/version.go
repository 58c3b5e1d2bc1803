package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store/sqlrows"
)

// SupersededError is a submission whose version is not newer than the version of an earlier submission of the same reference.
type SupersededError struct {
	Kind, Reference string
	Version, Newest int64
}

func (e *SupersededError) Error() string {
	return fmt.Sprintf("version %d of the reference %q of kind %s is not newer than version %d", e.Version, e.Reference, e.Kind, e.Newest)
}

// VersionsKept is for how much longer than its tasks the newest version of a reference is kept, for submissions that come late.
const VersionsKept = 14 * 24 * time.Hour

// VersionsChecked is how long after the end of the period of a task that ended at once its version is checked first: most tasks are gone then.
const VersionsChecked = 24 * time.Hour

// OldVersions are the newest versions of references that are no longer needed, see [Upkeep].
type OldVersions struct {
	// Check is how long after a version was stored, or its tasks were looked for, they are looked for. 0: never, and the versions
	// of the kind are kept for ever.
	Check  func(kind string) time.Duration
	Unused time.Duration // for how long one is kept after no task was found
	Limit  int
}

// Versioned is the version of a task among the versions of its reference.
type Versioned struct {
	Kind, Reference string
	Version         int64
}

// Limit is the limit by which one task with versions of the reference executes at once.
func (v *Versioned) Limit() Limit {
	return Limit{Key: lifecycle.ReservedLimit + "reference/" + v.Kind + "/" + v.Reference, AtMost: 1}
}

// versionsOf is the table of the newest versions of references.
func versionsOf(table string) string {
	return strings.ReplaceAll(table, "taskkit_queued_task", "taskkit_reference_version")
}

// lockVersion refuses a task unless its version is newer than the newest of its reference, which it locks until the
// transaction ends. A task without a version has no row to lock. An idempotency key that is taken is reported instead: the submission is a repeated one.
func (i *inserter) lockVersion(ctx context.Context, q Querier, t *NewTask) error {
	if t.Version == nil {
		return nil
	}
	var newest sql.NullInt64
	_, err := sqlrows.Query(ctx, q, "INSERT INTO "+versionsOf(i.table)+" (id, execution_component_name, reference)\nVALUES ($1, $2, $3)\n"+
		"ON CONFLICT (execution_component_name, reference) DO UPDATE SET reference = excluded.reference RETURNING version",
		[]any{NewID().String(), t.Kind, t.Reference}, func(rows *sql.Rows) error { return rows.Scan(&newest) })
	switch {
	case err != nil:
		return fmt.Errorf("read the newest version of the reference %q of kind %s: %w", t.Reference, t.Kind, err)
	case !newest.Valid || newest.Int64 < *t.Version:
		return nil
	}
	key := NewTask{Submitted: Submitted{Kind: t.Kind, IdempotencyKey: t.IdempotencyKey}}
	if dup, err := i.duplicate(ctx, []*NewTask{&key}, nil); err != nil || dup != nil && dup.ID != uuid.Nil {
		return errors.Join(err, asError(dup))
	}
	return &SupersededError{Kind: t.Kind, Reference: t.Reference, Version: *t.Version, Newest: newest.Int64}
}

// storeVersion makes the version of a task that was stored the newest of its reference. The row is locked.
func (i *inserter) storeVersion(ctx context.Context, t *NewTask) error {
	if t.Version == nil {
		return nil
	}
	_, err := i.handle.ExecContext(ctx, "UPDATE "+versionsOf(i.table)+" SET version = $3, unused = false, checked_date = "+dialect.Either("clock_timestamp()", dialect.SQLiteNow)+"\nWHERE execution_component_name = $1 AND reference = $2",
		t.Kind, t.Reference, *t.Version)
	if err != nil {
		return fmt.Errorf("store version %d of the reference %q of kind %s: %w", *t.Version, t.Reference, t.Kind, err)
	}
	return nil
}
