package taskkit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/store"
)

// Failures selects failed items of tasks that have ended. Either Tasks lists the tasks, or Kind and From select them.
type Failures struct {
	Tasks []ID // at most 1,000
	// Kind selects the tasks of a kind, at most 1,000, with an item that failed at From or later. Previews, and tasks that have not
	// ended, are left out.
	Kind string
	// From and To are between which times the items failed, by the database's clock: at From or later, and before To.
	From, To time.Time
	Codes    []string // the codes of the items
	Items    []any    // the items themselves, as they were passed to [Batch.Fail], or as the Key of an [Item]
}

const (
	// maxSources bounds the tasks whose failed items a new task has, and maxSelected these items, whose hashes are in memory.
	maxSources  = 1000
	maxSelected = store.MaxUnorderedTargets
	// maxFailuresRead bounds the failed items of all kinds that are read to find the tasks of a kind.
	maxFailuresRead = 1_000_000
)

// RetrySelected submits one new task over failed items of several tasks, and returns its id. It takes the items that f selects, the newest task
// first, and the items of each task in the order of its set. Items that fail later are not in it. Item.Source of an item of the new task is
// the task that it is from. An item that failed in several of the tasks is in it once, from the newest task.
//
// The tasks must be of one kind and have the same spec, apart from their items, and the same owner and run-as, unless [OwnedBy]
// and [RunAs] are given. The new task takes everything else from the newest task, which is its Task.Follows. If one
// of the tasks has [WithApproval], the newest must have it too, or it must be given.
//
// A second call with the same selection of the same tasks returns a *[DuplicateError] with the id of the first new task, for as long
// as that is kept. So does a call with a task of Tasks that [Client.RetryFailed] has retried, and Kind leaves such tasks out. Several
// selections may be of one task, as by other Codes: an item that is in two of them is retried twice. [WithIdempotencyKey] sets another
// key, with which the tasks of Tasks are retried again. Other options, transactions and errors are as for [Client.RetryFailed]. A Failures that names no tasks, or more
// than its bounds, is an *[OptionError].
func (c *Client) RetrySelected(ctx context.Context, f Failures, opts ...SubmitOption) (ID, error) {
	forgetSubmitted(opts)
	if err := f.check(); err != nil {
		return ID{}, err
	}
	op, err := c.tables(ctx)
	if err != nil {
		return ID{}, err
	}
	given := submission{NewTask: store.NewTask{Options: new(store.Options)}}
	for _, o := range opts {
		o.applySubmit(&given)
	}
	s := &selected{Failures: f, ids: distinctIDs(f.Tasks), divided: make(map[ID]bool), runsAs: given.NewTask.RunAs != uuid.Nil, again: given.IdempotencyKey != ""}
	for _, item := range f.Items {
		s.keys = append(s.keys, itemkey.Encode(item))
	}
	if f.Kind != "" {
		if s.ids, err = c.failedTasks(ctx, op, &f); err != nil {
			return ID{}, err
		}
	}
	for _, id := range s.ids {
		if s.divided[id], err = c.wasDivided(ctx, op, id); err != nil {
			return ID{}, err
		}
	}
	return c.follow(ctx, s.ids[0], opts, func(next *followUp) error { return next.retrySelected(ctx, s) })
}

// check returns what is wrong with a selection.
func (f *Failures) check() error {
	wrong := func(field, format string, args ...any) error {
		return &OptionError{"Failures." + field, fmt.Sprintf(format, args...)}
	}
	switch {
	case len(f.Tasks) > 0 && f.Kind != "":
		return wrong("Kind", "given together with Tasks: give one of them")
	case len(f.Tasks) == 0 && f.Kind == "":
		return wrong("Tasks", "none: name the tasks, or give Kind and From")
	case len(f.Tasks) > maxSources:
		return wrong("Tasks", "%d tasks, more than %d: retry them in several calls", len(f.Tasks), maxSources)
	case f.Kind != "" && f.From.IsZero():
		return wrong("From", "not given: say since when the items of kind %s have failed", shorten(f.Kind))
	case !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To):
		return wrong("To", "%s is not after From, %s", f.To.Format(time.RFC3339), f.From.Format(time.RFC3339))
	case len(f.Codes) > filterMost:
		return wrong("Codes", "more than %d", filterMost)
	case len(f.Items) > filterMost:
		return wrong("Items", "more than %d", filterMost)
	}
	return nil
}

// distinctIDs returns ids without duplicates, the newest first.
func distinctIDs(ids []ID) []ID {
	ids = slices.Clone(ids)
	slices.SortFunc(ids, func(a, b ID) int { return bytes.Compare(b[:], a[:]) })
	return slices.Compact(ids)
}

