// Package shown has what a schema can show: comments, types that are used twice,
// types whose rules are not checked, secrets.
package shown

import (
	"context"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/taskgen/schema/testdata/shown/part"
	"taskkit.dev/taskkit"
)

// Spec is what is asked.
//
// It has two paragraphs, and a link to [taskkit.Executor].
type Spec struct {
	// People are those concerned.
	People []uuid.UUID `json:"people" validate:"required,min=1,max=1000,unique"`
	// Status is what they get,
	// over two lines.
	//
	//nolint:revive // not documentation
	Status string `json:"status" validate:"required,oneof=active paused exited"`
	Color  Color  `json:"color,omitempty" validate:"omitempty,hexcolor"`
	// Home is checked.
	Home Address `json:"home"`
	// Work is checked when it is there.
	Work *Address `json:"work,omitempty"`
	// Others are not checked, since nothing dives into them.
	Others []Address          `json:"others"`
	ByName map[string]Address `json:"by_name" validate:"dive,keys,alpha,min=2,endkeys"`
	Wait   time.Duration      `json:"wait" validate:"min=1s,max=1h"` // Wait is how long to wait.
	Since  *time.Time         `json:"since"`
	Data   []byte             `json:"data"`
	Score  float32            `json:"score" validate:"gte=0,lt=1"`
	Login  Login              `json:"login"`
	Part   part.Part          `json:"part"`
}

// Color is a color as in CSS.
type Color string

// Address is where somebody lives.
type Address struct {
	Street string `json:"street" validate:"required,max=200"`
	Mail   string `json:"mail" validate:"omitempty,email"`
}

// Login has a secret.
type Login struct {
	User     string            `json:"user"`
	Password string            `json:"password" taskkit:"secret" validate:"min=8"`
	Keys     map[string]Secret `json:"keys"`
}

// Secret is one inside of others.
type Secret struct {
	// Values are all secret.
	Values []string `json:"values" taskkit:"secret"`
}

// State has one as well.
type State struct {
	Rows [2][]Secret `json:"rows"`
}

// Result is what came of it. Its rules are never checked.
type Result struct {
	Changed int     `json:"changed" validate:"required"`
	Last    Address `json:"last"`
}

// Executor does nothing.
//
//taskkit:executor shown
type Executor struct{}

// Execute implements [taskkit.Executor].
func (Executor) Execute(context.Context, *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

// Report implements [taskkit.Reporter].
func (Executor) Report(context.Context, *taskkit.Batch[Spec, State]) (Result, error) {
	return Result{}, nil
}
