package cronline

import (
	"fmt"
	"strings"
	"time"
)

// Format is how a wall time is written.
const Format = "2006-01-02 15:04"

// LoadZone returns a time zone by its name in the IANA database. "" is UTC. A program
// without the database of the system imports time/tzdata.
func LoadZone(name string) (*time.Location, error) {
	switch {
	case name == "":
		return time.UTC, nil
	case name == "Local" || name == "localtime" || name == "posixrules":
		return nil, fmt.Errorf("the zone %s is another one on every machine: name one, such as Europe/Oslo", name)
	case len(name) > 64 || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }):
		return nil, fmt.Errorf("%q is no name of a time zone: write one such as Europe/Oslo", shorten(name))
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is not known here: write a name such as Europe/Oslo, and import time/tzdata if the system has no zones", name)
	}
	return zone, nil
}

// WallTime returns what a clock in a zone shows at an instant, to the minute.
func WallTime(at time.Time, zone *time.Location) time.Time {
	t := at.In(zone)
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
}

// around is more than clocks have ever been set by, and further than any zone is from UTC.
const around = 26 * time.Hour

// Instant returns the instant of a wall time in a zone, and whether clocks there show it at
// all. It is the first of two instants, and the first one after a gap.
func Instant(wall time.Time, zone *time.Location) (at time.Time, exists bool) {
	var gap time.Time
	for t := wall.Add(-around).In(zone); !t.After(wall.Add(around)); {
		_, offset := t.Zone()
		begin, end := t.ZoneBounds()
		at = wall.Add(-time.Duration(offset) * time.Second)
		before := !end.IsZero() && !at.Before(end)
		after := !begin.IsZero() && at.Before(begin)
		switch {
		case !before && !after:
			return at.UTC(), true
		case after && gap.IsZero():
			// In the period before this one the wall time would have come after its end.
			gap = begin
		}
		if end.IsZero() {
			break
		}
		t = end.In(zone)
	}
	return gap.UTC(), false
}
