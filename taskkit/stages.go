package taskkit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Codes of composite tasks that fail.
const (
	codeStages      = "stages"       // the stages cannot be used
	codeStageFailed = "stage_failed" // a stage has failed
)

// stageMemo is what a composite task remembers of its stages: all of them.
type stageMemo struct {
	Stages []storedStage `json:"stages"`
}

// storedStage is a [Stage] as it is stored.
type storedStage struct {
	Name  string        `json:"name"`
	After []int         `json:"after,omitempty"` // positions in the list
	Task  store.NewTask `json:"task"`            // see Stage
}

// storeStages returns stages that have been checked as they are stored.
func storeStages(stages []Stage) []storedStage {
	before := stagesBefore(stages)
	stored := make([]storedStage, len(stages))
	for i, s := range stages {
		stored[i] = storedStage{Name: s.name, After: before[i], Task: s.task}
	}
	return stored
}

// newTask returns the task of a stage, of a composite task with these options.
func (s *storedStage) newTask(parent *session.Task, of *store.Options) store.NewTask {
	t := s.Task
	t.ID, t.Parent, t.Queue = store.NewID(), parent.ID, cmp.Or(t.Queue, parent.Queue)
	t.Options = of.OfStage(*t.Options, store.Child{Parent: parent.ID, Stage: s.Name})
	if t.Owner == uuid.Nil {
		t.Owner, t.RunAs = parent.Owner, cmp.Or(t.RunAs, parent.RunAs)
	}
	return t
}

// runStages is the batch of a composite task: it submits the stages whose turn it is, and
// waits. It reports whether all are complete, and with that what was left out of them.
func (c *call[Spec, State, Result]) runStages(ctx context.Context, s *session.Step, state json.RawMessage) (complete bool, next session.Next, out json.RawMessage, err error) {
	var memo stageMemo
	out = state
	if s.Family.Memo == nil {
		b, err := c.batch(s, state)
		if err != nil {
			return false, next, nil, err
		}
		stages, err := c.stager.Stages(ctx, b)
		if err != nil {
			return false, next, nil, err
		}
		err = checkStages(stages)
		if err == nil {
			stages, err = tailorStages(stages, s.Options.Stages)
		}
		if err != nil {
			return false, next, nil, Permanent(codeStages, err)
		}
		memo.Stages = storeStages(stages)
		text, err := json.Marshal(memo)
		if err == nil {
			s.Remember(text)
			out, err = c.encodeState(b)
		}
		if err != nil {
			return false, next, nil, err
		}
	} else if err := json.Unmarshal(s.Family.Memo, &memo); err != nil {
		return false, next, nil, Permanent("undecodable_state", fmt.Errorf("what the task remembers of its stages: %w", err))
	}
	children, err := s.Children(ctx, uuid.Nil, maxStages, false)
	if err != nil {
		return false, next, nil, err
	}
	turn := nextStages(memo.Stages, children)
	tasks := make([]store.NewTask, len(turn.submit))
	for i, n := range turn.submit {
		tasks[i] = memo.Stages[n].newTask(&s.Task, s.Options)
	}
	if len(tasks) > 0 {
		if err := s.Tx.Insert(ctx, tasks); err != nil {
			return false, next, nil, fmt.Errorf("submit %d stages: %w", len(tasks), err)
		}
	}
	open := turn.open + len(tasks)
	switch {
	case open > 0: // another batch for each stage that ends
		return false, session.Next{AwaitChildren: true, OpenAtMost: int64(open - 1), OnFailure: store.FailureContinues}, out, nil
	case len(turn.failed) > 0:
		return false, next, nil, Permanent(codeStageFailed, errors.New(strings.Join(turn.failed, "; ")))
	}
	counts, err := s.CountChildren(ctx)
	if err == nil {
		next.LeftOut, err = leftOut(ctx, s, counts.Stopped)
	}
	s.SetSum(counts.Progress())
	return true, next, out, err
}

// stageTurn is what is next for a composite task.
type stageTurn struct {
	submit []int // positions in the list
	open   int
	failed []string // what is wrong with each stage that is not complete and has ended
}

// nextStages decides what is next, given the stages and those that were submitted. It is pure.
func nextStages(stages []storedStage, children []store.ChildTask) stageTurn {
	var turn stageTurn
	submitted := make(map[string]*store.ChildTask, len(children))
	for i := range children {
		submitted[children[i].Stage] = &children[i]
	}
	complete := make([]bool, len(stages))
	for i := range stages {
		c := submitted[stages[i].Name]
		switch {
		case c == nil:
		case c.Status.Live():
			turn.open++
		case c.Status == lifecycle.Completed: // or its rest was left out
			complete[i] = true
		default:
			turn.failed = append(turn.failed, fmt.Sprintf("stage %s, task %s, ended in %s: %s", c.Stage, c.ID, c.Status, c.StatusDetail))
		}
	}
	for i := range stages {
		ready := submitted[stages[i].Name] == nil
		for _, n := range stages[i].After {
			ready = ready && complete[n]
		}
		if ready {
			turn.submit = append(turn.submit, i)
		}
	}
	return turn
}
