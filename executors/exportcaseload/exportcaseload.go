// Package exportcaseload writes a search or a list of people to a file.
//
// The file is written in parts, which are stored in the database: a part and the
// checkpoint that counts it are one commit, a worker on any machine can write the
// next one, and the transaction that ends an aborted task removes them. A directory of
// parts would need a file system that all workers share, and a program that cleans it.
// Only the whole file goes to a directory.
package exportcaseload

import (
	"context"
	"errors"
	"io"

	"github.com/google/uuid"

	"taskkit.dev/executors/targets"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
)

// The formats of a file.
const (
	CSV  = "csv"
	XLSX = "xlsx"
)

// Spec has the people to export, and the format.
type Spec struct {
	// Targets are the people.
	Targets targets.Targets `json:"targets"`
	// Format is "csv" or "xlsx".
	Format string `json:"format" validate:"required,oneof=csv xlsx"`
}

// Validate checks the rules that tags cannot express.
func (s *Spec) Validate() error { return s.Targets.ValidateSome() }

// State counts the rows of a bucket, and after the merge of all buckets.
type State struct {
	Cursor targets.Cursor `json:"cursor"`
	// First is the first person of a bucket or a range. It orders their parts in the file.
	First uuid.UUID `json:"first,omitzero"`
	Parts int       `json:"parts,omitempty"`
	Rows  int       `json:"rows,omitempty"`
}

// Result has the path of the file.
type Result struct {
	// Where is its path.
	Where string `json:"where"`
	// Rows counts the people in it.
	Rows int `json:"rows"`
	// Bytes is its size.
	Bytes int64 `json:"bytes"`
}

// Executor exports people. The people of a query are exported in buckets.
//
//taskkit:executor export_caseload batch=1000 targets=targets.people preview
type Executor struct {
	// Caseload is a client outside of any transaction. Required.
	Caseload *ent.Client
	// Dir is the directory of the files, the same for all workers. Required.
	Dir string
	// Workbook writes the rows that a function hands over, one after another, as a workbook to w.
	// Without it an export as "xlsx" fails.
	Workbook func(w io.Writer, rows func(row func(cells []string) error) error) error
	// BucketSize is about how many people a bucket has. Defaults to [targets.BucketSize].
	BucketSize int
}

// Segments implements [taskkit.Segmenter].
func (x *Executor) Segments(ctx context.Context, b *taskkit.Batch[Spec, State]) (*segment.Plan, error) {
	return b.Spec.Targets.Segments(ctx, ent.NewClient(ent.Driver(b.EntDriver())), b.Tx, x.BucketSize)
}

// Targets implements [taskkit.Targeter].
func (*Executor) Targets(ctx context.Context, b *taskkit.Batch[Spec, State]) ([]uuid.UUID, taskkit.Next, error) {
	return targets.Find(ctx, ent.NewClient(ent.Driver(b.EntDriver())), b, b.Spec.Targets, &b.State.Cursor)
}

// Execute implements [taskkit.Executor]. A batch is one part. The parts of all buckets and ranges belong
// to the task that was divided, in the order of the first person of each.
func (*Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	c := ent.NewClient(ent.Driver(b.EntDriver()))
	people, next := taskkit.Take(b, b.Spec.Targets.People)
	if len(people) == 0 {
		return next, nil
	}
	if b.State.Parts == 0 {
		b.State.First = people[0]
	}
	rows, missing, err := caseload.ExportRows(ctx, c, people)
	if err != nil {
		return next, err
	}
	for _, person := range missing {
		b.Fail(person, taskkit.Permanent("no_such_person", nil))
	}
	data, err := encode(rows)
	if err != nil {
		return next, err
	}
	b.State.Parts, b.State.Rows = b.State.Parts+1, b.State.Rows+len(rows)
	if !b.Bucket {
		next = taskkit.More // to a batch without people, since Report reads parts that are committed
	}
	return next, caseload.PutPart(ctx, c, targets.WorkOf(b), caseload.Part{First: b.State.First, Number: b.State.Parts, Rows: len(rows), Data: data})
}

// Merge implements [taskkit.Merger].
func (*Executor) Merge(total *State, part State) error {
	total.Parts += part.Parts
	total.Rows += part.Rows
	return nil
}

// Report implements [taskkit.Reporter]: it joins the parts, also of a stopped task. All
// buckets have ended, so their parts are committed. The parts are removed through b.Tx
// before the file gets its name: this statement fails if another worker has the task, and
// locks the task until the commit. A worker that has lost its task thus never replaces a
// file. A preview has no file.
func (x *Executor) Report(ctx context.Context, b *taskkit.Batch[Spec, State]) (Result, error) {
	if b.Preview {
		return Result{Rows: b.State.Rows}, nil
	}
	f, err := x.assemble(ctx, b)
	if err != nil {
		return Result{}, err
	}
	defer f.discard()
	if err := caseload.DropParts(ctx, ent.NewClient(ent.Driver(b.EntDriver())), b.Task); err != nil {
		return Result{}, err
	}
	where := x.path(b)
	return Result{Where: where, Rows: f.rows, Bytes: f.size}, errors.Join(f.rename(where), x.sweep(b))
}

// Abort implements [taskkit.Aborter]: nothing is left, unless Report is still to
// come. A bucket leaves its parts to the task, since it can be retried.
func (x *Executor) Abort(ctx context.Context, b *taskkit.Batch[Spec, State]) error {
	if b.Bucket || b.EndReason() == taskkit.EndStop {
		return nil
	}
	if err := caseload.DropParts(ctx, ent.NewClient(ent.Driver(b.EntDriver())), b.Task); err != nil {
		return err
	}
	return errors.Join(remove(x.path(b)), x.sweep(b))
}
