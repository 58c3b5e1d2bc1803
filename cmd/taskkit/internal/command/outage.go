package command

import (
	"fmt"
	"time"

	"taskkit.dev/cmd/taskkit/internal/screen"
)

// outage reports, once each, that the database cannot be reached and that it can be
// reached again.
type outage struct {
	screen screen.Screen
	since  time.Time // zero: the last read succeeded
}

// changes reports whether report will write a line for the error of a read.
func (o *outage) changes(err error) bool { return (err != nil) == o.since.IsZero() }

// report is called with the error of every read, which may be nil.
func (o *outage) report(err error) {
	switch {
	case !o.changes(err):
	case err != nil:
		o.since = time.Now()
		fmt.Fprintf(o.screen, "cannot reach the database (since %s): %s; trying again\n", o.clock(), screen.Short(sentence(err), 300))
	default:
		fmt.Fprintf(o.screen, "reached the database again after %s\n", screen.Brief(time.Since(o.since)))
		o.since = time.Time{}
	}
}

// suffix says, at the end of a message about the task, that the database cannot be
// reached.
func (o *outage) suffix() string {
	if o.since.IsZero() {
		return ""
	}
	return "; the database has not been reachable since " + o.clock()
}

func (o *outage) clock() string { return o.since.Format(time.TimeOnly) }
