package taskkit

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/store"
)

var (
	// ErrNotFound: there is no such task. It may have been deleted.
	ErrNotFound = errors.New("taskkit: no such task")
	// ErrNoResult: the task has no result, because it has not ended, was not
	// done, or its kind has none.
	ErrNoResult = errors.New("taskkit: the task has no result")
	// ErrExpired: the task had a result, which has been erased since: see [Retention].
	ErrExpired = errors.New("taskkit: the result has expired and is erased")
	// ErrRetired: the kind takes no new tasks. It is the Err of a *[UsageError].
	ErrRetired = errors.New("taskkit: the kind is retired")
)

// UsageError: the program uses the package in a way that cannot work, such as a kind that
// is registered twice or without an executor. The remedy is a change of the program.
type UsageError struct {
	What string // what is wrong: kind "mail", stage "load"
	Why  string // the problem and its remedy
	Err  error  // the cause, which Why contains, or nil
}

func (e *UsageError) Error() string { return "taskkit: " + e.What + ": " + e.Why }

// Unwrap returns Err.
func (e *UsageError) Unwrap() error { return e.Err }

// SpecError: a spec was refused before anything was stored.
type SpecError struct {
	Kind   string
	Index  int // in SubmitMany; 0 otherwise
	Fields []FieldError
	// Omitted is how many more fields break their rules; Fields has the first 100.
	Omitted int
	// Err is what Validate returned, or what encoding found; may be nil. Clients over HTTP see the text of
	// an error of Validate, which must contain no secret. A *[UsageError] if a validate tag cannot be used
	// or Validate panicked: its text is not for clients.
	Err error
}

// FieldError is one field that breaks a rule.
type FieldError struct {
	// Pointer is the place as RFC 6901 writes it: /people/3/id. Within a secret it ends in
	// "***".
	Pointer string `json:"pointer"`
	Rule    string `json:"rule"`  // the tag and its parameter: max=100000
	Value   string `json:"value"` // the field's value, shortened; "***" for a secret
}

// The most of an invalid spec that Error prints.
const (
	printedFields = 10
	printedText   = 1000
)

func (e *SpecError) Error() string {
	var parts []string
	for _, f := range e.Fields[:min(len(e.Fields), printedFields)] {
		parts = append(parts, f.String())
	}
	if n := len(e.Fields) + e.Omitted; n > printedFields {
		parts = append(parts, fmt.Sprintf("and %d more", n-printedFields))
	}
	if e.Err != nil {
		parts = append(parts, e.cause())
	}
	return fmt.Sprintf("taskkit: spec of %s refused, nothing was stored: %s", e.Kind, strings.Join(parts, "; "))
}

// MarshalJSON writes {"kind", "index", "fields", "omitted", "error"}, for the
// answer to a client. The last three are left out where they are empty.
func (e *SpecError) MarshalJSON() ([]byte, error) {
	out := struct {
		Kind    string       `json:"kind"`
		Index   int          `json:"index"`
		Fields  []FieldError `json:"fields,omitempty"`
		Omitted int          `json:"omitted,omitempty"`
		Error   string       `json:"error,omitempty"`
	}{Kind: e.Kind, Index: e.Index, Fields: e.Fields, Omitted: e.Omitted}
	if e.Err != nil {
		out.Error = e.cause()
	}
	return json.Marshal(out)
}

// cause is the text of Err.
func (e *SpecError) cause() string {
	return shortenTo(strings.TrimPrefix(e.Err.Error(), "taskkit: "), printedText)
}

// Unwrap returns Err.
func (e *SpecError) Unwrap() error { return e.Err }

// RevisionError: a task was stored at a revision that this program cannot read.
// The task itself is valid.
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

// OptionError: an option or argument cannot be used as it is, such as a nil
// database handle or a field of [Config].
type OptionError struct{ Option, Problem string }

func (e *OptionError) Error() string { return fmt.Sprintf("taskkit: %s: %s", e.Option, e.Problem) }

// TargetsError: a set of targets given to [WithTargets] cannot be stored.
type TargetsError struct {
	Problem string
	// Keys are the targets that it is about, as JSON, and Positions where they came in
	// the sequence, from 0. Both are empty for a problem of the whole set.
	Keys      []string
	Positions []int
}

func (e *TargetsError) Error() string { return "taskkit: WithTargets: " + e.Problem }

