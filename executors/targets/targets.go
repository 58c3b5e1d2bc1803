// Package targets says whom a bulk action is for: people by id, a query, or
// nobody (SSP-6). The executors share it, as an application's would.
//
// The types are part of stored specs. They stand here, and not in the domain
// they ask, because who submits a task must be able to name them.
package targets

import (
	"errors"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload"
)

// Most is the greatest number of people that a task may be for.
const Most = 1_000_000

// Targets is the people that a task is for. Exactly one field is set, or none if the
// task is submitted over a frozen set of people, by [taskkit.Over].
type Targets struct {
	// People lists them by id.
	People []uuid.UUID `json:"people,omitempty" validate:"required_without_all=Query None,max=100000,unique"`
	// Query chooses them when the task runs.
	Query *Query `json:"query,omitempty"`
	// None is for an action that creates something and concerns nobody yet.
	None bool `json:"none,omitempty"`
}

// Query chooses people. All criteria that are set must hold.
type Query struct {
	// Program is the code of a program that they are enrolled in.
	Program string `json:"program,omitempty" validate:"max=100"`
	// Status is that of their enrolment, in Program if that is set.
	Status string `json:"status,omitempty" validate:"omitempty,oneof=active paused exited"`
	// Coach has them in care.
	Coach string `json:"coach,omitempty" validate:"max=200"`
	// Name is what "last name, first name" begins with, in any case.
	Name string `json:"name,omitempty" validate:"max=200"`
	// Alert is a task that has raised an early alert for them.
	Alert uuid.UUID `json:"alert,omitzero"`
	// Everyone says that the lack of any criterion is meant.
	Everyone bool `json:"everyone,omitempty"`
	// Max bounds how many they may be. A task that finds more does nothing and
	// fails. Defaults to 1,000,000, which is also the greatest value.
	Max int `json:"max,omitempty" validate:"min=0,max=1000000"`
}

// The ways to name nobody, or to name people twice.
var (
	errNotOne   = errors.New("targets: set exactly one of people, query and none")
	errNobody   = errors.New("targets: this action needs people: set people or query")
	errNoFilter = errors.New("targets: query has no criterion: set one, or everyone")
	errFilter   = errors.New("targets: query says everyone and has a criterion: drop one of the two")
)

// Validate checks what tags cannot say. Executors call it from the Validate of
// their Spec. That there are people is a rule of the list, which does not apply to a
// task over a frozen set.
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

// ValidateSome is Validate for actions that cannot do without people.
func (t Targets) ValidateSome() error {
	if t.None {
		return errNobody
	}
	return t.Validate()
}

// filter is the query as the domain has it.
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
