package taskkit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/store"
)

// DefaultSchema is the PostgreSQL schema of taskkit's tables.
const DefaultSchema = dialect.DefaultSchema

// notifyEvery is the least time between two wake-ups of a kind's submissions. A
// COMMIT with a NOTIFY takes a lock on the whole cluster, and a worker that was
// woken polls for a while by itself.
const notifyEvery = 5 * time.Millisecond

// Submit stores a task through tx in one statement and touches nothing else.
// Given a transaction, the task exists if the transaction commits.
//
// The options must name the owner, by [OwnedBy] or [System]; otherwise Submit
// returns an *[OptionError]. The spec is validated first, by its validate tags and by its Validate method
// if it has one. For an invalid spec Submit stores nothing and returns a
// *[SpecError]. For a key that is taken it returns a *[DuplicateError], for a nil
// tx an *[OptionError], and for a database without the tables a *[SchemaError].
func Submit[Spec, State, Result any](ctx context.Context, tx Execer, k *Kind[Spec, State, Result], spec Spec, opts ...SubmitOption) (ID, error) {
	ids, err := SubmitMany(ctx, tx, k, []Spec{spec}, opts...)
	if len(ids) == 0 {
		return ID{}, err
	}
	return ids[0], err // a *PausedError comes with the id
}

// SubmitMany stores many tasks of a kind with the same options, in as few
// statements as the database's limit on parameters allows. After an error the
// caller must roll back. Keys and references identify one task, so they are
// refused for more than one spec.
func SubmitMany[Spec, State, Result any](ctx context.Context, tx Execer, k *Kind[Spec, State, Result], specs []Spec, opts ...SubmitOption) ([]ID, error) {
	forgetSubmitted(opts)
	if err := k.acceptsTasks(); err != nil {
		return nil, err
	}
	if err := checkHandle("tx", tx); err != nil {
		return nil, err
	}
	if len(specs) == 0 {
		return nil, nil
	}
	s, err := k.submission(tx, opts)
	if err != nil {
		return nil, err
	}
	if len(specs) > 1 && (s.NewTask.UniqueKey != "" || s.NewTask.IdempotencyKey != "" || s.Reference != "") {
		return nil, &OptionError{"SubmitMany", "WithUniqueKey, WithIdempotencyKey and WithCoalescing name one task: submit the specs one by one"}
	}
	if len(specs) > 1 && s.submitted != nil {
		return nil, &OptionError{"WithSubmitted", "it is for one task: submit the specs one by one, or read the tasks"}
	}
	if s.observer == nil {
		return k.store(ctx, tx, s, specs)
	}
	ctx, ended := s.observe(ctx, len(specs))
	ids, err := k.store(ctx, tx, s, specs)
	ended(ids, err)
	return ids, err
}

// store stores a task for each spec. Of the options, what concerns no spec has been checked.
func (k *Kind[Spec, State, Result]) store(ctx context.Context, tx Execer, s *submission, specs []Spec) ([]ID, error) {
	if err := k.checkOptions(s, specs); err != nil {
		return nil, err
	}
	batch, inBatch := tx.(*session.LazyTx)
	if inBatch && s.NewTask.Parent != uuid.Nil {
		s.Traceparent = cmp.Or(s.Traceparent, batch.Traceparent())
	}
	tasks := make([]store.NewTask, len(specs))
	for i := range specs {
		if err := k.newTask(s, &specs[i], &tasks[i]); err != nil {
			if se, ok := errors.AsType[*SpecError](err); ok {
				se.Index = i
			}
			return nil, err
		}
		tasks[i].ID = store.NewID()
	}
	err := store.Insert(ctx, tx, s.schema, tasks, !s.withoutNotify && k.mayNotify())
	switch _, merged := errors.AsType[*store.PausedError](err); {
	case err == nil || merged:
	case inBatch:
		return nil, public(err) // a worker's start has checked the tables
	default:
		return nil, public(migrate.Explain(ctx, tx, s.schema, err))
	}
	if inBatch && err == nil && s.NewTask.Parent != uuid.Nil {
		batch.SubmittedChildren()
	}
	s.log(ctx, tasks)
	if s.submitted != nil {
		*s.submitted = submittedTask(&tasks[0])
	}
	ids := make([]ID, len(tasks))
	for i := range tasks {
		ids[i] = tasks[i].ID // Insert sets that of a task it coalesced with
	}
	return ids, public(err)
}

// acceptsTasks returns why no task of the kind can be submitted, or nil.
func (k *Kind[Spec, State, Result]) acceptsTasks() error {
	switch {
	case k == nil:
		return &UsageError{What: "kind", Why: "nil: submit with one that NewKind returned"}
	case k.def.Retired:
		return &UsageError{named("kind", k.def.Name), "retired, so it accepts no new tasks; nothing was stored", ErrRetired}
	default:
		return nil
	}
}

// options applies options to the kind's defaults. Owner, run-as, queue and schema are zero
// if no option names them.
func (k *Kind[Spec, State, Result]) options(opts []SubmitOption) *submission {
	s := &submission{NewTask: store.NewTask{
		Submitted: store.Submitted{Kind: k.def.Name},
		Revision:  k.def.Revision, Priority: int(PriorityNormal), Total: -1, Secrets: k.hidden(), Ledger: k.def.Ledger,
		Options: &store.Options{OfKind: store.TimesOfKind{LatestStart: k.def.LatestStart, TimeLimit: k.def.TimeLimit}},
	}}
	if k.def.Segments || k.def.Stages {
		s.Options.StopAfter = k.stopAfter // which its children check
	}
	for _, o := range opts {
		o.applySubmit(s)
	}
	if !s.policies {
		s.Options.Policies = k.def.Policies
	}
	return s
}

