package taskkit

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/notice"
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

// A SubmitOption is an option of [Submit], [SubmitMany] and
// [Registry.SubmitJSON]. Only this package implements it.
type SubmitOption interface{ applySubmit(s *submission) }

// submission collects the options of one call.
type submission struct {
	store.NewTask
	schema        string
	withoutNotify bool
	owned         bool                  // there was OwnedBy or System
	over          over                  // nil: there was no Over
	sample        Sample                // zero: there was no WithSample
	policies      bool                  // there was WithPolicies
	notify        []notice.Subscription // by WithNotifications
	submitted     *Task                 // see WithSubmitted; or nil
	logger        *slog.Logger
	observer      SubmitObserver
	errs          []error
}

type submitOption func(*submission)

func (f submitOption) applySubmit(s *submission) { f(s) }

// SubmitOptions returns several options as one, a template of submissions. Where two options set the same, the later one counts.
func SubmitOptions(opts ...SubmitOption) SubmitOption { return submitOptions(slices.Clone(opts)) }

type submitOptions []SubmitOption

func (l submitOptions) applySubmit(s *submission) {
	for _, o := range l {
		o.applySubmit(s)
	}
}

// WithLogger writes a line at level Info for each task that is stored, with its kind, its id and the size of its spec in
// bytes, as JSON. The task exists if the transaction commits. Without it a submission logs nothing. Nil is none.
func WithLogger(l *slog.Logger) SubmitOption {
	return submitOption(func(s *submission) { s.logger = l })
}

// log writes the lines of [WithLogger].
func (s *submission) log(ctx context.Context, tasks []store.NewTask) {
	if s.logger == nil {
		return
	}
	for i := range tasks {
		s.logger.InfoContext(ctx, "task submitted", "kind", tasks[i].Kind, "task", tasks[i].ID, "spec_bytes", len(tasks[i].Spec))
	}
}

// SystemOwner is the owner of tasks that no person submitted, see [System]. It is
// 00000000-0000-8000-8000-73797374656d, which ends with "system" in ASCII. The
// zero UUID is never an owner: where it is stored, the person is unknown.
var SystemOwner = store.SystemOwner

// OwnedBy names the person on whose behalf the task is submitted. Each submission needs either OwnedBy or
// [System]. The task also runs as this person unless [RunAs] names another. As of
// all options given twice, the last of OwnedBy and System counts. The zero UUID is refused.
func OwnedBy(person uuid.UUID) SubmitOption {
	return submitOption(func(s *submission) {
		s.Owner = s.person("OwnedBy", person)
		s.owned = true
	})
}

// System says that no person submits the task, but the application itself, such as a
// schedule or a consumer of events. The owner is [SystemOwner].
func System() SubmitOption { return OwnedBy(SystemOwner) }

// RunAs names the person as whom the task executes. Defaults to the owner. The
// zero UUID is refused.
func RunAs(person uuid.UUID) SubmitOption {
	return submitOption(func(s *submission) { s.NewTask.RunAs = s.person("RunAs", person) })
}

// WithActor names the person who makes the call. Submit keeps it as Task.CreatedBy, which
// defaults to the owner. A request keeps it in the task's events and, while it is pending,
// with the task; without it the actor is unknown.
func WithActor(person uuid.UUID) interface {
	SubmitOption
	RequestOption
} {
	return actorOption{person}
}

type actorOption struct{ person uuid.UUID }

func (o actorOption) applySubmit(s *submission) { s.Actor = s.person("WithActor", o.person) }

func (o actorOption) applyRequest(r *requestOptions) { r.Actor = o.person }

// WithNotBefore sets the earliest start, compared with the database's clock.
// Defaults to now. The year must be between 1 and 9999.
func WithNotBefore(t time.Time) SubmitOption {
	return submitOption(func(s *submission) {
		if y := t.UTC().Year(); y < 1 || y > 9999 {
			s.fail("WithNotBefore", fmt.Sprintf("the year %d is not between 1 and 9999", y))
		}
		s.NotBefore = t
	})
}

// WithDelay sets the earliest start relative to the database's current time.
func WithDelay(d time.Duration) SubmitOption {
	return submitOption(func(s *submission) {
		if d < 0 {
			s.fail("WithDelay", "negative")
		}
		s.Delay = d
	})
}

// WithPriority sets the priority, from [PriorityHigh] to [PriorityIdle].
// Defaults to [PriorityNormal].
func WithPriority(p Priority) SubmitOption {
	return submitOption(func(s *submission) {
		if p < PriorityHigh || p > PriorityIdle {
			s.fail("WithPriority", fmt.Sprintf("%d is not between %d and %d", p, PriorityHigh, PriorityIdle))
		}
		s.Priority = int(p)
	})
}