// failedTasks returns the tasks with an item that failed in the time, the newest first.
func (c *Client) failedTasks(ctx context.Context, op store.Client, f *Failures) ([]ID, error) {
	var (
		found  []ID
		seen   = make(map[ID]bool)
		before = store.FailedItem{Created: f.To}
	)
	if f.To.IsZero() {
		before.Created = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	for read := 0; ; {
		page, err := op.FailedItems(ctx, f.From, before, itemsPage)
		if err != nil {
			return nil, c.public(ctx, err)
		}
		var tasks []ID
		for _, i := range page {
			if before = i; !seen[i.Task] {
				seen[i.Task] = true
				tasks = append(tasks, i.Task)
			}
		}
		for ids := range slices.Chunk(tasks, itemsPage) {
			of, err := c.endedOf(ctx, op, f.Kind, ids, seen)
			if err != nil {
				return nil, err
			}
			found = append(found, of...)
		}
		read += len(page)
		switch {
		case len(found) > maxSources:
			return nil, &OptionError{"Failures.Kind", fmt.Sprintf("items of more than %d tasks of kind %s have failed in this time: give a shorter time", maxSources, f.Kind)}
		case len(page) == itemsPage && read >= maxFailuresRead:
			return nil, &OptionError{"Failures.Kind", fmt.Sprintf("more than %d items of all kinds have failed in this time: give a shorter time, or name the tasks", maxFailuresRead)}
		case len(page) == itemsPage:
			continue
		}
		if found, err = c.notRetried(ctx, op, distinctIDs(found)); err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, &OptionError{"Failures.Kind", fmt.Sprintf("no task of kind %s has ended with an item that failed in this time and was not retried", shorten(f.Kind))}
		}
		return found, nil
	}
}

// notRetried returns the tasks whose failed items [Client.RetryFailed] has not retried.
func (c *Client) notRetried(ctx context.Context, op store.Client, ids []ID) (found []ID, err error) {
	for page := range slices.Chunk(ids, itemsPage) {
		subjects, err := op.Subjects(ctx, page)
		if err != nil {
			return nil, c.public(ctx, err)
		}
		for _, id := range page {
			if s := subjects[id]; s != nil && s.Retried == uuid.Nil {
				found = append(found, id)
			}
		}
	}
	return found, nil
}

// checkNotRetried refuses a task of a selection whose failed items another task has retried.
func (f *followUp) checkNotRetried(ctx context.Context, s *selected) error {
	t := &f.from.Task
	if s.again {
		return nil
	}
	subjects, err := f.from.Subjects(ctx, []ID{t.ID})
	if err != nil || subjects[t.ID] == nil || subjects[t.ID].Retried == uuid.Nil {
		return err
	}
	return &store.DuplicateError{Kind: t.Kind, Column: "idempotency_key", Key: store.RetryKey(t.ID), ID: subjects[t.ID].Retried}
}

// checkNotSelected refuses a task of whose failed items [Client.RetrySelected] has made another, as long as that is kept.
func (f *followUp) checkNotSelected(ctx context.Context) error {
	t, by := &f.from.Task, f.from.Plan.Options.SelectedBy
	if by == uuid.Nil {
		return nil
	}
	subjects, err := f.from.Subjects(ctx, []ID{by})
	if err != nil || subjects[by] == nil {
		return err
	}
	return &store.DuplicateError{Kind: t.Kind, Column: "idempotency_key", Key: store.RetryKey(t.ID), ID: by}
}

// endedOf returns which of some tasks are of a kind and have ended, and are no previews. In the place of a bucket or a range comes its
// parent, unless it was seen.
func (c *Client) endedOf(ctx context.Context, op store.Client, kind string, ids []ID, seen map[ID]bool) (found []ID, err error) {
	tasks, _, err := op.Tasks(ctx, store.Filter{IDs: ids, Kinds: []string{kind}, Limit: len(ids)})
	if err != nil {
		return nil, c.public(ctx, err)
	}
	var parents []ID
	for i := range tasks {
		t := &tasks[i]
		options, err := op.TaskOptions(ctx, t.ID)
		switch child := options.Child; {
		case err != nil:
			return nil, c.public(ctx, err)
		case child.Bucket() && !seen[t.Parent]:
			seen[t.Parent] = true
			parents = append(parents, t.Parent)
		case child.Bucket(), options.Preview, !t.Status.Terminal():
		default:
			found = append(found, t.ID)
		}
	}
	if len(parents) == 0 {
		return found, nil
	}
	of, err := c.endedOf(ctx, op, kind, parents, seen)
	return append(found, of...), err
}

// selected are the failed items of several tasks.
type selected struct {
	Failures

	ids     []ID // the newest first
	divided map[ID]bool
	keys    []string // of Items
	runsAs  bool     // there was RunAs
	again   bool     // there was WithIdempotencyKey
}

// has reports whether an item is selected.
func (s *selected) has(i *store.Item) bool {
	return (s.From.IsZero() || !i.Created.Before(s.From)) && (s.To.IsZero() || i.Created.Before(s.To)) &&
		(len(s.Codes) == 0 || slices.Contains(s.Codes, i.Code)) && (len(s.keys) == 0 || slices.Contains(s.keys, i.Key))
}

// key is the idempotency key of the task that retries the selection.
func (s *selected) key() string {
	text, err := json.Marshal([]any{s.ids, s.From.UTC(), s.To.UTC(), s.Codes, s.keys})
	if err != nil {
		panic(fmt.Errorf("taskkit: encode a selection: %w", err)) // of ids, times and texts
	}
	sum := sha256.Sum256(text)
	return store.RetryPrefix + hex.EncodeToString(sum[:16])
}

