package command

import (
	"fmt"
	"time"

	"taskkit.dev/cmd/taskkit/internal/screen"
)

// outage reports, once each, that the database or an application cannot be reached and that it can be
// reached again.
type outage struct {
	screen screen.Screen
	of     string    // what is reached, such as "the database"
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
		fmt.Fprintf(o.screen, "cannot reach %s (since %s): %s; trying again\n", o.of, o.clock(), screen.Short(sentence(err), 300))
	default:
		fmt.Fprintf(o.screen, "reached %s again after %s\n", o.of, screen.Brief(time.Since(o.since)))
		o.since = time.Time{}
	}
}

// suffix says, at the end of a message about the task, that its database or its application cannot
// be reached.
func (o *outage) suffix() string {
	if o.since.IsZero() {
		return ""
	}
	return "; " + o.of + " has not been reachable since " + o.clock()
}

func (o *outage) clock() string { return o.since.Format(time.TimeOnly) }
