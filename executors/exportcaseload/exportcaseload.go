// Package exportcaseload writes a search or a list of people to a file.
//
// The file is written in parts, which lie in the database: a part and the
// checkpoint that counts it are one commit, any worker on any machine can go on
// with the next, and what an aborted task leaves is removed in the transaction
// that ends it. A directory of parts would need a file system that all workers
// share, and somebody who sweeps it. Only the whole file goes to a directory.
package exportcaseload

import (
	"context"
	"errors"

	"taskkit.dev/executors/targets"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/taskkit"
)

// The formats of a file.
const (
	CSV  = "csv"
	XLSX = "xlsx"
)

// Spec says whom to export, and how.
type Spec struct {
	// Targets are the people.
	Targets targets.Targets `json:"targets"`
	// Format is "csv" or "xlsx".
	Format string `json:"format" validate:"required,oneof=csv xlsx"`
}

// Validate checks what tags cannot say.
func (s *Spec) Validate() error { return s.Targets.ValidateSome() }

// State counts what has been written.
type State struct {
	Cursor targets.Cursor `json:"cursor"`
	Parts  int            `json:"parts,omitempty"`
	Rows   int            `json:"rows,omitempty"`
	// Complete says that no part is missing, only the whole.
	Complete bool `json:"complete,omitempty"`
}

// Result says where the file is.
type Result struct {
	// Where is its path. A preview writes no file.
	Where string `json:"where"`
	// Rows counts the people in it.
	Rows int `json:"rows"`
	// Bytes is its size.
	Bytes int64 `json:"bytes"`
}

// Executor exports people.
//
//taskkit:executor export_caseload batch=1000 targets=targets.people preview
type Executor struct {
	// Caseload is a client outside of any transaction. Required.
	Caseload *ent.Client
	// Dir is where the files go. All workers must see the same. Required.
	Dir string
}

// Execute implements [taskkit.Executor]. A batch is one part. The last batch
// writes none, so that [Executor.Report] finds all parts committed and can read
// them with no transaction open.
func (*Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	if b.State.Complete {
		return taskkit.Done, nil
	}
	c := ent.NewClient(ent.Driver(b.EntDriver()))
	people, next, err := targets.Take(ctx, c, b, b.Spec.Targets, &b.State.Cursor)
	if err != nil {
		return next, err
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
	b.State.Complete = next == taskkit.Done
	return taskkit.More, caseload.PutPart(ctx, c, b.Task, b.State.Parts, len(rows), data)
}

// Report implements [taskkit.Reporter]: it puts the parts together, those of a
// stopped task too. The parts are removed through b.Tx before the file is given
// its name: that statement finds out whether the task is still this worker's,
// and keeps it until the commit. A worker that was overtaken thus never replaces
// a file. A preview has neither parts nor a file.
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
	return Result{Where: where, Rows: b.State.Rows, Bytes: f.size}, errors.Join(f.rename(where), x.sweep(b))
}

// Abort implements [taskkit.Aborter]: nothing is left, unless Report is still to
// come.
func (x *Executor) Abort(ctx context.Context, b *taskkit.Batch[Spec, State]) error {
	if b.Ending() == taskkit.EndStop {
		return nil
	}
	if err := caseload.DropParts(ctx, ent.NewClient(ent.Driver(b.EntDriver())), b.Task); err != nil {
		return err
	}
	return errors.Join(remove(x.path(b)), x.sweep(b))
}