// retrySelected makes the task one over failed items of several tasks, of which it is made from the newest.
func (f *followUp) retrySelected(ctx context.Context, s *selected) error {
	if err := f.checkNoSample(); err != nil {
		return err
	}
	first, err := f.failedItems(ctx, s.has)
	if err == nil {
		err = f.checkNotRetried(ctx, s)
	}
	if err != nil {
		return err
	}
	f.Spec, f.Start = first.spec, store.Start{}
	if f.IdempotencyKey == "" {
		f.IdempotencyKey = s.key()
	}
	f.Targets = &store.NewTargets{Field: f.TargetsField, Distinct: true, Keys: f.selectedTargets(ctx, s, first)}
	return nil
}

// selectedTargets returns the targets of the tasks that have failed. It reads a task when it comes to it, and notes where its targets are.
func (f *followUp) selectedTargets(ctx context.Context, s *selected, first *failedItems) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		distinct, total := store.NewDistinct(), int64(0)
		f.Options.Sources, f.Targets.Selected = nil, nil
		for n, id := range s.ids {
			of := first
			if n > 0 {
				var err error
				if of, err = f.also(ctx, s, id, first); err != nil {
					yield(nil, err)
					return
				}
			}
			begin, some := total, false
			for key, err := range of.targets(ctx, nil) {
				some = true
				switch {
				case err != nil:
					yield(nil, err)
					return
				case !distinct.Add([]byte(itemkey.OfJSON(key))):
					continue
				case total == maxSelected:
					yield(nil, &ItemsError{ID: id, Action: actRetryFailed, Problem: fmt.Sprintf("more than %d items are selected: select fewer tasks, or a shorter time", maxSelected)})
					return
				}
				if total++; !yield(key, nil) {
					return
				}
			}
			if some {
				f.Targets.Selected = append(f.Targets.Selected, id)
			}
			if total > begin {
				f.Options.Sources = append(f.Options.Sources, store.Source{Task: id, From: begin})
			}
		}
		if total == 0 {
			yield(nil, &ItemsError{ID: s.ids[0], Action: actRetryFailed, Problem: fmt.Sprintf("no failed item is selected, of %d tasks", len(s.ids))})
		}
	}
}

// also reads another task of a selection. It checks that the new task can take its items together with the items of the first task.
func (f *followUp) also(ctx context.Context, s *selected, id ID, first *failedItems) (*failedItems, error) {
	from, err := f.from.Also(ctx, id)
	if err != nil {
		return nil, err
	}
	other := &followUp{from: from, hasChildren: s.divided[id], submission: submission{NewTask: from.Follow()}}
	failed, err := other.failedItems(ctx, s.has)
	if err == nil {
		err = other.checkNotRetried(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	a, b := &f.from.Task, &from.Task
	var differs string
	switch {
	case a.Kind != b.Kind:
		differs = "another kind"
	case a.SpecRevision != b.SpecRevision || f.TargetsField != other.TargetsField || !sameSpec(first.spec, failed.spec, f.TargetsField):
		differs = "another spec, apart from its items,"
	case a.Owner != b.Owner && !f.owned:
		differs = "another owner (without OwnedBy)"
	case a.RunAs != b.RunAs && !s.runsAs:
		differs = "another run-as (without RunAs)"
	case from.Plan.Options.Approval && !f.Options.Approval:
		differs = "an approval to wait for (without WithApproval)"
	default:
		return failed, nil
	}
	return nil, &ItemsError{ID: id, Action: actRetryFailed, Problem: fmt.Sprintf("it has %s than task %s, and one new task cannot do the work of both: retry them apart", differs, a.ID)}
}

// sameSpec reports whether two specs are the same JSON, apart from their lists.
func sameSpec(a, b []byte, field string) bool {
	if bytes.Equal(a, b) {
		return true
	}
	without := func(spec []byte) (v any) {
		around, _, err := cutList(spec, field)
		if err == nil {
			err = json.Unmarshal(around.with([]byte("[]")), &v)
		}
		if err != nil {
			return err // is equal to no other
		}
		return v
	}
	return reflect.DeepEqual(without(a), without(b))
}

// sources finds which task an item of another is from.
type sources struct {
	id   ID
	read bool
	all  []store.Source
}

// set sets the source of an item, if its position says it.
func (s *sources) set(ctx context.Context, op store.Client, i *placedItem) error {
	if i.Position == 0 || i.Task != (ID{}) && !i.ofRange {
		return nil
	}
	if !s.read {
		options, err := op.TaskOptions(ctx, s.id)
		if err != nil {
			return err
		}
		s.read, s.all = true, options.Sources
	}
	n, found := slices.BinarySearchFunc(s.all, i.Position-1, func(of store.Source, position int64) int { return cmp.Compare(of.From, position) })
	switch {
	case found:
		i.Source = s.all[n].Task
	case n > 0:
		i.Source = s.all[n-1].Task
	}
	return nil
}
