package store

import (
	"time"

	"github.com/google/uuid"
)

// MessageOutcome is what became of a message of a broker.
type MessageOutcome string

// The outcomes of a message.
const (
	MessageSubmitted MessageOutcome = "submitted"
	MessageDropped   MessageOutcome = "dropped"
	MessageRefused   MessageOutcome = "refused"
	// MessageSuperseded: a newer version of its reference came before.
	MessageSuperseded MessageOutcome = "superseded"
	MessageRedriven   MessageOutcome = "redriven" // it was refused, and is taken in anew
)

// Message is a message of a broker that was taken in. Its row makes sure that it is taken in
// once.
type Message struct {
	ID      uuid.UUID // of the row
	Source  string
	Message string // its id, unique within the source
	Created time.Time
	Outcome MessageOutcome
	Hash    int64     // of the body
	Task    uuid.UUID // zero unless it was submitted
	Code    string    // of one that was refused
	Detail  string    // of one that was refused, dropped or superseded
	Body    string    // of one that was refused
	Headers string    // of one that was refused and kept whole, with its sequence and timestamp, as JSON
	// DeadLetterError is why the broker did not take it as a dead letter.
	DeadLetterError string
	// Redriven is when it was last given back; zero: never.
	Redriven       time.Time
	RedrivenBy     uuid.UUID
	RedrivenReason string
}

// SeenMessage is a message that was taken in before.
type SeenMessage struct {
	Row     uuid.UUID
	Outcome MessageOutcome
	Hash    int64
}

// MessageFilter selects messages of a source.
type MessageFilter struct {
	Source   string
	Codes    []string  // nil: all
	Messages []string  // ids; nil: all
	From, To time.Time // taken in from From on and before To; zero: no bound
}
