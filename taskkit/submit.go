package taskkit

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// DefaultSchema is the PostgreSQL schema of taskkit's tables.
const DefaultSchema = "taskkit"

// notifyEvery is how often a kind's submissions carry a hint: a COMMIT with a
// NOTIFY takes a lock on the whole cluster, and a worker that was woken looks
// again for a while by itself.
const notifyEvery = 5 * time.Millisecond

// Submit stores a task through tx, in one statement and without touching
// anything else: what is submitted to a transaction exists if it commits.
//
// The spec is validated first, by its validate tags and by its own Validate
// method if it has one; a spec that is refused is a *[SpecError] and stores
// nothing. A key that is taken is a *[DuplicateError].
func Submit[Spec, State any](ctx context.Context, tx Execer, k *Kind[Spec, State], spec Spec, opts ...SubmitOption) (ID, error) {
	ids, err := SubmitMany(ctx, tx, k, []Spec{spec}, opts...)
	if err != nil {
		return ID{}, err
	}
	return ids[0], nil
}

// SubmitMany stores many tasks of a kind with the same options, in as few
// statements as the database's limit on parameters allows. Either all are
// stored or, with an error, the caller must roll back. Keys and references,
// which name one task, are refused for more than one spec.
func SubmitMany[Spec, State any](ctx context.Context, tx Execer, k *Kind[Spec, State], specs []Spec, opts ...SubmitOption) ([]ID, error) {
	if k == nil {
		return nil, &UnknownKindError{Kind: "(nil)"}
	}
	if k.def.Retired {
		return nil, &RetiredKindError{Kind: k.def.Name}
	}
	if len(specs) == 0 {
		return nil, nil
	}
	s, err := k.submission(opts)
	if err != nil {
		return nil, err
	}
	if len(specs) > 1 && (s.NewTask.UniqueKey != "" || s.NewTask.IdempotencyKey != "" || s.Reference != "") {
		return nil, &OptionError{"SubmitMany", "UniqueKey, IdempotencyKey and Coalesce name one task; submit one by one"}
	}
	tasks := make([]store.NewTask, len(specs))
	for i := range specs {
		raw, err := k.encodeSpec(&specs[i])
		if err != nil {
			if se, ok := errors.AsType[*SpecError](err); ok {
				se.Index = i
			}
			return nil, err
		}
		tasks[i] = s.NewTask
		tasks[i].ID = uuid.Must(uuid.NewV7())
		tasks[i].Spec = raw
	}
	if err := store.Insert(ctx, tx, s.schema, tasks, !s.quiet && k.mayNotify()); err != nil {
		return nil, public(err)
	}
	ids := make([]ID, len(tasks))
	for i := range tasks {
		ids[i] = tasks[i].ID // Insert sets that of a task it coalesced with
	}
	return ids, nil
}

// submission applies options to the kind's defaults.
func (k *Kind[Spec, State]) submission(opts []SubmitOption) (*submission, error) {
	s := &submission{schema: DefaultSchema, NewTask: store.NewTask{
		Kind: k.def.Name, Revision: k.def.Revision, Queue: k.def.Queue,
		Priority: int(PriorityNormal), Total: -1, Secrets: k.hidden(),
	}}
	for _, o := range opts {
		o.applySubmit(s)
	}
	if s.NewTask.RunAs == uuid.Nil {
		s.NewTask.RunAs = s.Owner
	}
	if !s.NewTask.NotBefore.IsZero() && s.NewTask.Delay != 0 {
		s.fail("Delay", "used together with NotBefore: use one of the two")
	}
	return s, errors.Join(s.errs...)
}

// encodeSpec validates a spec and returns its JSON.
func (k *Kind[Spec, State]) encodeSpec(spec *Spec) ([]byte, error) {
	if err := validateSpec(k.def.Name, k.def.Secrets, spec); err != nil {
		return nil, err
	}
	raw, err := k.def.Spec.encode(spec)
	if err != nil {
		return nil, &SpecError{Kind: k.def.Name, Err: err}
	}
	return raw, nil
}

// mayNotify reports whether a hint is due. Of those who ask at once, one is
// told yes.
func (k *Kind[Spec, State]) mayNotify() bool {
	now := time.Now().UnixNano()
	last := k.notified.Load()
	return now-last >= int64(notifyEvery) && k.notified.CompareAndSwap(last, now)
}

// schemaName is what a schema may be called without quoting surprises.
var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,47}$`)

func checkSchemaName(name string) error {
	if !schemaName.MatchString(name) {
		return &OptionError{"Schema", fmt.Sprintf("%q is not of the form %s", name, schemaName)}
	}
	return nil
}

// SubmitJSON submits by a kind's name and a spec in JSON: for programs that
// learn the kind at run time. The registry must know the kind; the spec is
// decoded strictly and validated.
func (r *Registry) SubmitJSON(ctx context.Context, tx Execer, kind string, spec []byte, opts ...SubmitOption) (ID, error) {
	submit, ok := r.submit[kind]
	if !ok {
		known := slices.Clone(r.names)
		slices.Sort(known)
		return ID{}, &UnknownKindError{Kind: kind, Known: known}
	}
	return submit(ctx, tx, spec, opts...)
}
