// Package rollout is release 3 of an action: two fields have other names, through upgrade functions.
package rollout

import (
	"context"
	"encoding/json"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

// Spec says whose standing to set, and to what.
type Spec struct {
	People   []uuid.UUID `json:"people" validate:"required"`
	Standing string      `json:"standing" validate:"required"`
	Note     string      `json:"note" validate:"max=100"`
}

// State is how far the task has come.
type State struct {
	Moved int      `json:"moved"`
	Trail []string `json:"trail"`
}

// UpgradeSpec2 takes specs of release 2, where the standing was called status.
func UpgradeSpec2(old json.RawMessage) (json.RawMessage, error) {
	return renamed(old, "status", "standing")
}

// UpgradeState2 takes states of release 2, which counted changed.
func UpgradeState2(old json.RawMessage) (json.RawMessage, error) {
	return renamed(old, "changed", "moved")
}

// renamed gives a member of an object another name.
func renamed(old json.RawMessage, from, to string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(old, &members); err != nil {
		return nil, err
	}
	if value, ok := members[from]; ok {
		members[to] = value
		delete(members, from)
	}
	return json.Marshal(members)
}

// Executor sets standings. Touch writes one, through the batch's transaction.
//
//taskkit:executor enrol batch=1
type Executor struct {
	Touch func(ctx context.Context, tx taskkit.ExecQuerier, task taskkit.ID, person uuid.UUID, standing, note string) error
}

// Execute implements [taskkit.Executor].
func (x *Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	b.Limit = 1 // a person a batch: whoever watches can stop in between
	people, next := taskkit.Take(b, b.Spec.People)
	for _, p := range people {
		if err := x.Touch(ctx, b.Tx, b.Task, p, b.Spec.Standing, b.Spec.Note); err != nil {
			return next, err
		}
		b.State.Moved++
		b.State.Trail = append(b.State.Trail, "three")
	}
	return next, nil
}
