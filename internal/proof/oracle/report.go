package oracle

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"
)

// Violation is a promise that was broken.
type Violation struct {
	Invariant string // "I1" to "I30"
	Task      string // "" when it is about no single task
	Detail    string
}

// String is a violation on one line.
func (v Violation) String() string {
	if v.Task == "" {
		return v.Invariant + ": " + v.Detail
	}
	return v.Invariant + ": task " + v.Task + ": " + v.Detail
}

// Options say what the run was, so that bounds can be held. The zero Options
// check everything that needs no bound.
type Options struct {
	// Logs is the directory of the client logs. "" for none.
	Logs string
	// Ended: the run is over, so every task must have ended or be paused.
	Ended bool
	// MaxAttempts is the workers' Config.MaxAttempts. 0: not checked.
	MaxAttempts int
	// BatchTimeout is the workers' Config.BatchTimeout. 0: neither how fast a
	// stop ends is checked nor that a living worker goes on with its task.
	BatchTimeout time.Duration
	// StopWithin is how long a stop, pause or delete may stand while workers
	// live. Defaults to what follows from BatchTimeout, Call and how long a
	// silent worker counts as living.
	StopWithin time.Duration
	// Call is the workers' Config.CallTimeout, which bounds the wait for the
	// answer of a COMMIT. Defaults to 10 s.
	Call time.Duration
	// Slack is added to every bound. Defaults to 1 s.
	Slack time.Duration
	// Grace is the longest that a worker may take to leave. 0: not checked.
	Grace time.Duration
	// Most bounds how many violations are kept; the rest is counted. Defaults
	// to 1,000.
	Most int
}

func (p Options) defaults() Options {
	p.Call = cmp.Or(p.Call, 10*time.Second)
	p.Slack = cmp.Or(p.Slack, time.Second)
	p.Most = cmp.Or(p.Most, 1000)
	return p
}

// Counts are what a check has read: 0 violations of nothing prove nothing.
type Counts struct {
	Tasks, Sets, Deleted        int64 // submitted; of a known set; removed
	Completed, Stopped          int64 // COMPLETED; stopped ones among these
	Failed, Errors, Unended     int64 // FAILURE, ERROR, neither ended nor removed
	Changes, Claims, Reclaims   int64 // rows of history; claims; taken from a worker that was lost
	Checkpoints, Retries        int64
	Touches, Batches, Entities  int64 // Batches: checkpoints that touched
	Processes, Dead             int64
	Logs, Submits, Acknowledged int64
	Duplicates, Unknown, Asked  int64 // Unknown: Submits without an answer; Asked: control calls
	Stops                       int64 // requests whose end was timed
	Limits, Approvals           int64 // pauses by a stop policy, and for an approval
	Previews                    int64 // tasks that were previews
	Parents, Children           int64 // tasks that have had children, and those
	SlowestStop                 time.Duration
	SlowestTakeover             time.Duration // from the moment a worker counts as dead
}

// Report is what a check found.
type Report struct {
	Counts     Counts
	Violations []Violation
	Unlisted   int // violations beyond Options.Most
}

// OK reports whether nothing was found.
func (r *Report) OK() bool { return len(r.Violations) == 0 }

// add keeps a violation, or counts it when there are too many.
func (r *Report) add(most int, v Violation) {
	if len(r.Violations) >= most {
		r.Unlisted++
		return
	}
	r.Violations = append(r.Violations, v)
}

// Print writes the counts and the violations for people.
func (r *Report) Print(w io.Writer) error {
	c := r.Counts
	lines := []string{
		fmt.Sprintf("tasks        %d (of a known set %d): completed %d (stopped %d), failed %d, errors %d, deleted %d, not ended %d",
			c.Tasks, c.Sets, c.Completed, c.Stopped, c.Failed, c.Errors, c.Deleted, c.Unended),
		fmt.Sprintf("row changes  %d: claims %d, takeovers %d, checkpoints %d, operators' retries %d", c.Changes, c.Claims, c.Reclaims, c.Checkpoints, c.Retries),
		fmt.Sprintf("touches      %d of %d entities in %d batches", c.Touches, c.Entities, c.Batches),
		fmt.Sprintf("processes    %d, of which %d were declared dead; slowest takeover %v after that was due", c.Processes, c.Dead, c.SlowestTakeover),
		fmt.Sprintf("client logs  %d: submits %d (acknowledged %d, duplicates %d, unknown %d), requests %d", c.Logs, c.Submits, c.Acknowledged, c.Duplicates, c.Unknown, c.Asked),
		fmt.Sprintf("stops        %d timed, slowest %v", c.Stops, c.SlowestStop),
		fmt.Sprintf("conditions   %d pauses by a stop policy, %d for an approval; %d previews", c.Limits, c.Approvals, c.Previews),
		fmt.Sprintf("families     %d parents, %d children", c.Parents, c.Children),
		fmt.Sprintf("violations   %d", len(r.Violations)+r.Unlisted),
	}
	for _, v := range r.Violations {
		lines = append(lines, "  "+v.String())
	}
	if r.Unlisted > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", r.Unlisted))
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(w, line); err != nil {
			return fmt.Errorf("oracle: print the report: %w", err)
		}
	}
	return nil
}

// sorted puts violations into an order that does not depend on the run.
func (r *Report) sorted() *Report {
	slices.SortStableFunc(r.Violations, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(len(a.Invariant), len(b.Invariant)), cmp.Compare(a.Invariant, b.Invariant),
			cmp.Compare(a.Task, b.Task), cmp.Compare(a.Detail, b.Detail))
	})
	return r
}
