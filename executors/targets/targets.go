// Package targets defines the people of a bulk action: a list of ids, a query, or
// nobody. The executors share it, as the executors of an application would.
//
// The types are part of stored specs. They are here, and not in the domain that they
// query, so that programs that submit tasks can use them.
package targets

import (
	"errors"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload"
)

// Most is the largest number of people of a task.
const Most = 1_000_000

// Targets selects the people of a task. Exactly one field is set, or none if the
// task is submitted over a frozen set of people, by [taskkit.WithTargets].
type Targets struct {
	// People lists them by id.
	People []uuid.UUID `json:"people,omitempty" validate:"required_without_all=Query None,max=100000,unique"`
	// Query chooses them when the task runs.
	Query *Query `json:"query,omitempty"`
	// None is for an action without people, which creates something.
	None bool `json:"none,omitempty"`
}

// Query chooses people. All criteria that are set must hold.
type Query struct {
	// Program is the code of the program in which the people are enrolled.
	Program string `json:"program,omitempty" validate:"max=100"`
	// Status is the status of the enrolment, in Program if that is set.
	Status string `json:"status,omitempty" validate:"omitempty,oneof=active paused exited"`
	// Coach is the coach of the people.
	Coach string `json:"coach,omitempty" validate:"max=200"`
	// Name is a prefix of "last name, first name", in any case.
	Name string `json:"name,omitempty" validate:"max=200"`
	// Alert is a task that has raised an early alert for the people.
	Alert uuid.UUID `json:"alert,omitzero"`
	// Everyone states that a query without criteria is intended.
	Everyone bool `json:"everyone,omitempty"`
	// Max bounds the number of people. A task that finds more does nothing and
	// fails. Defaults to 1,000,000, which is also the largest value.
	Max int `json:"max,omitempty" validate:"min=0,max=1000000"`
}

// Errors of targets without people, or with people in two ways.
var (
	errNotOne   = errors.New("targets: set exactly one of people, query and none")
	errNobody   = errors.New("targets: this action needs people: set people or query")
	errNoFilter = errors.New("targets: query has no criterion: set one, or everyone")
	errFilter   = errors.New("targets: query says everyone and has a criterion: drop one of the two")
)

// Validate checks the rules that tags cannot express. Executors call it from the Validate
// of their Spec. The list must not be empty, except in a task over a frozen set.
func (t Targets) Validate() error {
	set := 0
	for _, is := range []bool{len(t.People) > 0, t.Query != nil, t.None} {
		if is {
			set++
		}
	}
	switch {
	case set > 1, set == 0 && t.People != nil:
		return errNotOne
	case t.Query == nil:
		return nil
	case t.Query.Everyone == (t.Query.filter() != caseload.Query{}):
		if t.Query.Everyone {
			return errFilter
		}
		return errNoFilter
	}
	return nil
}

// ValidateSome is Validate for actions that require people.
func (t Targets) ValidateSome() error {
	if t.None {
		return errNobody
	}
	return t.Validate()
}

// filter returns the query of the domain.
func (q Query) filter() caseload.Query {
	return caseload.Query{Program: q.Program, Status: q.Status, Coach: q.Coach, Name: q.Name, Alert: q.Alert}
}

// most returns Max or its default.
func (q Query) most() int {
	if q.Max == 0 {
		return Most
	}
	return q.Max
}
