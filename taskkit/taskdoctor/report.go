package taskdoctor

import (
	"time"
)

// Severity says how bad a finding is.
type Severity string

// The severities, the mildest first.
const (
	Info    Severity = "info"    // good to know
	Warning Severity = "warning" // it will cause harm, or causes some
	Error   Severity = "error"   // tasks do not run, or may be lost
)

// rank orders the severities, the mildest first.
func (s Severity) rank() int {
	switch s {
	case Error:
		return 2
	case Warning:
		return 1
	case Info:
	}
	return 0
}

// Finding is something that is wrong. Its texts are for operators: they may contain texts of errors and of queries, and names.
type Finding struct {
	ID       string   `json:"id"` // of [Findings], or of a check of your own; stable
	Severity Severity `json:"severity"`
	Text     string   `json:"text"` // one sentence, with figures
	// Since is when it began, if that is known.
	Since *time.Time `json:"since,omitempty"`
	// Affected are the tasks, workers, queues or other things concerned, at most ten; More is how many there are besides.
	Affected []string `json:"affected,omitempty"`
	More     int64    `json:"more,omitempty"`
	// Fix says what mends it. Command is a command line, and SQL a statement for the database, that does so, or shows
	// what to do next; a finding has at most one of both.
	Fix     string `json:"fix"`
	Command string `json:"command,omitempty"`
	SQL     string `json:"sql,omitempty"`
	Docs    string `json:"docs,omitempty"` // the address of its section in the documentation

	check string
}

// Check returns the name of the check that has found it, as in [Report.Checks]; "" for a finding that was decoded from JSON.
func (f Finding) Check() string { return f.check }

// Unknown is a check that could not read what it needs.
type Unknown struct {
	Check  string `json:"check"`
	Reason string `json:"reason"`
}

// Report is the result of [Run].
type Report struct {
	At       time.Time `json:"at"`      // by the clock of the database
	Dialect  string    `json:"dialect"` // postgres or sqlite
	Schema   string    `json:"schema,omitempty"`
	Version  string    `json:"version"`  // of this package
	Checks   []string  `json:"checks"`   // that were made
	Findings []Finding `json:"findings"` // the worst first
	Unknown  []Unknown `json:"unknown"`
}

// Severity returns the severity of the worst finding; [Info] if there is none.
func (r *Report) Severity() Severity {
	worst := Info
	for _, f := range r.Findings {
		if f.Severity.rank() > worst.rank() {
			worst = f.Severity
		}
	}
	return worst
}

// ExitStatus returns the status with which a command ends: 0 for nothing worse than [Info], 1 for a [Warning] and 2 for an [Error].
// With strict, for a pipeline that is to fail, a warning and a check that could not read count as an error.
func (r *Report) ExitStatus(strict bool) int {
	status := r.Severity().rank()
	if strict && (status > 0 || len(r.Unknown) > 0) {
		return Error.rank()
	}
	return status
}
