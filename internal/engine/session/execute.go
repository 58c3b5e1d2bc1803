package session

import (
	"context"
	"encoding/json"
	"errors"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
)

// executing is the work of a session that executes its task.
type executing struct {
	c    *current
	idle idleGuard
}

// execution is one batch of Execute.
type execution struct {
	*executing

	next          Next // what the call returned
	another       bool // the executor is done with a round, and another one follows
	state, report json.RawMessage
}

// batch implements [work].
func (x *executing) batch(step *Step) (batch, error) {
	step.Limit = x.c.conditions().Limit(step.Limit, x.c.progress)
	step.LastRound = x.c.isLastRound()
	return &execution{executing: x}, nil
}

// checkNext returns the error of a batch whose return value its children, or its kind, forbid.
func checkNext(next Next, tx *LazyTx) error {
	switch {
	case next.Done && tx.submittedChildren():
		return errDoneWithChildren
	case next.AwaitChildren && !tx.MayHaveChildren():
		return errNoChildren
	}
	return nil
}

// errNoChildren: a task waits for children that it cannot have. It would be executed again at
// once, for ever.
var errNoChildren = &classify.MarkedError{
	Class: lifecycle.Permanent, Code: classify.CodeMisuse,
	Err: errors.New("the executor returned AwaitChildren, and tasks of its kind have no children: add the word children to its directive, and run go generate"),
}

// errDoneWithChildren: a batch has submitted children and returned Done.
var errDoneWithChildren = &classify.MarkedError{
	Class: lifecycle.Permanent, Code: classify.CodeMisuse,
	Err: errors.New("the batch submitted children and returned Done: return AwaitChildren, and Done when they have ended"),
}

// call implements [batch].
func (x *execution) call(ctx context.Context, step *Step) (err error) {
	x.next, x.state, err = x.c.call.Execute(ctx, step, x.c.state)
	if err == nil {
		err = step.misused()
	}
	if err == nil {
		err = step.refused()
	}
	if err == nil {
		err = checkNext(x.next, step.Tx)
	}
	x.another = x.next.Done && step.endsRound()
	if err == nil && x.next.Done && !x.another && x.c.hasReport() {
		// The state is what Execute has just returned.
		step.Ending, step.Task.Revision = EndDone, x.c.kind.Revision
		step.mu.Lock()
		step.reporting = true
		step.mu.Unlock()
		x.report, err = x.c.call.Report(ctx, step, x.state)
	}
	return err
}

// result implements [batch].
func (x *execution) result(step *Step) (*result, error) {
	before := x.c.progress
	r := &result{Write: x.c.checkpoint(x.state, x.report), next: x.next, another: x.another}
	var succeeded []string
	var err error
	r.Progress, r.Items, succeeded = step.finish()
	if r.Ledger, err = x.c.ledger(step, succeeded); err != nil {
		return nil, err
	}
	r.Memo = step.memo
	if x.next == (Next{}) && r.Memo == nil {
		if err := x.idle.check(step, &r.Write, before, x.c.state); err != nil {
			return nil, err
		}
	}
	_, _, put, _ := step.outcomes.count()
	processed := r.Progress.Processed() - before.Processed() + put
	r.items = int(processed)
	r.HasChildren = step.Tx.submittedChildren()
	// What a parent does for its children is progress too: it must not run out of attempts.
	r.progressed = processed > 0 || r.Progress.Position != before.Position || r.Memo != nil || r.HasChildren
	return r, nil
}
