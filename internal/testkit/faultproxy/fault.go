package faultproxy

import (
	"fmt"
	"strings"
	"time"
)

// Direction is which way a message goes. The zero value stands for both.
type Direction int

// The two directions.
const (
	ToServer Direction = iota + 1
	ToClient
)

// String returns "to server", "to client" or "either way".
func (d Direction) String() string {
	switch d {
	case ToServer:
		return "to server"
	case ToClient:
		return "to client"
	default:
		return "either way"
	}
}

// Message is one message of the protocol on its way.
type Message struct {
	// Number counts the messages of the proxy from 1, and InConn the messages of the
	// connection.
	Number, InConn int
	// Conn counts the proxy's connections from 1.
	Conn      int
	Direction Direction
	// Name is the name in the protocol's documentation, such as Query, Parse, DataRow.
	Name string
	// SQL is the statement that the message belongs to; "" where it belongs to
	// none, as a start does.
	SQL string
	// Backend is the server's process id, 0 until the server has told it.
	Backend uint32
	// BeginsTrip: the client sends it after all that it asked for has been answered, so that a round
	// trip begins with it, which ends with ReadyForQuery. What a client writes at once, up to 64 KiB
	// or one larger message, is one round trip. The start of a connection counts as one.
	BeginsTrip bool
	// InSeries: the client has sent other messages since its last Sync. The server has carried them out, keeps
	// their locks, and waits for this one.
	InSeries bool
}

// String returns the message as a line of a report.
func (m Message) String() string {
	series := ""
	if m.InSeries {
		series = ", in a series"
	}
	return fmt.Sprintf("message %d (connection %d, its %d.%s) %s %s %q", m.Number, m.Conn, m.InConn, series, m.Name, m.Direction, brief(m.SQL))
}

// brief returns the beginning of a statement on one line.
func brief(sql string) string {
	const most = 80
	line := strings.Join(strings.Fields(sql), " ")
	if len(line) > most {
		line = strings.ToValidUTF8(line[:most], "") + "..."
	}
	return line
}

// IsCommit reports whether the message asks the server to commit: by itself, or after
// other statements that were sent with it.
func (m Message) IsCommit() bool {
	return m.Direction == ToServer && (m.Name == "Query" || m.Name == "Execute") && strings.EqualFold(strings.TrimSpace(m.SQL), "commit")
}

// Action is what a [Fault] does.
type Action int

// The actions.
const (
	// CutBefore loses the message and its connection: both ends see it closed.
	CutBefore Action = iota + 1
	// CutAfter lets the message arrive, waits until the server has done what it
	// asks for, and closes the connection with no word of it to the client. A
	// message to the client arrives and is the last.
	CutAfter
	// Delay keeps the message for Fault.Delay, and what follows it that way.
	Delay
	// Silence loses the message and all that follows on its connection, both
	// ways, and closes nothing.
	Silence
	// Hook calls Fault.Hook, and the message arrives when it returns.
	Hook
)

// String returns "cut before" and so on.
func (a Action) String() string {
	switch a {
	case CutBefore:
		return "cut before"
	case CutAfter:
		return "cut after"
	case Delay:
		return "delay"
	case Silence:
		return "silence"
	case Hook:
		return "hook"
	default:
		return fmt.Sprintf("action %d", int(a))
	}
}

// Fault is one harm. It strikes once.
type Fault struct {
	// Number is which of the messages to strike, from 1, among those that
	// Direction and Match let count.
	Number int
	// Direction lets only messages that way count; zero lets both.
	Direction Direction
	// Match lets only messages count for which it returns true; nil lets all.
	// It must not call the proxy.
	Match  func(Message) bool
	Action Action
	// Delay is how long an action Delay keeps the message.
	Delay time.Duration
	// Hook is what an action Hook calls, on the goroutine that carries the
	// message. It must not close the proxy.
	Hook func(Message)

	seen int
	hit  chan struct{}
}

// counts reports whether m is the message to strike, and counts it if it counts.
func (f *Fault) counts(m Message) bool {
	if f.Direction != 0 && f.Direction != m.Direction || f.Match != nil && !f.Match(m) {
		return false
	}
	f.seen++
	return f.seen == f.Number
}
