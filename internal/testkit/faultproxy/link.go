package faultproxy

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// Codes in the place of a protocol version.
const (
	codeCancel = 80877102
	codeSSL    = 80877103
	codeGSS    = 80877104
)

// writeMax is how much of what a client writes at once is read at once.
const writeMax = 64 << 10

// link is one client's connection and the one to the server that belongs to it.
type link struct {
	proxy  *Proxy
	number int
	client net.Conn
	server net.Conn // nil until the client has said what it wants

	mu       sync.Mutex
	book     *book
	messages int
	backend  uint32
	cutOff   bool
	swallow  bool // nothing reaches the client any more, and nothing is counted
	silent   bool // nothing reaches anybody any more
}

func newLink(p *Proxy, number int, client net.Conn) *link {
	return &link{proxy: p, number: number, client: client, book: newBook()}
}

// run carries messages until both sides are closed.
func (l *link) run() {
	defer l.proxy.gone(l, false)
	defer l.cut()
	from := bufio.NewReaderSize(l.client, writeMax)
	f, ok := l.start(from)
	if !ok {
		return
	}
	d := net.Dialer{Timeout: patience}
	server, err := d.DialContext(context.Background(), "tcp", l.proxy.server)
	if err != nil {
		return
	}
	l.mu.Lock()
	l.server = server
	late := l.cutOff
	l.mu.Unlock()
	if late {
		_ = server.Close()
		return
	}

	var answers sync.WaitGroup
	answers.Go(l.toClient)
	for more := true; more; {
		if more = l.toServer(f, from.Buffered() > 0); more {
			f, err = readFrame(from, true)
			more = err == nil
		}
	}
	// The client is gone. What it has sent has been passed on; the server now
	// reads that it is gone, and ends. A silenced server reads nothing.
	if l.isSilent() {
		_ = l.client.Close()
	} else if tcp, ok := server.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
	answers.Wait()
}

// start reads the client's first message and declines encryption before it.
func (l *link) start(from io.Reader) (frame, bool) {
	for {
		f, err := readFrame(from, false)
		if err != nil || len(f.body()) < 4 {
			return frame{}, false
		}
		switch binary.BigEndian.Uint32(f.body()) {
		case codeSSL, codeGSS:
			if _, err := l.client.Write([]byte{'N'}); err != nil {
				return frame{}, false
			}
		default:
			return f, true
		}
	}
}

// toServer deals with a message of the client's and reports whether there is
// more to come. Followed says that the client had sent more with it.
func (l *link) toServer(f frame, followed bool) bool {
	name := nameOf(ToServer, f.kind)
	cancel := f.kind == 0 && binary.BigEndian.Uint32(f.body()) == codeCancel
	if cancel {
		name = "CancelRequest"
	}
	l.mu.Lock()
	if l.silent {
		l.mu.Unlock()
		return true
	}
	sql := l.book.sqlOf(f)
	m := l.next(ToServer, name, sql)
	m.BeginsTrip = !cancel && l.book.begins(f.kind, followed)
	m.InSeries = l.book.inSeries(f.kind)
	l.mu.Unlock()

	m, fault := l.proxy.count(m)
	switch {
	case fault == nil:
	case fault.Action == CutBefore:
		l.cut()
		return false
	case fault.Action == CutAfter:
		l.cutAfter(f, sql, cancel)
		return false
	default:
		if !l.suffer(fault, m) {
			return true
		}
	}
	l.mu.Lock()
	if !cancel {
		l.book.request(f.kind, sql, nil)
	}
	l.mu.Unlock()
	_, err := l.server.Write(f.raw)
	return err == nil
}

// cutAfter sends a message, waits until the server has done what it asks for,
// and cuts the connection.
func (l *link) cutAfter(f frame, sql string, cancel bool) {
	done := make(chan struct{})
	raw := f.raw
	l.mu.Lock()
	l.swallow = true
	if cancel {
		close(done)
	} else {
		l.book.request(f.kind, sql, done)
	}
	l.mu.Unlock()
	if answered(f.kind) && f.kind != 'Q' && f.kind != 'S' && f.kind != 0 {
		raw = append(slices.Clip(raw), 'H', 0, 0, 0, 4) // a Flush: answer now
	}
	if _, err := l.server.Write(raw); err == nil {
		limit := time.NewTimer(patience)
		defer limit.Stop()
		select {
		case <-done:
		case <-limit.C:
		case <-l.proxy.closing:
		}
	}
	l.cut()
}

// toClient carries the server's messages until the server closes.
func (l *link) toClient() {
	defer l.answersEnd()
	from := bufio.NewReader(l.server)
	for {
		f, err := readFrame(from, true)
		if err != nil {
			return
		}
		l.mu.Lock()
		if pid, ok := backend(f); ok {
			l.backend = pid
		}
		sql := l.book.current()
		l.book.answer(f.kind)
		if l.swallow || l.silent {
			l.mu.Unlock()
			continue
		}
		m := l.next(ToClient, nameOf(ToClient, f.kind), sql)
		l.mu.Unlock()

		m, fault := l.proxy.count(m)
		switch {
		case fault == nil:
		case fault.Action == CutBefore:
			l.cut()
			return
		case fault.Action == CutAfter:
			l.mu.Lock()
			l.silent = true // what the client says to it is lost
			l.mu.Unlock()
			_, _ = l.client.Write(f.raw)
			l.cut()
			return
		default:
			if !l.suffer(fault, m) {
				continue
			}
		}
		if _, err := l.client.Write(f.raw); err != nil {
			// The client is gone. The server learns it from the other
			// direction, where something may still be on its way.
			l.mu.Lock()
			l.swallow = true
			l.mu.Unlock()
		}
	}
}

// answersEnd closes the client's side after the server's has closed.
func (l *link) answersEnd() {
	l.mu.Lock()
	l.book.drop()
	silent := l.silent
	l.mu.Unlock()
	if !silent {
		_ = l.client.Close()
	}
}

// suffer does what a fault does to a message that may still arrive, and reports
// whether it does.
func (l *link) suffer(f *Fault, m Message) bool {
	switch f.Action {
	case Delay:
		late := time.NewTimer(f.Delay)
		defer late.Stop()
		select {
		case <-late.C:
		case <-l.proxy.closing:
		}
	case Silence:
		l.mu.Lock()
		l.silent = true
		l.mu.Unlock()
		l.proxy.gone(l, true)
	case Hook:
		f.Hook(m)
	case CutBefore, CutAfter: // handled where the direction is known
	}
	return !l.isSilent() // a fault the other way may have silenced it meanwhile
}

// next describes a message that is about to be counted. The caller holds mu.
func (l *link) next(d Direction, name, sql string) Message {
	l.messages++
	return Message{Conn: l.number, InConn: l.messages, Direction: d, Name: name, SQL: sql, Backend: l.backend}
}

func (l *link) isSilent() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.silent
}

// cut closes both sides.
func (l *link) cut() {
	l.mu.Lock()
	l.cutOff, l.swallow = true, true
	server := l.server
	l.mu.Unlock()
	_ = l.client.Close()
	if server != nil {
		_ = server.Close()
	}
}
