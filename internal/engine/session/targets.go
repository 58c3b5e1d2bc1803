package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Targets is the part of a task's frozen targets that was read for one batch.
type Targets struct {
	Total int  // of the task
	From  int  // the position of the first that was read
	Parts bool // they are the segments of buckets
	// Lists are the pages that were read, each a []T of the kind's list.
	Lists []any
	// Most is how many of them a batch can take.
	Most int
	// Err is why none could be read, while the task ends.
	Err error
}

// frozenTargets is the [feature] of a task with frozen targets: it reads the pages around the position of the task.
type frozenTargets struct {
	noFeature
	store.FrozenTargets
	c    *current
	spec json.RawMessage

	first    int           // the number of the first page
	pages    []decodedPage // without a gap
	pageSize int           // of the last page that was read, in bytes; 0: none was
}

type decodedPage struct {
	list any // see [Kind.DecodeTargets]
	n    int
}

var errNoPlan = errors.New("the task has neither a spec nor a plan: submit it with a transaction or a *sql.DB as the handle, so that all of it is stored at once")

// newFrozenTargets returns nil for a task without frozen targets.
func newFrozenTargets(c *current, p *store.Plan) (*frozenTargets, error) {
	switch {
	case p.Frozen != nil:
		return &frozenTargets{FrozenTargets: *p.Frozen, c: c, spec: p.Spec}, nil
	case p.Spec == nil && c.kind.DecodeTargets != nil:
		return nil, errNoPlan
	}
	return nil, nil //nolint:nilnil // see above
}

// isFinding reports whether the targets of the task are not all found.
func (f *frozenTargets) isFinding() bool { return f != nil && f.Finding }

// areParts reports whether the targets are the segments of buckets.
func (f *frozenTargets) areParts() bool { return f != nil && f.AreParts() }

// begin gives the step the targets that it can take, of the deferred items in a round over these. At the end of a task only
// Take needs them.
func (f *frozenTargets) begin(step *Step) (err error) {
	if step.searching {
		return nil
	}
	step.Targets, err = f.targets(step.Deferred)
	if err != nil && step.Ending != NotEnding {
		step.Targets, err = &Targets{Err: err}, nil
	}
	if step.Targets != nil {
		step.Targets.Parts = f.AreParts()
	}
	return err
}

// targets returns the targets that the next batch can take. It reads the pages that the session does not have yet, in one
// statement before the batch begins its transaction, and forgets the pages before the position of the task.
func (f *frozenTargets) targets(d *Deferred) (*Targets, error) {
	switch {
	case f.Finding:
		return nil, errFinding
	case d != nil:
		return f.deferred(d)
	}
	total, taken := int(f.total()), int(f.c.progress.Position)
	if taken >= total {
		f.pages = nil
		return &Targets{Total: total, From: total}, nil
	}
	begin := int(f.begins()) // of the range; of a whole set 0
	last := (begin + min(taken+max(f.c.limit.size, 1), total) - 1) / store.TargetsPerPage
	if err := f.readPages((begin+taken)/store.TargetsPerPage, last, f.prefetch()); err != nil {
		return nil, err
	}
	t := &Targets{Total: total, From: f.first*store.TargetsPerPage - begin}
	t.Most = t.From - taken
	for _, p := range f.pages[:last-f.first+1] {
		t.Lists = append(t.Lists, p.list)
		t.Most += p.n
	}
	return t, nil
}

// total is the number of targets of the task: of its range, if it is one.
func (f *frozenTargets) total() int64 {
	if r := f.c.piece(); r != nil {
		return r.Len()
	}
	return f.Total
}

// begins is the position in the set of the first target of the task.
func (f *frozenTargets) begins() int64 {
	if r := f.c.piece(); r != nil {
		return r.From
	}
	return 0
}

// task is the one that has the set: the parent of a range.
func (f *frozenTargets) task() uuid.UUID {
	if f.c.piece() != nil {
		return f.c.parent().Parent
	}
	return f.c.task.ID
}

// deferred returns the targets at the positions of deferred items.
func (f *frozenTargets) deferred(d *Deferred) (*Targets, error) {
	t := &Targets{Total: int(f.total()), From: int(f.total())}
	if len(d.Positions) == 0 {
		return t, nil
	}
	begin := f.begins()
	last := page(begin + d.Positions[len(d.Positions)-1])
	if err := f.readPages(page(begin+d.Positions[0]), last, 0); err != nil {
		return nil, err
	}
	t.From = f.first*store.TargetsPerPage - int(begin)
	for _, p := range f.pages[:last-f.first+1] {
		t.Lists = append(t.Lists, p.list)
	}
	return t, nil
}

// maxPrefetch bounds what is read of pages before a batch needs them, in bytes. It spares
// most of the statements of a task with small batches.
const maxPrefetch = 256 << 10

// prefetch returns how many pages more are read with those that a batch needs: none at the
// first time, when their size is not known.
func (f *frozenTargets) prefetch() int {
	if f.pageSize == 0 {
		return 0
	}
	return min(maxPrefetch/f.pageSize, 15)
}

// readPages makes the pages from first to last those that the session has. If it reads any,
// it also reads some that come next.
func (f *frozenTargets) readPages(first, last, prefetch int) error {
	if passed := first - f.first; passed >= 0 && passed < len(f.pages) {
		f.pages = f.pages[passed:]
	} else {
		f.pages = nil
	}
	f.first = first
	next := first + len(f.pages)
	if next > last {
		return nil
	}
	ctx, cancel := f.c.short()
	defer cancel()
	pages, err := f.c.Store.Targets(ctx, f.task(), next, min(last+prefetch, page(f.Total)))
	if err != nil {
		return err
	}
	for _, p := range pages {
		if p.Number != next {
			break
		}
		decoded, err := f.decodePage(p)
		if err != nil && next > last {
			break // the batches before it can still be executed
		}
		if err != nil {
			return unreadable("page %d of the targets: %s", p.Number, err.Error())
		}
		f.pages, f.pageSize = append(f.pages, decoded), len(p.Keys)
		next++
	}
	if next <= last {
		return unreadable("page %d of the targets is missing", next)
	}
	return nil
}

// decodePage decodes a page. Decoding may call code of the user's.
func (f *frozenTargets) decodePage(p store.TargetPage) (d decodedPage, err error) {
	if f.c.kind.DecodeTargets == nil {
		return d, fmt.Errorf("this worker's code of kind %s has no list of targets: put targets=%s back into its directive", f.c.task.Kind, f.Field)
	}
	err = <-RunIsolated(f.c.ctx, func(context.Context) (err error) {
		d.list, d.n, err = f.c.kind.DecodeTargets(f.c.task, f.spec, f.Field, p.Keys)
		return err
	})
	want := min(int64(store.TargetsPerPage), f.Total-int64(p.Number)*store.TargetsPerPage)
	if err == nil && int64(d.n) != want {
		err = fmt.Errorf("it has %d targets, want %d", d.n, want)
	}
	return d, err
}

// unreadable is the error of targets that no retry can read.
func unreadable(format string, args ...any) error {
	return &classify.MarkedError{Class: lifecycle.Permanent, Code: classify.CodeTargets, Err: fmt.Errorf(format, args...)}
}
