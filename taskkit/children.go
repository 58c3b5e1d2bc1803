package taskkit

import (
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/store"
)

// WithParent submits the task as a child of the one whose batch submits it:
//
//	taskkit.Submit(ctx, b.Tx, kind, spec, taskkit.WithParent(b.Task))
//
// The handle must be b.Tx of that batch, so that the child exists if the batch is
// committed, and the directive of the parent's kind needs the word children. Anything else
// is an *[OptionError]. Owner and run-as are those of the parent unless the options name
// others. A child is an ordinary task of any kind; it may have children itself.
//
// The parent waits for its children by returning [AwaitChildren], and does not end before
// they have. A stop, a pause, a resume and a delete of the parent reach its open children,
// to any depth. A child can be stopped, paused and resumed alone; until its parent
// is complete it cannot be deleted alone, see [ChildError]. A retry of a parent that has failed retries
// its failed children, and those only.
func WithParent(parent ID) SubmitOption {
	return submitOption(func(s *submission) {
		if parent == uuid.Nil {
			s.fail("WithParent", "the zero id is no task: give it b.Task")
		}
		s.NewTask.Parent, s.Options.Child = parent, &store.Child{Parent: parent}
	})
}

// completeChild completes the submission of a child, whose handle must be the transaction of a
// batch of its parent.
func (s *submission) completeChild(tx Execer) error {
	if s.NewTask.Parent == uuid.Nil {
		return nil
	}
	batch, ok := tx.(*session.LazyTx)
	switch {
	case !ok || batch.Task() != s.NewTask.Parent:
		return &OptionError{"WithParent", "a child is submitted in a batch of its parent and by its transaction: give Submit b.Tx, and WithParent b.Task"}
	case s.Reference != "":
		return &OptionError{"WithCoalescing", "used together with WithParent: a child belongs to one parent, and cannot replace a waiting task"}
	case !batch.MayHaveChildren():
		return &OptionError{"WithParent", "tasks of the parent's kind have no children: add the word children to the directive of its executor, and run go generate"}
	}
	if err := s.notifyOfChild(); err != nil {
		return err
	}
	s.Options.Watched = batch.Watches()
	if !s.owned {
		s.Owner, s.owned = batch.Owner(), true
		if s.NewTask.RunAs == uuid.Nil {
			s.NewTask.RunAs = batch.RunAs()
		}
	}
	return nil
}

// AwaitChildren requests another batch when at most n children of the task are open: 0 waits
// for all of them. The worker releases the task meanwhile, and no attempt is spent. A
// child is open until it is COMPLETED, in FAILURE or in ERROR; a failed one that is retried
// is open again. Negative numbers are 0.
//
// Failed says what a failed child means for the task. With [FailParent] the task submits no
// more: it waits until none is open and ends in FAILURE with the code child_failed.
//
// Execute returns Done only when no child is open; a task whose batch submits children and
// returns [Done] fails with the code misuse.
func AwaitChildren(n int, failed ChildFailure) Next {
	return Next{await: true, atMost: max(n, 0), onFailure: failed}
}

// ChildFailure is what a child that ends in FAILURE or ERROR means for its parent.
type ChildFailure string

// What it can mean.
const (
	// FailParent ends the parent in FAILURE when no child is open any more. It is the default.
	FailParent ChildFailure = "fail"
	// PauseParent pauses the parent for each child that has failed. The others go on. Retry the
	// child, or leave it, and resume the parent.
	PauseParent ChildFailure = "pause"
	// ContinueParent means nothing: b.Children says how many have failed.
	ContinueParent ChildFailure = "continue"
)

// check returns the error of a value of Next that no task can follow.
func (n Next) check() error {
	switch n.onFailure {
	case FailParent, PauseParent, ContinueParent:
		return nil
	case "":
		if !n.await {
			return nil
		}
	}
	return misuse(fmt.Errorf("%q is no meaning of a failed child: use FailParent, PauseParent or ContinueParent", shorten(string(n.onFailure))))
}

// WithChildFailure says what a bucket or a stage that fails means for the task. With
// [FailParent], which is the default, no more buckets begin, and the task fails when those that
// run have ended. With [ContinueParent] all buckets are run, and the task is COMPLETED although
// some have failed, but partial, and its detail names these. [PauseParent] pauses the task for each; it is partial too if it is resumed
// without a retry of these.
//
// It is an *[OptionError] for a kind without Segments. A task with stages always fails when a
// stage has failed.
func WithChildFailure(f ChildFailure) SubmitOption {
	return submitOption(func(s *submission) {
		if (Next{onFailure: f}).check() != nil || f == "" {
			s.fail("WithChildFailure", fmt.Sprintf("%q is not FailParent, PauseParent or ContinueParent", shorten(string(f))))
		}
		s.Options.OnFailure = store.OnFailure(f)
	})
}

// WithMaxParallel bounds how many buckets of the task are open at once, over all workers. It can be
// changed while the task runs, see [Client.Change]. Defaults to 64.
//
// A task over a list or a frozen set of targets is divided into ranges with it, of which so many are executed at once: as
// buckets, without a line in the executor. Order is kept within a range. Each range begins with the zero State, and what they have in the end is
// merged, see [Merger]. The directive can say it for all tasks of the kind, with parallel=N; a preview, and a task with a
// canary or a rate, is executed as a whole then.
//
// Less than 1 is an *[OptionError], and so are WithPreview, WithCanary, WithMaxRate and WithCoalescing with it, a kind with neither Segments
// nor targets, and for ranges a task without targets and a kind with a result and without a method Merge.
func WithMaxParallel(n int) SubmitOption {
	return submitOption(func(s *submission) {
		if n < 1 {
			s.fail("WithMaxParallel", fmt.Sprintf("%d: at least 1 bucket must be able to run", n))
		}
		s.Options.MaxParallel = n
	})
}

// checkChildren refuses options that are for tasks with buckets, and those that are for tasks
// which process items themselves.
func (k *Kind[Spec, State, Result]) checkChildren(s *submission) error {
	o := s.Options
	if len(o.Stages) > 0 && !k.def.Stages {
		return &OptionError{"WithStage", fmt.Sprintf("kind %s has no stages: give the options to the task itself", k.def.Name)}
	}
	var ofItems, ofBuckets string // the first option given that is for either
	if o.Canary != 0 {
		ofItems = "WithCanary"
	}
	switch {
	case o.MaxParallel != 0:
		ofBuckets = "WithMaxParallel"
	case o.OnFailure != "":
		ofBuckets = "WithChildFailure"
	}
	switch {
	case ofItems != "" && k.def.Stages:
		return &OptionError{ofItems, fmt.Sprintf("kind %s has stages, which process the items: give the option to a stage", k.def.Name)}
	case ofBuckets != "" && !k.def.Segments && k.def.Targets.Get == nil:
		return &OptionError{ofBuckets, fmt.Sprintf("kind %s has neither targets nor buckets: name the list of its spec in the directive with targets=FIELD, or add a method Segments to its executor, and run go generate", k.def.Name)}
	}
	return nil
}