// DuplicateError: a task with the same unique key or idempotency key exists.
// The caller's transaction remains usable and may commit without the task.
type DuplicateError struct {
	Kind string
	// By says which key is taken: "unique key" or "idempotency key". If both are, it is
	// the latter. If the handle cannot query, it is one that the submission has.
	By  string
	Key string
	// ID is the task that has the key; zero if the handle cannot query.
	ID ID
}

func (e *DuplicateError) Error() string {
	task := "a " + e.Kind + " task"
	if e.ID != (ID{}) {
		task = fmt.Sprintf("%s task %s", e.Kind, e.ID)
	}
	remedy := map[string]string{
		"unique key":      "wait until that task has ended, or stop it",
		"idempotency key": "the request was submitted before, so use that task",
	}[e.By]
	if remedy != "" {
		remedy = ": " + remedy
	}
	return fmt.Sprintf("taskkit: %s with the %s %q exists already%s", task, e.By, shorten(e.Key), remedy)
}

// CoalesceError: a submission with [WithCoalescing] met a waiting task of the same
// reference into which it may not be merged, since the work would then be done
// with the rights of another person, or elsewhere. Nothing was stored, and the
// caller's transaction is not spoiled.
type CoalesceError struct {
	Kind      string
	Reference string
	ID        ID // the waiting task
	// Differs names what differs: "owner", "run-as", "queue" or "unique key".
	Differs []string
}

func (e *CoalesceError) Error() string {
	verb := "differs"
	if len(e.Differs) > 1 {
		verb = "differ"
	}
	return fmt.Sprintf("taskkit: cannot merge the submission into the waiting %s task %s with reference %q: the %s %s; "+
		"nothing was stored: put what differs into the reference, so that the two are separate tasks, or submit again once that task has started",
		e.Kind, e.ID, shorten(e.Reference), list(e.Differs, "and"), verb)
}

// PausedError: a submission with [WithCoalescing] was merged into a task that is
// paused, so nothing is done until somebody resumes it. Submit returns it together
// with the id of the task. In a transaction the merge is kept by Commit and
// dropped by Rollback.
type PausedError struct {
	Kind      string
	Reference string
	ID        ID // the paused task
}

func (e *PausedError) Error() string {
	return fmt.Sprintf("taskkit: merged into %s task %s with reference %q, which is paused; resume it, or roll back to drop this submission",
		e.Kind, e.ID, shorten(e.Reference))
}

// SupersededError: a submission with [WithVersion] came after one of the same reference whose version is the same or
// newer. Nothing was stored, and the caller's transaction is not spoiled.
type SupersededError struct {
	Kind      string
	Reference string
	Version   int64 // of the submission
	Newest    int64 // of all before it
}

func (e *SupersededError) Error() string {
	return fmt.Sprintf("taskkit: version %d of %s task with reference %q is superseded by version %d; nothing was stored",
		e.Version, e.Kind, shorten(e.Reference), e.Newest)
}

// StateError: a request that the task's status does not allow, or its stop policy or
// missing approval.
type StateError struct {
	ID      ID
	Action  string
	Status  Status
	Control Control
	// Problem says what besides the status does not allow it, and what to do. It is empty if
	// the status does not.
	Problem string
	// Condition is by what programs tell these problems apart. It is empty if Problem is.
	Condition Condition
}

// Condition is what besides its status keeps a paused task from going on.
type Condition string

// The conditions.
const (
	ConditionNeedsApproval     Condition = "needs approval"      // it waits for an approval, see [Client.Approve]
	ConditionNeedsNoApproval   Condition = "needs no approval"   // it waits for a resume, see [Client.Resume]
	ConditionNeedsSecondPerson Condition = "needs second person" // see [WithApproval]
	ConditionLimitReached      Condition = "limit reached"       // of failed items, see [WithStopAfter]
)

func (e *StateError) Error() string {
	if e.Problem != "" {
		return fmt.Sprintf("taskkit: cannot %s task %s: %s", e.Action, e.ID, e.Problem)
	}
	allowed := map[string]string{
		"pause":   "only a task that has not ended can be paused",
		"resume":  "only a paused task can be resumed",
		"retry":   "only a task in ERROR or FAILURE can be retried",
		"stop":    "only a task that has not ended can be stopped",
		"approve": "only a task that waits for approval can be approved",
		"change":  "only a task that has not ended can be changed",

		actContinue:    "only a task that was stopped, or is in ERROR or FAILURE, can be continued",
		actRetryFailed: "wait until it has ended, or stop it",
	}[e.Action]
	state := string(e.Status)
	if e.Control != "" {
		state += " with " + string(e.Control) + " requested"
	}
	of := " "
	if e.Action == actRetryFailed {
		of = " of "
	}
	return fmt.Sprintf("taskkit: cannot %s%stask %s: it is %s; %s", e.Action, of, e.ID, state, allowed)
}

