package store

import (
	"time"

	"taskkit.dev/internal/workrate"
)

// Worked is what a checkpoint adds to the rate of its task: the items that were
// processed since a session of the task has last added something, and the time of
// their batches. Without items it only renews [Rate.Measured].
type Worked struct {
	Kind string // as stored with the task; "": the rate is not used for other tasks
	workrate.Sample
}

// Rate is how fast a task has processed its items.
type Rate struct {
	workrate.History
	Measured time.Time // when it was stored last, by the database's clock; zero: never
}
