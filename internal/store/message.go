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
)

// Message is a message of a broker that was taken in. Its row makes sure that it is taken in
// once.
type Message struct {
	ID      uuid.UUID // of the row
	Source  string
	Message string // its id, unique within the source
	Created time.Time
	Outcome MessageOutcome
	Task    uuid.UUID // zero unless it was submitted
	Code    string    // of one that was refused
	Detail  string    // of one that was refused or dropped
	Body    string    // of one that was refused
}
