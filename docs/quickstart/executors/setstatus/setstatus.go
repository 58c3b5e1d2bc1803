// Package setstatus sets the status of many students at once.
package setstatus

import (
	"context"

	"taskkit.dev/taskkit"

	"example.com/campus/ent"
	"example.com/campus/ent/student"
)

// Spec has the students and their new status.
type Spec struct {
	Students []int  `json:"students" validate:"required,max=100000,unique"`
	Status   string `json:"status" validate:"required,oneof=active paused exited"`
}

// State counts the students whose status has changed.
type State struct {
	Changed int `json:"changed"`
}

// Executor sets statuses.
//
//taskkit:executor set_status batch=500
type Executor struct{}

// Execute implements [taskkit.Executor].
func (*Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	students, next := taskkit.Take(b, b.Spec.Students)
	changed, err := ent.NewClient(ent.Driver(b.EntDriver())).Student.Update().
		Where(student.IDIn(students...), student.StatusNEQ(b.Spec.Status)).
		SetStatus(b.Spec.Status).Save(ctx)
	b.State.Changed += changed
	return next, err
}

// Report implements [taskkit.Reporter]: the result is what clients fetch.
func (*Executor) Report(_ context.Context, b *taskkit.Batch[Spec, State]) (State, error) {
	return b.State, nil
}