// submission applies options to the kind's defaults, for a task of its own.
func (k *Kind[Spec, State, Result]) submission(tx Execer, opts []SubmitOption) (*submission, error) {
	s := k.options(opts)
	if err := s.completeChild(tx); err != nil {
		return nil, err
	}
	if s.NewTask.Parent == uuid.Nil {
		s.setNotify(k.notify)
	}
	if !s.owned {
		s.fail("Submit", "the task has no owner: add OwnedBy(person), or System() if no person asked for it")
	}
	if s.NewTask.RunAs == uuid.Nil {
		s.NewTask.RunAs = s.Owner
	}
	s.Queue = cmp.Or(s.Queue, k.def.Queue)
	if batch, ok := tx.(*session.LazyTx); ok {
		if s.schema != "" {
			s.fail("WithSchema", "used with b.Tx, which submits into the schema of the batch's task: leave the option out")
		}
		s.schema = batch.Schema()
	}
	s.schema = cmp.Or(s.schema, DefaultSchema)
	if s.Reference != "" && k.def.LatestStart+k.def.TimeLimit > 0 {
		s.fail("WithCoalescing", fmt.Sprintf("used for kind %s, whose directive has lateststart= or timelimit=: a waiting task with these cannot be replaced", k.def.Name))
	}
	return s, s.check()
}

// check returns what is wrong with the options, joined, whatever the specs are.
func (s *submission) check() error {
	s.checkPairs()
	if err := s.checkConditions(); err != nil {
		s.errs = append(s.errs, err)
	}
	return errors.Join(s.errs...)
}

// checkOptions returns what is wrong with the options for a submission of specs.
func (k *Kind[Spec, State, Result]) checkOptions(s *submission, specs []Spec) error {
	if err := k.checkSample(s, specs); err != nil {
		return err
	}
	if err := k.checkOver(s, specs); err != nil {
		return err
	}
	if err := k.checkFinds(s, specs); err != nil {
		return err
	}
	if err := k.checkPreview(s); err != nil {
		return err
	}
	if err := k.checkDryRun(s); err != nil {
		return err
	}
	if err := k.checkChildren(s); err != nil {
		return err
	}
	if err := k.divide(s, specs); err != nil {
		return err
	}
	if err := s.checkPolicies(k.def.Children); err != nil { // a task in ranges has children too
		return err
	}
	if err := k.checkTimed(s); err != nil {
		return err
	}
	if k.def.Children && s.Reference != "" {
		return &OptionError{"WithCoalescing", fmt.Sprintf("used for kind %s, whose tasks may have children: a waiting task with children cannot be replaced", k.def.Name)}
	}
	return nil
}

// newTask sets a task to what Insert stores of a spec, without an id. The options have been
// checked.
func (k *Kind[Spec, State, Result]) newTask(s *submission, spec *Spec, task *store.NewTask) error {
	finds := k.finds(s, spec)
	raw, err := k.encodeSpec(spec, s.over != nil || finds)
	if err != nil {
		return err
	}
	*task = s.NewTask
	task.Spec = raw
	task.TargetsField = k.def.Targets.Field
	switch {
	case s.over != nil:
		task.Targets = k.newTargets(s.over, spec)
		task.Targets.Sampling = s.sampling()
	case s.sampled() && !finds:
		if err := s.sampleList(task); err != nil {
			return public(err)
		}
	case finds:
		task.Targets = &store.NewTargets{Finding: true}
		if !k.inBuckets(s, spec) {
			task.Targets.Field = k.def.Targets.Field
		}
	case task.Total < 0:
		// An empty list may stand for targets that the executor finds.
		if n := k.def.Targets.Len(spec); n > 0 {
			task.Total = int64(n)
		}
	}
	return nil
}

// encodeSpec validates a spec and returns its JSON. If its targets are elsewhere, the
// rules for its list of them do not apply.
func (k *Kind[Spec, State, Result]) encodeSpec(spec *Spec, elsewhere bool) ([]byte, error) {
	var except string
	if elsewhere {
		except = k.def.Targets.Field
	}
	if err := validateSpec(k.def.Name, k.def.Secrets, spec, except); err != nil {
		return nil, err
	}
	raw, err := k.def.Spec.Append(nil, spec)
	if err != nil {
		return nil, &SpecError{Kind: k.def.Name, Err: err}
	}
	return raw, nil
}

// mayNotify reports whether a wake-up is due. Of concurrent callers only one gets
// true.
func (k *Kind[Spec, State, Result]) mayNotify() bool {
	now := time.Now().UnixNano()
	last := k.notified.Load()
	return now-last >= int64(notifyEvery) && k.notified.CompareAndSwap(last, now)
}

// checkSchemaName refuses a name that [Migrate] would refuse.
func checkSchemaName(name string) error {
	if err := dialect.CheckSchema(name); err != nil {
		return &OptionError{"Schema", err.Error()}
	}
	return nil
}

// SubmitJSON submits a task given the name of its kind and its spec as JSON, for
// programs that learn the kind at run time. The kind must be registered. The spec
// is decoded strictly and validated.
func (r *Registry) SubmitJSON(ctx context.Context, tx Execer, kind string, spec []byte, opts ...SubmitOption) (ID, error) {
	forgetSubmitted(opts)
	submit, ok := r.submit[kind]
	if !ok {
		known := slices.Clone(r.names)
		slices.Sort(known)
		return ID{}, &UsageError{What: named("kind", kind), Why: "no executor: register one; known are " + orNone(known)}
	}
	return submit(ctx, tx, spec, opts...)
}
