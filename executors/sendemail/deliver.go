package sendemail

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/taskkit"
)

// draft is a mail to a person, or why there can be none.
type draft struct {
	person uuid.UUID
	mail   Mail
	err    error
}

// compose writes a mail to each of the people whose mail is not settled yet.
func (x *Executor) compose(ctx context.Context, b *taskkit.Batch[Spec, State], people []uuid.UUID) ([]draft, error) {
	settled, err := caseload.Settled(ctx, x.Caseload, b.Task, people)
	if err != nil {
		return nil, err
	}
	found, err := caseload.Find(ctx, x.Caseload, people)
	if err != nil {
		return nil, err
	}
	var drafts []draft
	for _, id := range people {
		if settled[id] {
			continue
		}
		d := draft{person: id, err: ErrNoAddress}
		if p := found[id]; p != nil && p.Email != nil {
			if to, err := mail.ParseAddress(*p.Email); err == nil {
				fill := strings.NewReplacer("{first_name}", p.FirstName, "{last_name}", p.LastName)
				key := b.IdempotencyKey(id)
				d.mail, d.err = Mail{
					To: to.Address, Key: key, MessageID: key + "@" + x.domain(), Task: b.Task,
					Subject: oneLine(fill.Replace(b.Spec.Letter.Subject)), Body: fill.Replace(b.Spec.Letter.Body),
				}, nil
			}
		}
		drafts = append(drafts, d)
	}
	return drafts, nil
}

// deliver sends the drafts, but not in a preview, and classifies the results. It returns the
// letters that are settled, and the drafts that may still be sent.
func (x *Executor) deliver(ctx context.Context, b *taskkit.Batch[Spec, State], drafts []draft) (letters []caseload.Letter, unsent []draft) {
	var mails []Mail
	var sent []*draft
	for i := range drafts {
		if drafts[i].err == nil {
			mails, sent = append(mails, drafts[i].mail), append(sent, &drafts[i])
		}
	}
	if len(mails) > 0 && !b.Preview {
		for i, err := range x.Mailer.Send(ctx, mails) {
			sent[i].err = err
		}
	}
	for _, d := range drafts {
		l := caseload.Letter{Person: d.person, Address: d.mail.To, MessageID: d.mail.MessageID}
		switch {
		case d.err == nil:
			b.State.Sent++
			b.Note(d.person, "mail to "+domainOf(d.mail.To))
		case errors.Is(d.err, ErrNoAddress), errors.Is(d.err, ErrRefused):
			b.State.Refused++
			b.Fail(d.person, taskkit.Permanent(code(d.err), d.err)) // permanent; go on
			l.Refused = d.err.Error()
		default:
			unsent = append(unsent, d)
			continue
		}
		letters = append(letters, l)
	}
	return letters, unsent
}

// domainOf is what follows the @ in an address.
func domainOf(address string) string { return address[strings.LastIndex(address, "@")+1:] }

// cause returns the most important reason why drafts were not sent: first a throttling
// server, and last a busy mailbox.
func cause(unsent []draft) (err error) {
	for _, d := range unsent {
		if err == nil || errors.Is(err, ErrBusy) || errors.Is(d.err, ErrThrottled) {
			err = d.err
		}
	}
	return err
}

// code is the code for clients of a mail that was not sent.
func code(err error) string {
	switch {
	case errors.Is(err, ErrNoAddress):
		return "no_address"
	case errors.Is(err, ErrRefused):
		return "refused"
	case errors.Is(err, ErrBusy):
		return "mailbox_busy"
	case errors.Is(err, ErrThrottled):
		return "throttled"
	default:
		return "not_sent"
	}
}

// patience marks the error of a batch that sent nothing.
func (x *Executor) patience(err error) error {
	if errors.Is(err, ErrThrottled) || errors.Is(err, ErrBusy) {
		return taskkit.RetryAfter(err, x.pause(err))
	}
	return fmt.Errorf("send mail: %w", err) // SMTP marks what is permanent
}

// pause is how long to wait after an error: Executor.Pause after ErrThrottled, and
// otherwise 0, since the next batch tries again.
func (x *Executor) pause(err error) time.Duration {
	switch {
	case !errors.Is(err, ErrThrottled) && !errors.Is(err, ErrBusy):
		return 0
	case x.Pause > 0:
		return x.Pause
	default:
		return 30 * time.Second
	}
}

func (x *Executor) domain() string {
	if x.Domain == "" {
		return "taskkit.invalid" // a name that is reserved never to exist
	}
	return x.Domain
}

// oneLine makes any white space one blank: a name with a line break must not
// begin another header.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