// WithQueue sets the queue. Only workers that serve the queue run the task, see
// Config.Queues. A name consists of at most 63 lower case letters, digits,
// underscores, dots and hyphens, and begins with a letter or digit. Defaults to
// the kind's queue.
func WithQueue(name string) SubmitOption {
	return submitOption(func(s *submission) {
		if !lifecycle.ValidQueue(name) {
			s.fail("WithQueue", queueProblem(name))
		}
		s.Queue = name
	})
}

// WithUniqueKey allows only one live task of the kind with this key. A second
// Submit returns a *[DuplicateError], stores nothing and leaves the transaction
// usable. There is one exception, on PostgreSQL and with WithCoalescing: when another
// transaction takes the key while this one merges, the transaction must be rolled
// back.
func WithUniqueKey(key string) SubmitOption {
	return submitOption(func(s *submission) { s.UniqueKey = s.text("WithUniqueKey", key, 500) })
}

// WithIdempotencyKey allows only one task of the kind with this key, for as long
// as its row is kept, even after the task has ended. It is for requests that a
// client may repeat. A second Submit returns a *[DuplicateError].
func WithIdempotencyKey(key string) SubmitOption {
	return submitOption(func(s *submission) { s.IdempotencyKey = s.text("WithIdempotencyKey", key, 500) })
}

// WithCoalescing merges submissions of the kind that concern the same thing.
// While a task with the same reference waits, for its first claim
// or for a retry, Submit replaces it and returns its id: the task takes the new
// spec and reason, keeps the higher priority, and begins again with an empty state, counters of zero
// and fresh attempts. It starts at the time of [WithNotBefore], or without that at the earlier of the two
// times. Another task that waits with the reference ends, COMPLETED and partial. A task that runs, that
// has ended or is to be stopped or deleted is left alone, and a new one is stored, which may run beside it.
// So is one that is half done and waits for another reason than a failed attempt,
// as after [Later]: its work goes on.
//
// Tasks submitted for a later time, by [WithDelay] or [WithNotBefore], are merged
// only with each other.
//
// The last submission wins, whatever it is about. Where submissions may come in another order than what they are about
// has happened, as from a broker, give them a version: see [WithVersion].
//
// Owner, run-as and queue must be those of the waiting task, and unique keys must
// be equal if both have one; otherwise Submit returns a *[CoalesceError] and stores
// nothing. A unique or idempotency key is checked as without a reference, and
// belongs to the merged task afterwards. For a paused task the submission is merged
// and Submit returns a *[PausedError] together with the id.
//
// The handle must be an [ExecQuerier]. Outside a transaction, use a *sql.DB.
func WithCoalescing(reference string) SubmitOption {
	return submitOption(func(s *submission) { s.Reference = s.text("WithCoalescing", reference, 500) })
}

// WithVersion says which version of the thing the spec is about, so that the newest wins and not the last to come:
// a sequence number of the source, or a time as a number. It needs [WithCoalescing]. A submission whose version is not greater
// than that of all before it with the reference is a *[SupersededError], and stores nothing: an equal version is a
// repeated submission. The newest replaces a waiting task as WithCoalescing says, except that it starts at its own time,
// and that tasks for a later time are not kept apart.
//
// At most one task with versions of a reference executes at a time. One that executes is followed by the newer, and goes
// on until it leaves its worker. One that has left it, for a retry or after [Later], or waits for whatever reason is not
// executed after a newer was submitted, even if that one starts later or is stopped: it ends, COMPLETED and partial, with the code superseded.
// [Client.Continue] and [Client.RetryFailed] refuse a task with a version, as their new task has none: submit a newer version, or
// use [Client.Retry], which resumes the same task if it is still the newest.
//
// Versions are compared within a kind by the name that is stored. When a kind is renamed, stop to submit under the old name and wait until its
// tasks have ended before you submit under the new one.
//
// All submissions with a reference should have a version. One without replaces a waiting task whatever the version of that.
// The newest version is kept as long as a task with a version of the reference, whatever its status, and for 14 days after the last
// of them was removed, see [Retention]; a submission that comes later than that is stored. It must not be negative.
func WithVersion(n int64) SubmitOption {
	return submitOption(func(s *submission) {
		if n < 0 {
			s.fail("WithVersion", "negative")
		}
		s.Version = &n
	})
}

// WithPredecessor records the task that this one follows, such as b.Task when a batch submits
// the next task of a chain. Neither waits for the other.
func WithPredecessor(task ID) SubmitOption {
	return submitOption(func(s *submission) { s.NewTask.Follows = task })
}

