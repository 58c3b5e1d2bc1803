package taskkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskkind"
)

// TargetsFoundIn is [taskkind.TargetsIn] for a kind whose executor is a [Targeter], with the
// State of its batches. A task that is submitted with an empty list and without [WithTargets]
// finds its targets when it starts. Rules of validation for the list itself do not apply
// to such a task. It needs a *sql.DB or a transaction as the handle, and cannot be used
// together with [WithCoalescing]. taskgen writes the call.
func TargetsFoundIn[State, Spec any, L ~[]T, T any](field string, list func(*Spec) *L) taskkind.Targets[Spec] {
	t := taskkind.TargetsIn(field, list)
	t.State = reflect.TypeFor[State]()
	t.Finder = func(x any) any {
		targeter, ok := find[Targeter[Spec, State, T]](x)
		if !ok {
			return nil
		}
		return targetsFunc[Spec, State](func(ctx context.Context, b *Batch[Spec, State]) (any, Next, error) {
			return anyList(targeter.Targets(ctx, b))
		})
	}
	return t
}

// targetsFunc is the method Targets of an executor. It returns a list of the kind's type.
type targetsFunc[Spec, State any] func(context.Context, *Batch[Spec, State]) (any, Next, error)

func anyList[T any](list []T, next Next, err error) (any, Next, error) { return list, next, err }

// finds reports whether a task finds its targets, given its spec and options.
func (k *Kind[Spec, State, Result]) finds(s *submission, spec *Spec) bool {
	if k.inBuckets(s, spec) {
		return true // their segments are the targets of the task
	}
	t := k.def.Targets
	return t.Finder != nil && s.over == nil && t.Len(spec) == 0
}

// inBuckets reports whether a task is divided into buckets, given its spec and options. One with a list or a set of targets is not.
func (k *Kind[Spec, State, Result]) inBuckets(s *submission, spec *Spec) bool {
	return k.def.Segments && s.over == nil && k.def.Targets.Len(spec) <= 0 && s.undivided() == ""
}

// undivided returns an option for which a task is executed as a whole; "": there is none.
func (s *submission) undivided() string {
	switch o := s.Options; {
	case o.Preview:
		return "WithPreview"
	case o.Canary > 0:
		return "WithCanary"
	case o.MaxRate > 0:
		return "WithMaxRate"
	case s.Reference != "":
		return "WithCoalescing"
	}
	return ""
}

// checkFinds refuses the options that a task which finds its targets cannot have.
func (k *Kind[Spec, State, Result]) checkFinds(s *submission, specs []Spec) error {
	if s.Reference == "" {
		return nil
	}
	for i := range specs {
		if k.finds(s, &specs[i]) {
			return &OptionError{"WithCoalescing", fmt.Sprintf("used for a task that finds its targets when it starts, and a waiting task with a set of its own cannot be replaced: put targets into the list %s, or leave the option out", k.def.Targets.Field)}
		}
	}
	return nil
}

// errFinding is the error of a task that has not found its targets. What was tried is
// missing.
func errFinding(t *store.Task, p *store.Plan) *ItemsError {
	problem := fmt.Sprintf("it is still finding its targets, %d so far: wait until it has found them all", p.Frozen.Total)
	if t.Status.Terminal() {
		problem = fmt.Sprintf("it ended while it was finding its targets, after %d, and has processed no item: submit the task again", p.Frozen.Total)
		if t.Status != lifecycle.Completed {
			problem += ", or retry it, which goes on with the search"
		}
	}
	return &ItemsError{ID: t.ID, Problem: problem}
}

// Targets implements [session.Targeter].
func (c *call[Spec, State, Result]) Targets(ctx context.Context, s *session.Step, field string, state json.RawMessage) ([][]byte, session.Next, json.RawMessage, error) {
	switch {
	case field == "" && c.segmenter != nil:
		return c.findSegments(ctx, s, state)
	case field == "" || c.targets == nil:
		return nil, session.Next{}, nil, Permanent(codeSegments, errors.New("the task finds what it is divided into, and this worker's executor cannot: put the method Segments or Targets back, and retry the task"))
	}
	b, err := c.batch(s, state)
	if err != nil {
		return nil, session.Next{}, nil, err
	}
	list, next, err := c.targets(ctx, b)
	if err == nil {
		err = next.check()
	}
	if err != nil {
		return nil, session.Next{}, nil, err
	}
	keys, err := c.encodeTargets(s.Task.SpecRevision, field, list)
	if err != nil {
		return nil, session.Next{}, nil, &classify.MarkedError{Class: lifecycle.Permanent, Code: classify.CodeTargets, Err: err}
	}
	out, err := c.encodeState(b)
	return keys, engineNext(next), out, err
}

// errOtherTargets: what is stored for a task must be readable by the revision of its spec.
var errOtherTargets = errors.New("this revision of the kind writes targets in another form than the one that the task was submitted with: submit the task again")

// encodeTargets encodes found targets for a task whose spec is of a revision, in which the
// list has the name field.
func (c *call[Spec, State, Result]) encodeTargets(revision int, field string, list any) (keys [][]byte, err error) {
	if reflect.ValueOf(list).Len() == 0 {
		return nil, nil
	}
	e := c.kind.targetEncoder(&c.spec)
	array, err := e.encode(list, 0)
	if err != nil {
		return nil, fmt.Errorf("what Targets returned cannot be stored: %w", err)
	}
	array = bytes.Clone(array)
	if revision != c.kind.def.Revision {
		again, _, err := c.kind.decodeTargets(revision, c.raw, field, array)
		if err != nil {
			return nil, fmt.Errorf("%w (%w)", errOtherTargets, err)
		}
		if same, err := e.encode(again, 0); err != nil || !bytes.Equal(same, array) {
			return nil, errOtherTargets
		}
	}
	return appendElements(nil, array)
}
