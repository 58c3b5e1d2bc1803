// Package mailserver is a real SMTP server on this machine, for demonstrations
// and tests. It keeps accepted mails in memory, can misbehave as real servers do, and
// counts mails that came more than once.
//
// Its log is the ledger of mail, independent of the senders.
package mailserver

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/mail"
	"sync"
	"sync/atomic"
	"time"

	"github.com/emersion/go-smtp"
)

// Config is the behavior of a server. The zero Config accepts everything.
type Config struct {
	// Addr is where to listen. Defaults to a free port of 127.0.0.1.
	Addr string
	// Refuse selects recipients to refuse permanently (550). Defaults to none. It must
	// be safe for concurrent use.
	Refuse func(address string) bool
	// Busy selects recipients to refuse temporarily (450). Defaults to none. It must be
	// safe for concurrent use.
	Busy func(address string) bool
	// RefuseSender refuses every sender for ever (550).
	RefuseSender bool
	// ThrottleEvery answers every n-th recipient with "later" (451). Defaults
	// to never.
	ThrottleEvery int
	// HangUpEvery answers every n-th recipient with "closing" (421) and hangs
	// up. Defaults to never.
	HangUpEvery int
	// DropEvery accepts every n-th mail and closes the connection without an answer, so
	// that the outcome is unknown to the sender. Defaults to never.
	DropEvery int
	// PerConnection is how many mails one connection may bring before it gets
	// a 421. Defaults to 100.
	PerConnection int
	// Log gets what goes wrong in a dialogue. Defaults to nowhere.
	Log *slog.Logger
}

// Mail is one mail that was accepted for one recipient.
type Mail struct {
	MessageID string
	Key       string // header X-Taskkit-Key
	Task      string // header X-Taskkit-Task
	To        string // of the envelope
	Subject   string
	// References and Unsubscribe are the headers References and List-Unsubscribe.
	References, Unsubscribe string
	Time                    time.Time
}

// Server is a running SMTP server. It is safe for concurrent use.
type Server struct {
	config   Config
	smtp     *smtp.Server
	listener net.Listener
	served   chan error

	recipients, accepted atomic.Int64 // so many so far, for "every n-th"
	refused, throttled   atomic.Int64
	most                 atomic.Int64 // most mails that came over one connection

	mu    sync.Mutex
	mails []Mail
}

// Start begins to listen and to serve.
func Start(c Config) (*Server, error) {
	if c.Addr == "" {
		c.Addr = "127.0.0.1:0"
	}
	if c.PerConnection == 0 {
		c.PerConnection = 100
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	//nolint:noctx // to listen does not block
	l, err := net.Listen("tcp", c.Addr)
	if err != nil {
		return nil, fmt.Errorf("start the mail server: %w", err)
	}
	s := &Server{config: c, listener: l, served: make(chan error, 1)}
	s.smtp = smtp.NewServer(smtp.BackendFunc(func(conn *smtp.Conn) (smtp.Session, error) {
		return &session{server: s, conn: conn}, nil
	}))
	s.smtp.Domain = "localhost"
	s.smtp.EnableSMTPUTF8 = true
	s.smtp.ReadTimeout, s.smtp.WriteTimeout = time.Minute, time.Minute
	s.smtp.MaxMessageBytes = 1 << 20
	s.smtp.ErrorLog = logger{c.Log}
	go func() { s.served <- s.smtp.Serve(l) }()
	return s, nil
}

// Addr returns host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close hangs up on everybody and ends the server. The log stays readable.
func (s *Server) Close() error {
	err := errors.Join(s.smtp.Close(), ignoreClosed(s.listener.Close()))
	return errors.Join(ignoreClosed(err), ignoreClosed(<-s.served))
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// session is the dialogue of one connection.
type session struct {
	server *Server
	conn   *smtp.Conn
	begun  int
	to     []string
}

// Mail implements [smtp.Session].
func (s *session) Mail(string, *smtp.MailOptions) error {
	if s.server.config.RefuseSender {
		return answer(550, 7, "this sender is not welcome here")
	}
	if s.begun++; s.begun > s.server.config.PerConnection {
		return s.hangUp("too many mails on this connection")
	}
	for n := int64(s.begun); ; {
		most := s.server.most.Load()
		if n <= most || s.server.most.CompareAndSwap(most, n) {
			return nil
		}
	}
}

// Rcpt implements [smtp.Session].
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	c := s.server.config
	n := s.server.recipients.Add(1)
	switch {
	case c.Refuse != nil && c.Refuse(to):
		s.server.refused.Add(1)
		return answer(550, 1, "no such mailbox")
	case c.Busy != nil && c.Busy(to):
		s.server.throttled.Add(1)
		return answer(450, 2, "mailbox busy, come back later")
	case every(c.ThrottleEvery, n):
		s.server.throttled.Add(1)
		return answer(451, 7, "too much at once, come back later")
	case every(c.HangUpEvery, n):
		s.server.throttled.Add(1)
		return s.hangUp("closing, come back later")
	}
	s.to = append(s.to, to)
	return nil
}

// Data implements [smtp.Session].
func (s *session) Data(r io.Reader) error {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return answer(554, 6, "this is no mail")
	}
	if _, err := io.Copy(io.Discard, m.Body); err != nil {
		return err
	}
	n := s.server.accepted.Add(1)
	s.server.mu.Lock()
	for _, to := range s.to {
		s.server.mails = append(s.server.mails, Mail{
			MessageID: m.Header.Get("Message-Id"), Key: m.Header.Get("X-Taskkit-Key"), Task: m.Header.Get("X-Taskkit-Task"),
			To: to, Subject: m.Header.Get("Subject"), References: m.Header.Get("References"), Unsubscribe: m.Header.Get("List-Unsubscribe"), Time: time.Now(),
		})
	}
	s.server.mu.Unlock()
	if every(s.server.config.DropEvery, n) {
		return s.conn.Conn().Close() // no answer arrives
	}
	return nil
}

// Reset implements [smtp.Session].
func (s *session) Reset() { s.to = nil }

// Logout implements [smtp.Session].
func (*session) Logout() error { return nil }

// hangUp answers 421 and closes the connection. go-smtp would keep it open, so
// the answer is written here, past it.
func (s *session) hangUp(text string) error {
	_, err := s.conn.Conn().Write([]byte("421 4.7.1 " + text + "\r\n"))
	return errors.Join(err, s.conn.Conn().Close())
}

func every(n int, count int64) bool { return n > 0 && count%int64(n) == 0 }

// answer is a negative reply, with an enhanced code of the same class.
func answer(code, subject int, text string) error {
	return &smtp.SMTPError{Code: code, EnhancedCode: smtp.EnhancedCode{code / 100, subject, 1}, Message: text}
}

// logger is what go-smtp writes to.
type logger struct{ log *slog.Logger }

// Printf implements [smtp.Logger].
func (l logger) Printf(format string, args ...any) { l.log.Debug(fmt.Sprintf(format, args...)) }

// Println implements [smtp.Logger].
func (l logger) Println(args ...any) { l.log.Debug(fmt.Sprint(args...)) }
