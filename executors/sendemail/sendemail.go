// Package sendemail sends a mail to each of many people.
package sendemail

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/executors/targets"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/taskkit"
)

// Spec has the recipients and the letter.
type Spec struct {
	// Targets are the people.
	Targets targets.Targets `json:"targets"`
	// Letter is the mail.
	Letter Letter `json:"letter"`
}

// Letter is the text of a mail. {first_name} and {last_name} stand for the
// recipient's.
type Letter struct {
	// Subject is one line.
	Subject string `json:"subject" validate:"required,max=200"`
	// Body is plain text.
	Body string `json:"body" validate:"required,max=100000"`
}

// Validate checks what tags cannot say.
func (s *Spec) Validate() error {
	if err := s.Letter.Validate(); err != nil {
		return err
	}
	return s.Targets.ValidateSome()
}

// Validate checks what tags cannot say.
func (l *Letter) Validate() error {
	if strings.ContainsAny(l.Subject, "\r\n") {
		return errors.New("letter.subject: a line break would begin another header: use one line")
	}
	return nil
}

// State counts the outcomes of the mails.
type State struct {
	Cursor targets.Cursor `json:"cursor"`
	// Sent counts the mails that the mail server accepted.
	Sent int `json:"sent,omitempty"`
	// Refused counts the people without an address, or whose mail the server refused.
	Refused int `json:"refused,omitempty"`
}

// Mail is one mail, ready to be sent.
type Mail struct {
	To        string
	MessageID string // the same for the same task and person, always
	Key       string // likewise; goes into the header X-Taskkit-Key
	Task      uuid.UUID
	Subject   string
	Body      string
}

// Mailer sends mails. [SMTP] is one. It is used by many batches at once.
type Mailer interface {
	// Send sends mails and returns the outcome of each, in their order: nil, or an
	// error that is [ErrRefused], [ErrBusy], [ErrThrottled] or transient. After
	// [ErrThrottled] it sends no more, and returns that error for the remaining ones.
	Send(ctx context.Context, mails []Mail) []error
}

var (
	// ErrNoAddress means that a person has no valid address.
	ErrNoAddress = errors.New("no mail address")
	// ErrRefused means that the mail server will never take a mail.
	ErrRefused = errors.New("mail refused")
	// ErrBusy means that a mailbox takes no mail for now.
	ErrBusy = errors.New("mailbox busy")
	// ErrThrottled means that the mail server takes no more for now.
	ErrThrottled = errors.New("mail server asks to wait")
)

// Executor sends mail.
//
//taskkit:executor send_email batch=100 queue=mail targets=targets.people preview
type Executor struct {
	// Caseload is a client outside of any transaction, for reading. Required.
	Caseload *ent.Client
	// Mailer sends. Required.
	Mailer Mailer
	// Pause is how long to wait after [ErrThrottled]. Defaults to 30 s.
	Pause time.Duration
	// Domain ends the Message-IDs. Defaults to "taskkit.invalid".
	Domain string
}

// Execute implements [taskkit.Executor]. It reads and sends before it uses b.Tx, so
// that no transaction is open during the calls of a slow mail server; on SQLite it
// would block all writers. Reading outside the transaction is safe: only this task
// writes these rows of the outbox, and a worker that has lost the task cannot commit.
//
// A mail to a busy mailbox is deferred, so that it does not delay the others. Only a
// server that accepts no mail at all fails the batch.
func (x *Executor) Execute(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	if b.Spec.Targets.Query != nil {
		return x.walk(ctx, b)
	}
	people, next := taskkit.Take(b, b.Spec.Targets.People)
	drafts, err := x.compose(ctx, b, people)
	if err != nil {
		return next, err
	}
	letters, unsent := x.deliver(ctx, b, drafts)
	if stopped := cause(unsent); len(letters) == 0 && stopped != nil && !errors.Is(stopped, ErrBusy) {
		return next, x.patience(stopped)
	}
	for _, d := range unsent {
		b.Defer(d.person, taskkit.Permanent(code(d.err), d.err))
	}
	return next, x.record(ctx, b, letters)
}

// walk sends to the people of a query. If the server accepts only a part of a page, that
// part is committed and the cursor stays: the next batch omits the people in the outbox.
func (x *Executor) walk(ctx context.Context, b *taskkit.Batch[Spec, State]) (taskkit.Next, error) {
	page, err := b.Spec.Targets.Query.Page(ctx, x.Caseload, b.State.Cursor, b.Limit)
	if err != nil {
		return taskkit.More, err
	}
	drafts, err := x.compose(ctx, b, page.People)
	if err != nil {
		return taskkit.More, err
	}
	letters, unsent := x.deliver(ctx, b, drafts)
	stopped := cause(unsent)
	if stopped != nil && len(letters) == 0 {
		return taskkit.More, x.patience(stopped) // no progress: this spends an attempt
	}
	b.Total(page.Total)
	b.Advance(len(letters))
	b.State.Cursor = page.Here
	next := taskkit.Later(x.pause(stopped))
	if stopped == nil {
		b.State.Cursor, next = page.After, page.Next
	}
	return next, x.record(ctx, b, letters)
}

// record writes letters into the outbox.
func (*Executor) record(ctx context.Context, b *taskkit.Batch[Spec, State], letters []caseload.Letter) error {
	return caseload.Record(ctx, ent.NewClient(ent.Driver(b.EntDriver())), b.Task, letters)
}
