package faultproxy

import (
	"github.com/jackc/pgx/v5/pgproto3"
)

// asked is a client's message that the server has not answered yet.
type asked struct {
	kind byte
	sql  string
	done chan struct{} // closed by the answer; nil if nobody waits
}

// book keeps what a connection has been asked and not yet answered, and which
// statement is behind each name. It is not safe for concurrent use.
type book struct {
	statements map[string]string // by name, of Parse
	portals    map[string]string // by name, of Bind
	open       []asked
	skips      bool // the server passes over what it is sent until a Sync, after an error
	waiting    bool // the client has asked for something since the server last said that it is ready
	more       bool // the client had sent more when its last message was taken up
	series     bool // the client has sent messages since its last Sync
}

func newBook() *book {
	return &book{statements: make(map[string]string), portals: make(map[string]string)}
}

// sqlOf returns the statement that a client's message belongs to.
func (b *book) sqlOf(f frame) string {
	switch f.kind {
	case 'Q':
		var m pgproto3.Query
		if m.Decode(f.body()) == nil {
			return m.String
		}
	case 'P':
		var m pgproto3.Parse
		if m.Decode(f.body()) == nil {
			b.statements[m.Name] = m.Query
			return m.Query
		}
	case 'B':
		var m pgproto3.Bind
		if m.Decode(f.body()) == nil {
			b.portals[m.DestinationPortal] = b.statements[m.PreparedStatement]
			return b.portals[m.DestinationPortal]
		}
	case 'D':
		var m pgproto3.Describe
		if m.Decode(f.body()) == nil {
			return b.named(m.ObjectType, m.Name)
		}
	case 'E':
		var m pgproto3.Execute
		if m.Decode(f.body()) == nil {
			return b.portals[m.Portal]
		}
	case 'C':
		var m pgproto3.Close
		if m.Decode(f.body()) == nil {
			return b.named(m.ObjectType, m.Name)
		}
	case 'S': // ends what came before it
		if n := len(b.open); n > 0 {
			return b.open[n-1].sql
		}
	}
	return ""
}

func (b *book) named(object byte, name string) string {
	if object == 'S' {
		return b.statements[name]
	}
	return b.portals[name]
}

// begins reports whether a client's message begins a round trip, and notes it. More says that the
// client had sent something else when the message was taken up: then it did not wait for an answer.
func (b *book) begins(kind byte, more bool) bool {
	b.more = more
	if !answered(kind) || b.waiting {
		return false
	}
	b.waiting = true
	return true
}

// inSeries reports whether a client's message follows others that no Sync has ended, and notes it.
func (b *book) inSeries(kind byte) bool {
	series := b.series
	switch kind {
	case 'P', 'B', 'D', 'E', 'C':
		b.series = true
	case 'S', 'Q':
		b.series = false
	}
	return series
}

// request notes that the server has been sent a message. Done, if not nil, is closed
// by its answer.
func (b *book) request(kind byte, sql string, done chan struct{}) {
	b.skips = b.skips && kind != 'S'
	if answered(kind) && !b.skips {
		b.open = append(b.open, asked{kind, sql, done})
	} else if done != nil {
		close(done)
	}
}

// current returns the statement that the server's next message belongs to.
func (b *book) current() string {
	if len(b.open) == 0 {
		return ""
	}
	return b.open[0].sql
}

// answer notes a message of the server's. After an error the server passes over
// everything up to the next Sync, which it may not have been sent yet, and a Query is
// answered with what follows it.
func (b *book) answer(kind byte) {
	if kind == 'E' {
		before := len(b.open)
		for len(b.open) > 0 && b.open[0].kind != 'S' && b.open[0].kind != 'Q' && b.open[0].kind != 0 {
			b.pop()
		}
		b.skips = len(b.open) == 0 && before > 0
		return
	}
	if len(b.open) > 0 && ends(b.open[0].kind, kind) {
		b.pop()
	}
	if kind == 'Z' && len(b.open) == 0 && !b.more {
		b.waiting = false
	}
}

func (b *book) pop() {
	if done := b.open[0].done; done != nil {
		close(done)
	}
	b.open = b.open[1:]
}

// drop answers everything: there will be no other answer.
func (b *book) drop() {
	for len(b.open) > 0 {
		b.pop()
	}
}

// backend returns the server's process id from its message.
func backend(f frame) (uint32, bool) {
	var m pgproto3.BackendKeyData
	if f.kind != 'K' || m.Decode(f.body()) != nil {
		return 0, false
	}
	return m.ProcessID, true
}
