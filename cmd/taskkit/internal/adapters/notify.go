package adapters

import (
	"context"
	"errors"
	"strings"

	"github.com/wneessen/go-mail"

	"taskkit.dev/executors/sendemail"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasknotify"
)

// SendMail implements [tasknotify.Mailer]. A mail that the server refuses for good is a permanent error.
func (s *SMTP) SendMail(ctx context.Context, l *tasknotify.Letter) error {
	msg, err := s.letter(l)
	if err != nil {
		return taskkit.Permanent("mail_invalid", err)
	}
	c := &connection{SMTP: s}
	defer c.close()
	if err = c.deliver(ctx, msg); errors.Is(err, sendemail.ErrRefused) {
		return taskkit.Permanent("mail_refused", err)
	}
	return err
}

// letter writes a notification as go-mail has it.
func (s *SMTP) letter(l *tasknotify.Letter) (*mail.Msg, error) {
	msg := mail.NewMsg(mail.WithNoDefaultUserAgent())
	if err := msg.From(s.from); err != nil {
		return nil, err
	}
	if err := msg.To(l.To); err != nil {
		return nil, err
	}
	msg.SetDate()
	msg.SetMessageIDWithValue(l.MessageID)
	if n := len(l.References); n > 0 {
		msg.SetGenHeader(mail.HeaderReferences, "<"+strings.Join(l.References, "> <")+">")
		msg.SetGenHeader(mail.HeaderInReplyTo, "<"+l.References[n-1]+">")
	}
	if l.Unsubscribe != "" {
		msg.SetGenHeader(mail.HeaderListUnsubscribe, "<"+l.Unsubscribe+">")
		if strings.HasPrefix(l.Unsubscribe, "https:") {
			msg.SetGenHeader(mail.HeaderListUnsubscribePost, "List-Unsubscribe=One-Click")
		}
	}
	msg.Subject(l.Subject)
	msg.SetBodyString(mail.TypeTextPlain, l.Text)
	msg.AddAlternativeString(mail.TypeTextHTML, l.HTML)
	return msg, nil
}
