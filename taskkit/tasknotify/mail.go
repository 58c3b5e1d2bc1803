package tasknotify

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"
	"unicode"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
)

const (
	// digestAfter is after how many mails to one person about one kind, in the time of digestWindow, further ones are sent as one.
	digestAfter  = 5
	digestWindow = 10 * time.Minute
	// digestPoll is how long a notification waits for the digest of another.
	digestPoll = time.Minute
)

// Mailer sends mails. It is implemented by the application with its mail library.
type Mailer interface {
	// SendMail sends one mail. A permanent error (taskkit.Permanent) makes the notification a dead letter, another one is tried again.
	SendMail(ctx context.Context, m *Letter) error
}

// Letter is a mail as a [Mailer] sends it. Addresses and headers have no line breaks.
type Letter struct {
	To, Subject string
	Text, HTML  string
	// MessageID is the same at each try, and References are the mails of the same thread: one of each task. Both are without angle
	// brackets.
	MessageID  string
	References []string
	// Unsubscribe is the address of List-Unsubscribe, without angle brackets; "" if there is none. A URL of https takes the POST of RFC 8058.
	Unsubscribe string
}

// Mail is a target that gets notifications by mail. After 5 mails to one address about one kind in 10 minutes, the next 10 minutes
// come as one mail.
type Mail struct {
	// Mailer sends the mails. It is needed.
	Mailer Mailer
	// Address returns to whom a notification goes: of the owner of the task, or of a team. No address is none, and the notification
	// ends as skipped. It is needed.
	Address func(ctx context.Context, n notice.Notice) (string, error)
	// Domain is the right side of message ids, such as tasks.example. It is needed.
	Domain string
	// Unsubscribe returns the address of List-Unsubscribe: a page that calls [Unsubscribe], or a mailto. Defaults to none.
	Unsubscribe func(n notice.Notice) string
}

// MailAddressError is an address to which no mail can go.
type MailAddressError struct {
	Problem string // without the address
}

func (e *MailAddressError) Error() string {
	return "the mail address " + e.Problem + ": correct what Mail.Address returns"
}

// check implements [deliverer].
func (m *Mail) check() error {
	switch {
	case m == nil:
		return errors.New("it is a nil *Mail")
	case m.Mailer == nil:
		return errors.New("Mail.Mailer is nil")
	case m.Address == nil:
		return errors.New("Mail.Address is nil")
	case m.Domain == "" || strings.Trim(strings.ToLower(m.Domain), "abcdefghijklmnopqrstuvwxyz0123456789.-") != "":
		return fmt.Errorf("Mail.Domain is %.50q: use the name of a domain such as tasks.example", m.Domain)
	}
	return nil
}

// Deliver implements [Target]: it sends a mail at once.
func (m *Mail) Deliver(ctx context.Context, n *Message) error {
	to, err := m.address(ctx, n.Notice)
	if err != nil {
		return err
	}
	return m.Mailer.SendMail(ctx, m.letter(to, n))
}

// deliver implements [deliverer]. The place among the mails of 10 minutes is taken before the mail is sent, so that tasks
// that end together do not each find it free.
func (m *Mail) deliver(ctx context.Context, d *delivery, n *Message) (taskkit.Next, error) {
	to, err := m.address(ctx, n.Notice)
	if err != nil {
		return taskkit.Done, err
	}
	gone, err := d.unsubscribed(ctx, d.db, n.Target, to)
	switch {
	case err != nil:
		return taskkit.Done, err
	case gone:
		return taskkit.Done, errUnsubscribed
	}
	g := group{n.Target, to, n.Kind}
	switch d.b.State.Stage {
	case "":
		return m.reserve(ctx, d, g, n)
	case stateHeld:
		return m.digest(ctx, d, g)
	}
	return taskkit.Done, m.Mailer.SendMail(ctx, m.letter(to, n))
}

// reserve decides whether a mail is sent or waits for a digest.
func (m *Mail) reserve(ctx context.Context, d *delivery, g group, n *Message) (taskkit.Next, error) {
	sent, err := d.recent(ctx, d.b.Tx, g)
	if err != nil {
		return taskkit.Done, err
	}
	if sent < digestAfter {
		d.b.State.Stage = "send"
		return taskkit.More, d.insert(ctx, d.b.Tx, g, stateSent, d.b.Task, nil)
	}
	d.b.State.Stage = stateHeld
	return taskkit.Later(digestWindow), d.insert(ctx, d.b.Tx, g, stateHeld, d.b.Task, &n.Notice)
}

// digest sends all notifications of a group that wait, if its own is the oldest of those in progress.
func (m *Mail) digest(ctx context.Context, d *delivery, g group) (taskkit.Next, error) {
	list, sender, err := d.held(ctx, g)
	if err != nil {
		return taskkit.Done, err
	}
	mine := false
	for _, h := range list {
		mine = mine || h.task == d.b.Task
	}
	switch {
	case !mine:
		return taskkit.Done, nil // a digest had it
	case sender != d.b.Task:
		return taskkit.Later(digestPoll), nil
	}
	messages := make([]*Message, len(list))
	for i, h := range list {
		messages[i] = &Message{Notice: h.Notice, ID: "msg_" + h.task.String(), Link: d.link(h.Notice)}
	}
	if err := m.Mailer.SendMail(ctx, m.digestLetter(g.to, messages)); err != nil {
		return taskkit.Done, err
	}
	return taskkit.Done, d.forget(ctx, d.b.Tx, list)
}

// address returns the address of a notification.
func (m *Mail) address(ctx context.Context, n notice.Notice) (string, error) {
	text, err := m.Address(ctx, n)
	switch {
	case err != nil:
		return "", fmt.Errorf("find the mail address of the owner %s: %w", n.Owner, err)
	case text == "":
		return "", errUnsubscribed
	}
	if err := checkMail(text); err != nil {
		return "", taskkit.Permanent("mail_address", err)
	}
	return text, nil
}

// checkMail returns a *[MailAddressError] for a text that is no mail address, or has more than one line.
func checkMail(text string) error {
	if strings.ContainsFunc(text, unicode.IsControl) {
		return &MailAddressError{"has a line feed or another control character"}
	}
	a, err := mail.ParseAddress(text)
	switch {
	case err != nil:
		return &MailAddressError{"cannot be read"}
	case a.Address != text:
		return &MailAddressError{"has more than the address itself"}
	}
	return nil
}