// WithTraceparent stores a W3C trace context with the task, and with its children unless they have their own. An executor or an observer
// reads it with [Client.Task], and a taskevent.Tracer gets it. Package taskotel adds the contexts of messages after a comma,
// and of the last slice of the work after a semicolon.
func WithTraceparent(tp string) SubmitOption {
	return submitOption(func(s *submission) { s.Traceparent = s.text("WithTraceparent", tp, 200) })
}

// WithTotal sets the number of items, so that progress is known before the first
// batch, such as the number that an earlier task had. Without it the items are counted when the task starts, by a list, [WithTargets], a
// [Targeter] or [Batch.Total], or are not counted.
func WithTotal(n int) SubmitOption {
	return submitOption(func(s *submission) {
		if n < 0 {
			s.fail("WithTotal", "negative")
		}
		s.Total = int64(n)
	})
}

// WithoutNotify omits the wake-up, the notification that lets workers claim the
// task at once. They find it at their next poll. It is for very large numbers of
// submissions.
func WithoutNotify() SubmitOption {
	return submitOption(func(s *submission) { s.withoutNotify = true })
}

// WithReason says why a task is submitted, or why something is requested of it,
// for the people who read it later. The reason of a request is kept in the task's
// events. It is an *[OptionError] for more than 1,000 characters, invalid UTF-8 or a NUL byte, and for an
// empty text in Submit; a request takes an empty one for none.
func WithReason(reason string) interface {
	SubmitOption
	RequestOption
} {
	return reasonOption{reason}
}

type reasonOption struct{ reason string }

func (o reasonOption) applySubmit(s *submission) {
	if problem := o.problem(); problem != "" {
		s.fail("WithReason", problem)
	}
	s.Reason = o.reason
}

func (o reasonOption) applyRequest(r *requestOptions) {
	if problem := o.problem(); problem != "" && o.reason != "" {
		r.errs = append(r.errs, &OptionError{"WithReason", problem})
	}
	r.Reason = o.reason
}

// problem says what is wrong with the reason; "" if nothing is.
func (o reasonOption) problem() string {
	if n := utf8.RuneCountInString(o.reason); n > maxReason {
		return fmt.Sprintf("%d characters, more than %d", n, maxReason)
	}
	return textProblem(o.reason, utf8.UTFMax*maxReason)
}

// maxReason is the most characters of a reason.
const maxReason = 1000

// WithSchema names the PostgreSQL schema that holds the tables. It defaults, also with "", to
// [DefaultSchema], and with b.Tx as the handle to the schema of the batch's task, beside
// which it is refused. SQLite ignores it.
func WithSchema(name string) interface {
	SubmitOption
	ClientOption
} {
	return schemaOption{name}
}

type schemaOption struct{ name string }

func (o schemaOption) applySubmit(s *submission) {
	if o.name == "" {
		return
	}
	if err := checkSchemaName(o.name); err != nil {
		s.errs = append(s.errs, err)
	}
	s.schema = o.name
}

func (o schemaOption) applyClient(c *Client) {
	if o.name == "" {
		return
	}
	if err := checkSchemaName(o.name); err != nil {
		c.err = err
	}
	c.schema = o.name
}

// checkPairs refuses options that exclude or need each other.
func (s *submission) checkPairs() {
	if !s.NotBefore.IsZero() && s.Delay != 0 {
		s.fail("WithDelay", "used together with WithNotBefore: use one of the two")
	}
	if s.Version != nil && s.Reference == "" {
		s.fail("WithVersion", "used without WithCoalescing, which names what it is a version of")
	}
}

func (s *submission) fail(option, problem string) {
	s.errs = append(s.errs, &OptionError{option, problem})
}

// person checks the id of a person.
func (s *submission) person(option string, id uuid.UUID) uuid.UUID {
	if id == uuid.Nil {
		s.fail(option, "the zero UUID names nobody: name a person, or use System for a task that no person asked for")
	}
	return id
}

// text checks text that is stored in a column and perhaps indexed.
func (s *submission) text(option, v string, most int) string {
	if problem := textProblem(v, most); problem != "" {
		s.fail(option, problem)
	}
	return v
}

// textProblem says why a text cannot be stored; "" if it can.
func textProblem(v string, most int) string {
	switch {
	case v == "":
		return "empty"
	case !utf8.ValidString(v) || strings.ContainsRune(v, 0):
		return "contains a NUL byte or invalid UTF-8"
	case len(v) > most:
		return fmt.Sprintf("%d bytes, more than %d", len(v), most)
	}
	return ""
}

// queueProblem says why a queue cannot have this name.
func queueProblem(name string) string {
	return fmt.Sprintf("%q is not a valid name of a queue: use %s", shorten(name), lifecycle.QueueRule)
}
