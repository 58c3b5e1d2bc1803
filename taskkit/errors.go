package taskkit

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

var (
	// ErrNotFound: there is no such task. It may have been deleted.
	ErrNotFound = errors.New("taskkit: no such task")
	// ErrNoResult: the task has no result, because it has not ended, was not
	// done, or its kind has none.
	ErrNoResult = errors.New("taskkit: the task has no result")
)

// UnknownKindError: no executor is registered for a kind.
type UnknownKindError struct {
	Kind  string
	Known []string
}

func (e *UnknownKindError) Error() string {
	return fmt.Sprintf("taskkit: unknown kind %q: register its executor; known are %s",
		e.Kind, orNone(e.Known))
}

// MissingExecutorError: a kind was registered without an executor.
type MissingExecutorError struct{ Kind string }

func (e *MissingExecutorError) Error() string {
	return fmt.Sprintf("taskkit: kind %q has no executor: set its field in gen.Executors, or pass one to Register", e.Kind)
}

// DuplicateKindError: two executors claim the same kind, by name or alias.
type DuplicateKindError struct{ Kind string }

func (e *DuplicateKindError) Error() string {
	return fmt.Sprintf("taskkit: kind %q is registered twice: give one of the two executors another name", e.Kind)
}

// SpecError: a spec was refused before anything was stored.
type SpecError struct {
	Kind   string
	Index  int // in SubmitMany; 0 otherwise
	Fields []FieldError
	Err    error // what Validate returned, or what encoding found; may be nil
}

// FieldError is one field that does not keep its rule.
type FieldError struct {
	Path  string // by JSON names: people[3].id
	Rule  string // the tag and its parameter: max=100000
	Value string // what it is, shortened
}

func (e *SpecError) Error() string {
	var parts []string
	for _, f := range e.Fields {
		parts = append(parts, fmt.Sprintf("%s breaks the rule %s (it is %s)", f.Path, f.Rule, f.Value))
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return fmt.Sprintf("taskkit: spec of %s refused, nothing was stored: %s", e.Kind, strings.Join(parts, "; "))
}

// Unwrap returns Err.
func (e *SpecError) Unwrap() error { return e.Err }

// RevisionError: what is stored of a task is of a revision that this program
// cannot read. Nothing is wrong with the task.
type RevisionError struct {
	Kind     string
	Revision int
	Known    []int // ascending
}

func (e *RevisionError) Error() string {
	remedy := "a newer version wrote it: update this program"
	if n := len(e.Known); n > 0 && e.Revision < e.Known[n-1] {
		remedy = "it was read once: put it back into Definition.Reads, with its upgrades"
	}
	return fmt.Sprintf("taskkit: a task of kind %s is of revision %d, and this program reads %v; %s", e.Kind, e.Revision, e.Known, remedy)
}

// RetiredKindError: the kind takes no new tasks.
type RetiredKindError struct{ Kind string }

func (e *RetiredKindError) Error() string {
	return fmt.Sprintf("taskkit: kind %s is retired: its tasks are run, but none are submitted any more; nothing was stored", e.Kind)
}

// OptionError: an option of Submit or of a worker cannot be used as it is.
type OptionError struct{ Option, Problem string }

func (e *OptionError) Error() string { return fmt.Sprintf("taskkit: %s: %s", e.Option, e.Problem) }

// DuplicateError: a task with the same unique key or idempotency key exists.
// The caller's transaction is not spoiled, and may commit without the task.
type DuplicateError struct {
	Kind string
	Key  string
	// ID is the task that has the key; zero where the handle cannot ask.
	ID ID
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("taskkit: a %s task with key %q exists already (%s)", e.Kind, e.Key, e.ID)
}

// StateError: a request that the task's status does not allow.
type StateError struct {
	ID      ID
	Action  string
	Status  Status
	Control Control
}

func (e *StateError) Error() string {
	hint := map[string]string{
		"pause":  "only a task that has not ended can be paused",
		"resume": "only a paused task can be resumed",
		"retry":  "only a task in ERROR or FAILURE can be retried",
		"stop":   "only a task that has not ended can be stopped",
	}[e.Action]
	state := string(e.Status)
	if e.Control != "" {
		state += " with " + string(e.Control) + " requested"
	}
	return fmt.Sprintf("taskkit: cannot %s task %s: it is %s; %s", e.Action, e.ID, state, hint)
}

// IDError: text that names no task, or more than one.
type IDError struct {
	Text    string
	Problem string
	Matches []ID
}

func (e *IDError) Error() string {
	return fmt.Sprintf("taskkit: %q is no task: %s", e.Text, e.Problem)
}

// ConnectError: the database cannot be reached or used.
type ConnectError struct{ Err error }

func (e *ConnectError) Error() string {
	return fmt.Sprintf("taskkit: cannot use the database: %v; check the DSN and that the server accepts connections", e.Err)
}

// Unwrap returns the driver's error.
func (e *ConnectError) Unwrap() error { return e.Err }

// ParseID reads a full id.
func ParseID(s string) (ID, error) {
	id, err := uuid.Parse(s)
	if err != nil {
		return ID{}, &IDError{Text: s, Problem: "want 36 characters like 01890a5d-ac96-774b-bcce-b302099a8057"}
	}
	return id, nil
}

// public turns an error of the store into one of this package.
func public(err error) error {
	var (
		state *store.StateError
		dup   *store.DuplicateError
	)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return ErrNotFound
	case errors.As(err, &state):
		return &StateError{ID: state.ID, Action: string(state.Action), Status: Status(state.Status), Control: Control(state.Control)}
	case errors.Is(err, store.ErrCannotAsk):
		return &OptionError{"Coalesce", "this handle can only execute; use one that can query as well, as *sql.Tx and ent's transactions can"}
	case errors.As(err, &dup):
		return &DuplicateError{Kind: dup.Kind, Key: dup.Key, ID: dup.ID}
	default:
		return fmt.Errorf("taskkit: %w", err)
	}
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
