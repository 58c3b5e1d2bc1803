// Package shapes declares what the benchmark of codecs writes and reads: a long
// list of UUIDs as a spec, a small state, and deep maps as a result.
package shapes

import (
	"context"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

//go:generate go run taskkit.dev/cmd/taskgen -o ../gen .

// Spec names people, as the spec of a bulk action does.
type Spec struct {
	People []uuid.UUID `json:"people"`
}

// State is a small checkpoint.
type State struct {
	Changed int       `json:"changed"`
	Skipped int       `json:"skipped"`
	Phase   string    `json:"phase"`
	After   string    `json:"after"`
	Last    bool      `json:"last"`
	Checked time.Time `json:"checked"`
}

// Result counts by region, coach and status.
type Result struct {
	Counts map[string]map[string]map[string]int `json:"counts"`
}

// Executor is never run: only its types are of use.
//
//taskkit:executor shapes
type Executor struct{}

// Execute implements [taskkit.Executor].
func (*Executor) Execute(context.Context, *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

// Report implements [taskkit.Reporter].
func (*Executor) Report(context.Context, *taskkit.Batch[Spec, State]) (Result, error) {
	return Result{}, nil
}
