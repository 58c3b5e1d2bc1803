package taskkit

import (
	"fmt"
	"time"

	"taskkit.dev/internal/lifecycle"
)

// WithWindow lets the task execute only at certain times of the day, in a time zone, such as
// "22:00-06:00 Europe/Oslo" or "Mon-Fri 20:00-24:00 UTC". When the window closes, the task
// gives its slot back after the batch that runs, and continues by itself when the window opens next. It spends no
// attempt. A window that begins on one day and ends on the next belongs to the first.
//
// The clocks of the zone decide: an hour that they repeat in autumn belongs to the window twice, one that they pass over in
// spring never. It is an *[OptionError] for a window that is empty, also if it is so only on a day of a clock change in the next
// ten years, for an unknown time zone, and with [WithCoalescing]. Buckets have the window of their task.
func WithWindow(window string) SubmitOption {
	return submitOption(func(s *submission) {
		if _, err := lifecycle.ParseWindow(window, time.Now()); err != nil {
			s.fail("WithWindow", err.Error())
		}
		s.Options.Window = window
	})
}

// WithLatestStart fails the task with the code started_too_late if it has not committed a batch by this time, by
// the database's clock. The word lateststart= of the directive gives the tasks of a kind a latest start. It is an
// *[OptionError] for the zero time and with [WithCoalescing].
func WithLatestStart(t time.Time) SubmitOption {
	return submitOption(func(s *submission) { s.Options.LatestStart = s.instant("WithLatestStart", t) })
}

// WithDeadline fails the task with the code deadline_exceeded if it has not ended by this time, by the database's
// clock. What it has done by then is kept, and Abort runs. A batch that runs is not cut off. A task
// that waits for its window or for a permit of a limit fails at this time, one that no worker has begun within minutes, and
// one that is paused or waits for something else when it is claimed next. It is an *[OptionError] for the zero
// time and with [WithCoalescing].
func WithDeadline(t time.Time) SubmitOption {
	return submitOption(func(s *submission) { s.Options.Deadline = s.instant("WithDeadline", t) })
}

// WithTimeLimit fails the task with the code time_limit_exceeded if it has not ended so long after its first
// start, as [WithDeadline] does. The time in which it waits counts. For its buckets the end of this time is a deadline.
// The word timelimit= of the directive gives the tasks of a kind a limit. It is an *[OptionError] unless it is positive,
// and with [WithCoalescing].
func WithTimeLimit(d time.Duration) SubmitOption {
	return submitOption(func(s *submission) {
		if d <= 0 {
			s.fail("WithTimeLimit", fmt.Sprintf("%s is not positive", d))
		}
		s.Options.TimeLimit = d
	})
}

// The bounds of a rate, in items a second. See [WithMaxRate].
const (
	lowestRate  = 0.001
	highestRate = 1e6
)

// WithMaxRate bounds how many items a second the task processes, over all of its batches. [Batch.Limit] is
// bounded too, to half a second of work, so that they are spread evenly. A task that has to wait for more than
// a second gives its slot back meanwhile. It can be changed while the task runs, see [Client.Change].
//
// It is an *[OptionError] below 0.001 and above 1,000,000, with [WithCoalescing], and for a kind with
// stages, which process the items. A task of a kind with buckets or parallel=N is executed as a whole with it.
func WithMaxRate(itemsPerSecond float64) SubmitOption {
	return submitOption(func(s *submission) {
		if problem := checkRate(itemsPerSecond); problem != "" {
			s.fail("WithMaxRate", problem)
			return
		}
		s.Options.MaxRate = itemsPerSecond
	})
}

// checkRate returns what is wrong with a rate; "" if nothing is.
func checkRate(r float64) string {
	if r >= lowestRate && r <= highestRate {
		return ""
	}
	return fmt.Sprintf("%g items a second: use a number from %g to %.0f; to hold the task, pause it", r, lowestRate, highestRate)
}

// instant checks a time that is stored.
func (s *submission) instant(option string, t time.Time) time.Time {
	if y := t.UTC().Year(); t.IsZero() {
		s.fail(option, "the zero time: give a time, or leave the option out")
	} else if y < 1 || y > 9999 {
		s.fail(option, fmt.Sprintf("%s is not a time between the years 1 and 9999", t.UTC().Format(time.RFC3339)))
	}
	return t.UTC()
}

// timed reports whether the submission has an option of this file, a limit or a strategy.
func (s *submission) timed() bool {
	return s.Options.Times != (lifecycle.Times{}) || s.Options.MaxRate != 0 || len(s.Options.Limits) > 0 || s.Options.Keep != 0 || len(s.Options.Strategy) > 0
}

// checkTimed refuses options of this file that cannot be used together with others.
func (k *Kind[Spec, State, Result]) checkTimed(s *submission) error {
	switch {
	case s.Reference != "" && s.timed():
		return &OptionError{"WithCoalescing", "used together with a window, a deadline, a rate, a limit, a retention or a strategy: a waiting task with these cannot be replaced; limits may come from a method Limits of the executor"}
	case s.Options.MaxRate != 0 && k.def.Stages:
		return &OptionError{"WithMaxRate", fmt.Sprintf("kind %s has stages, which process the items: give the option to a stage", k.def.Name)}
	}
	return nil
}