// IDError: text that identifies no task, or more than one.
type IDError struct {
	Text    string
	Problem string
	Matches []ID
}

func (e *IDError) Error() string {
	return fmt.Sprintf("taskkit: %q does not identify a task: %s", e.Text, e.Problem)
}

// ConnectError: the database cannot be reached or used.
type ConnectError struct{ Err error }

func (e *ConnectError) Error() string {
	text := fmt.Sprintf("taskkit: cannot use the database: %v", e.Err)
	switch {
	case classify.LacksRight(e.Err):
		return text + "; the role lacks a right: see Roles in docs/operations.md"
	case classify.OfSQLite(e.Err):
		return text
	}
	return text + "; check the DSN and that the server accepts connections"
}

// Unwrap returns the driver's error.
func (e *ConnectError) Unwrap() error { return e.Err }

// RefusedError: the database refuses what a worker does: its role lacks a right, the database is read-only, or a pooler
// does not keep prepared statements.
type RefusedError struct {
	Problem string
	Remedy  string // the statement or the setting that mends it
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("taskkit: the database refuses what a worker does: %s: %s", e.Problem, e.Remedy)
}

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
	if err == nil {
		return nil
	}
	var (
		state   *store.StateError
		dup     *store.DuplicateError
		differ  *store.CoalesceError
		paused  *store.PausedError
		older   *store.SupersededError
		schema  *migrate.SchemaError
		targets *store.TargetsError
		parent  *store.ParentError
		spec    *SpecError
	)
	switch {
	case err == nil:
		return nil
	case ofItems(err):
		return err
	case errors.Is(err, store.ErrNotFound):
		return ErrNotFound
	case errors.Is(err, store.ErrExpired):
		return ErrExpired
	case errors.As(err, &schema):
		return &SchemaError{Schema: schema.Schema, Have: schema.Have, Want: schema.Want, err: schema}
	case errors.As(err, &state):
		return &StateError{
			ID: state.ID, Action: string(state.Action), Status: Status(state.Status), Control: Control(state.Control),
			Problem: state.Why, Condition: Condition(state.Condition),
		}
	case errors.Is(err, store.ErrNoSkip):
		return &OptionError{"WithSkip", store.ErrNoSkip.Error()}
	case errors.Is(err, store.ErrBucketLimit):
		return &OptionError{"WithStopAfter", store.ErrBucketLimit.Error()}
	case errors.Is(err, store.ErrNoPart):
		return &OptionError{"WithSkip", store.ErrNoPart.Error()}
	case errors.Is(err, store.ErrCannotQuery):
		return &OptionError{"WithCoalescing", "this handle can only execute; use one that can query as well, as *sql.Tx and ent's transactions can"}
	case errors.As(err, &parent):
		return &ChildError{ID: parent.ID, Parent: parent.Parent, Status: Status(parent.Status), Reason: childReasons[parent.Action]}
	case errors.As(err, &targets):
		return &TargetsError{Problem: targets.Problem, Keys: targets.Keys, Positions: targets.Positions}
	case errors.As(err, &spec):
		return spec // of a target, while they were read
	case errors.As(err, &dup):
		return &DuplicateError{Kind: dup.Kind, By: strings.ReplaceAll(dup.Column, "_", " "), Key: dup.Key, ID: dup.ID}
	case errors.As(err, &differ):
		return &CoalesceError{Kind: differ.Kind, Reference: differ.Reference, ID: differ.ID, Differs: differ.Differs}
	case errors.As(err, &older):
		return &SupersededError{Kind: older.Kind, Reference: older.Reference, Version: older.Version, Newest: older.Newest}
	case errors.As(err, &paused):
		return &PausedError{Kind: paused.Kind, Reference: paused.Reference, ID: paused.ID}
	default:
		return fmt.Errorf("taskkit: %w", err)
	}
}

// named returns the What of a *[UsageError]: a kind or a stage with this name.
func named(what, name string) string { return fmt.Sprintf("%s %q", what, shorten(name)) }

// list joins names for a sentence: "a", "a and b", "a, b and c".
func list(names []string, word string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
