package taskkit

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// Priority of a task: 1 is claimed first, 4 last. Tasks taken over from a dead
// worker come before all.
type Priority int

// The priorities.
const (
	PriorityHigh   Priority = 1
	PriorityNormal Priority = 2 // the default
	PriorityLow    Priority = 3
	PriorityIdle   Priority = 4
)

// SubmitOption changes how a task is stored. See [Submit].
type SubmitOption interface{ applySubmit(*submission) }

// submission collects options.
type submission struct {
	store.NewTask
	schema string
	quiet  bool
	errs   []error
}

type submitOption func(*submission)

func (f submitOption) applySubmit(s *submission) { f(s) }

// OwnedBy names the person who asked. Defaults to the zero UUID, the system
// itself. Unless RunAs says otherwise the task also runs as this person.
func OwnedBy(person uuid.UUID) SubmitOption {
	return submitOption(func(s *submission) { s.Owner = person })
}

// RunAs names the person as whom the task executes. Defaults to the owner.
func RunAs(person uuid.UUID) SubmitOption {
	return submitOption(func(s *submission) { s.NewTask.RunAs = person })
}

// NotBefore sets the earliest start. The database's clock decides when it has
// come. Defaults to now. Years from 1 to 9999 can be stored.
func NotBefore(t time.Time) SubmitOption {
	return submitOption(func(s *submission) {
		if y := t.UTC().Year(); y < 1 || y > 9999 {
			s.fail("NotBefore", fmt.Sprintf("the year %d is not between 1 and 9999", y))
		}
		s.NewTask.NotBefore = t
	})
}

// Delay sets the earliest start relative to the database's now.
func Delay(d time.Duration) SubmitOption {
	return submitOption(func(s *submission) {
		if d < 0 {
			s.fail("Delay", "negative")
		}
		s.NewTask.Delay = d
	})
}

// WithPriority sets the priority, from [PriorityHigh] to [PriorityIdle].
// Defaults to [PriorityNormal].
func WithPriority(p Priority) SubmitOption {
	return submitOption(func(s *submission) {
		if p < PriorityHigh || p > PriorityIdle {
			s.fail("WithPriority", fmt.Sprintf("%d is not between %d and %d", p, PriorityHigh, PriorityIdle))
		}
		s.NewTask.Priority = int(p)
	})
}

// InQueue sets the queue. Workers name the queues that they serve. Defaults to
// the kind's queue.
func InQueue(name string) SubmitOption {
	return submitOption(func(s *submission) { s.Queue = s.text("InQueue", name, 100) })
}

// WithReason says why the task was submitted, for people who look at the queue.
func WithReason(reason string) SubmitOption {
	return submitOption(func(s *submission) { s.Reason = s.text("WithReason", reason, 1000) })
}

// UniqueKey allows one live task of the kind with this key. A second Submit
// returns a *[DuplicateError], stores nothing and leaves the transaction usable.
func UniqueKey(key string) SubmitOption {
	return submitOption(func(s *submission) { s.NewTask.UniqueKey = s.text("UniqueKey", key, 500) })
}

// IdempotencyKey allows one task of the kind with this key for as long as its
// row is kept, also after it has ended: for requests that a client may repeat.
// A second Submit returns a *[DuplicateError].
func IdempotencyKey(key string) SubmitOption {
	return submitOption(func(s *submission) { s.NewTask.IdempotencyKey = s.text("IdempotencyKey", key, 500) })
}

// Coalesce merges tasks of the kind about one thing (CER-4, CER-14): while a
// task with the same reference waits and has never been claimed, Submit
// replaces its spec, reason and time and returns its id. The handle must be an
// [ExecQuerier].
func Coalesce(reference string) SubmitOption {
	return submitOption(func(s *submission) { s.Reference = s.text("Coalesce", reference, 500) })
}

// ChildOf records the task that submitted this one, as b.Task.
func ChildOf(parent ID) SubmitOption {
	return submitOption(func(s *submission) { s.Parent = parent })
}

// WithTraceparent stores a W3C trace context with the task.
func WithTraceparent(tp string) SubmitOption {
	return submitOption(func(s *submission) { s.Traceparent = s.text("WithTraceparent", tp, 200) })
}

// WithTotal sets the number of items, for progress before the first batch.
func WithTotal(n int) SubmitOption {
	return submitOption(func(s *submission) {
		if n < 0 {
			s.fail("WithTotal", "negative")
		}
		s.Total = int64(n)
	})
}

// Quiet leaves out the hint that wakes workers at once: they find the task at
// their next look. For very large numbers of submissions.
func Quiet() SubmitOption { return submitOption(func(s *submission) { s.quiet = true }) }

// SchemaOption is an option of [Submit] and of [NewClient].
type SchemaOption struct{ name string }

// InSchema names the PostgreSQL schema that holds the tables, where it is not
// [DefaultSchema]. SQLite ignores it.
func InSchema(name string) SchemaOption { return SchemaOption{name} }

func (o SchemaOption) applySubmit(s *submission) {
	if err := checkSchemaName(o.name); err != nil {
		s.errs = append(s.errs, err)
	}
	s.schema = o.name
}

func (o SchemaOption) applyClient(c *Client) {
	if err := checkSchemaName(o.name); err != nil {
		c.err = err
	}
	c.schema = o.name
}

func (s *submission) fail(option, problem string) {
	s.errs = append(s.errs, &OptionError{option, problem})
}

// text checks text that goes into a column and perhaps into an index.
func (s *submission) text(option, v string, most int) string {
	switch {
	case v == "":
		s.fail(option, "empty")
	case !utf8.ValidString(v) || strings.ContainsRune(v, 0):
		s.fail(option, "holds a NUL or is not valid UTF-8")
	case len(v) > most:
		s.fail(option, fmt.Sprintf("%d bytes, more than %d", len(v), most))
	}
	return v
}
