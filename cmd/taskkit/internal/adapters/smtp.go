package adapters

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/textproto"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
	"golang.org/x/sync/errgroup"

	"taskkit.dev/executors/sendemail"
	"taskkit.dev/taskkit"
)

const (
	// connections is how many mails are under way at once.
	connections = 8
	// perConnection is how many mails one connection carries. Real servers cut
	// it after 100.
	perConnection = 100
	// serverTimeout is how long the server may take for one mail.
	serverTimeout = 15 * time.Second
)

// SMTP sends through a mail server. It is safe for concurrent use: connections
// belong to a call of Send and end with it.
//
// It uses go-mail, whose errors have the step of the dialogue and the server's code: a
// refused recipient and a refused sender are both a 550.
type SMTP struct {
	client *mail.Client
	from   string
}

// NewSMTP returns a mailer that sends through the server at addr (host:port) in
// the name of from. TLS is used when the server offers it; options change that
// and add a login, see [mail.Option].
func NewSMTP(addr, from string, opts ...mail.Option) (*SMTP, error) {
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("mail server %q: write it as host:port: %w", addr, err)
	}
	port, err := strconv.Atoi(p)
	if err != nil {
		return nil, fmt.Errorf("mail server %q: write the port as a number: %w", addr, err)
	}
	// Without NOOP and RSET around every mail: two round trips less, and go-mail
	// hides the server's code when it answers a NOOP with 421.
	c, err := mail.NewClient(host, append([]mail.Option{
		mail.WithPort(port), mail.WithTLSPolicy(mail.TLSOpportunistic), mail.WithTimeout(serverTimeout),
		mail.WithoutNoop(), mail.WithoutRset(),
	}, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("mail server %q: %w", addr, err)
	}
	if err := mail.NewMsg().From(from); err != nil {
		return nil, fmt.Errorf("sender %q is no mail address: %w", from, err)
	}
	return &SMTP{c, from}, nil
}

// Send implements [sendemail.Mailer]. The first error that is not about one mail ends it:
// mails under way are finished, the others get that error.
func (s *SMTP) Send(ctx context.Context, mails []sendemail.Mail) []error {
	errs := make([]error, len(mails))
	var next atomic.Int64
	g, going := errgroup.WithContext(ctx)
	for range min(connections, len(mails)) {
		g.Go(func() error {
			c := &connection{SMTP: s}
			defer c.close()
			for going.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(mails) {
					return nil
				}
				errs[i] = c.send(ctx, mails[i])
				if errs[i] != nil && !ofMailbox(errs[i]) {
					return errs[i]
				}
			}
			return context.Cause(going)
		})
	}
	if err := g.Wait(); err != nil {
		for i := min(int(next.Load()), len(mails)); i < len(mails); i++ {
			errs[i] = err
		}
	}
	return errs
}

// connection is one dialogue with the server, opened at need.
type connection struct {
	*SMTP
	smtp *smtp.Client
	used int
	cut  func() bool // gives up cutting it with the context
}

// send sends one mail.
func (c *connection) send(ctx context.Context, m sendemail.Mail) error {
	msg, err := c.message(m)
	if err != nil {
		return fmt.Errorf("%w: %w", sendemail.ErrRefused, err)
	}
	return c.deliver(ctx, msg)
}

// deliver sends a mail as go-mail has it.
func (c *connection) deliver(ctx context.Context, msg *mail.Msg) (err error) {
	if c.smtp == nil || c.used >= perConnection {
		c.close()
		if c.smtp, err = c.client.DialToSMTPClientWithContext(ctx); err != nil {
			c.smtp = nil
			return fmt.Errorf("connect to the mail server: %w", classifyDial(err))
		}
		conn := c.smtp
		c.used, c.cut = 0, context.AfterFunc(ctx, func() { _ = conn.Close() })
	}
	c.used++
	if err := c.client.SendWithSMTPClient(c.smtp, msg); err != nil && !msg.IsDelivered() {
		err = classify(err)
		if !ofMailbox(err) {
			c.drop() // its state is unknown
		}
		return err
	}
	return nil
}

// ofMailbox reports whether an error is about the one mail and no other.
func ofMailbox(err error) bool {
	return errors.Is(err, sendemail.ErrRefused) || errors.Is(err, sendemail.ErrBusy)
}

// message writes a mail as go-mail has it.
func (c *connection) message(m sendemail.Mail) (*mail.Msg, error) {
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := msg.From(c.from); err != nil {
		return nil, err
	}
	if err := msg.To(m.To); err != nil {
		return nil, err
	}
	msg.SetDate()
	msg.SetMessageIDWithValue(m.MessageID)
	msg.SetGenHeader("X-Taskkit-Key", m.Key)
	msg.SetGenHeader("X-Taskkit-Task", m.Task.String())
	msg.Subject(m.Subject)
	msg.SetBodyString(mail.TypeTextPlain, m.Body)
	return msg, nil
}

// close ends the dialogue with the server.
func (c *connection) close() {
	if c.smtp != nil {
		_ = c.smtp.Quit() // nothing depends on the answer
		c.drop()
	}
}

// drop closes the connection.
func (c *connection) drop() {
	c.cut()
	_ = c.smtp.Close()
	c.smtp = nil
}

// classifyDial reports a server that refuses connections for now as throttled.
func classifyDial(err error) error {
	var answer *textproto.Error
	if errors.As(err, &answer) && answer.Code >= 400 && answer.Code < 500 {
		return fmt.Errorf("%w: %w", sendemail.ErrThrottled, err)
	}
	return err
}

// classify classifies the server's answer to a mail.
func classify(err error) error {
	var e *mail.SendError
	if !errors.As(err, &e) {
		return err
	}
	switch code := e.ErrorCode(); {
	case code == 450 && e.Reason == mail.ErrSMTPRcptTo:
		return fmt.Errorf("%w: %w", sendemail.ErrBusy, err)
	case code >= 400 && code < 500:
		return fmt.Errorf("%w: %w", sendemail.ErrThrottled, err)
	case code >= 500 && (e.Reason == mail.ErrSMTPRcptTo || e.Reason == mail.ErrSMTPData || e.Reason == mail.ErrSMTPDataClose):
		return fmt.Errorf("%w: %w", sendemail.ErrRefused, err)
	case code >= 500:
		// Of the sender, and so of every mail.
		return taskkit.Permanent("sender_refused", err)
	default:
		return err // the connection; the mail may be in, or not
	}
}
