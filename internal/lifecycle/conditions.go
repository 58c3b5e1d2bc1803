package lifecycle

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"

	"github.com/google/uuid"
)

// Conditions are under which a task must not go on by itself. They are stored beside
// the task. The zero value is none.
type Conditions struct {
	// StopAfter pauses the task when too many of its items have failed.
	StopAfter StopPolicy `json:"stop_after,omitzero"`
	// Canary, if positive: the task waits for approval once it has processed that many
	// items.
	Canary int64 `json:"canary,omitempty"`
	// Approval: the owner, the submitter and the run-as person of the task may not
	// approve it. Without a canary it waits for approval before its first batch.
	Approval bool `json:"approval,omitempty"`
	Approved bool `json:"approved,omitempty"`
}

// StopPolicy is a number of failed items, or a share of the processed ones, that a
// task must not reach. The zero value is none.
type StopPolicy struct {
	Failed  int64   `json:"failed,omitempty"`
	Percent float64 `json:"percent,omitempty"` // in hundredths at the finest
}

// percentFrom is the number of processed items from which a percentage counts.
const percentFrom = 20

// StopPolicyRule says what [ParseStopPolicy] reads, as the end of a sentence that
// begins with "use".
const StopPolicyRule = "a number of failed items from 1, such as 100, or a share of the processed items from 1% to 100%, such as 5%"

// ParseStopPolicy reads a stop policy, such as 100 or 5%.
func ParseStopPolicy(text string) (StopPolicy, error) {
	refused := fmt.Errorf("%.50q is not a limit of failed items: use %s", text, StopPolicyRule)
	number, percent := strings.CutSuffix(text, "%")
	whole, fraction, point := strings.Cut(number, ".")
	if !digits(whole) || point && (!percent || !digits(fraction) || len(fraction) > 2) {
		return StopPolicy{}, refused
	}
	if !percent {
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 1 {
			return StopPolicy{}, refused
		}
		return StopPolicy{Failed: n}, nil
	}
	share, err := strconv.ParseFloat(number, 64)
	if err != nil || share < 1 || share > 100 {
		return StopPolicy{}, refused
	}
	return StopPolicy{Percent: share}, nil
}

// digits reports whether text is a number without a sign.
func digits(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// String returns the text that [ParseStopPolicy] reads; "" for none.
func (p StopPolicy) String() string {
	switch {
	case p.Failed > 0:
		return strconv.FormatInt(p.Failed, 10)
	case p.Percent > 0:
		return strconv.FormatFloat(p.Percent, 'f', -1, 64) + "%"
	default:
		return ""
	}
}

// Reached reports whether so many items have failed that the task must not go on.
func (p StopPolicy) Reached(at Progress) bool {
	if p.Failed > 0 && at.Failed >= p.Failed {
		return true
	}
	processed := at.Processed()
	if p.Percent <= 0 || processed < percentFrom {
		return false
	}
	const hundredths = 100
	highFailed, lowFailed := bits.Mul64(uint64(at.Failed), 100*hundredths)
	highMost, lowMost := bits.Mul64(uint64(processed), uint64(math.Round(p.Percent*hundredths)))
	return highFailed > highMost || highFailed == highMost && lowFailed >= lowMost
}

// Processed is the number of items that were done, failed or skipped.
func (p Progress) Processed() int64 { return p.Done + p.Failed + p.Skipped }

// AwaitsApproval reports whether a task that is there must not go on before it is
// approved.
func (c Conditions) AwaitsApproval(at Progress) bool {
	return (c.Canary > 0 || c.Approval) && !c.Approved && at.Processed() >= c.Canary
}

// Limit returns how many items the next batch may take, of the number that it would.
func (c Conditions) Limit(limit int, at Progress) int {
	if c.Canary <= 0 || c.Approved {
		return limit
	}
	return int(min(int64(limit), max(c.Canary-at.Processed(), 1)))
}

// MustCheck reports whether a write that takes a task from one progress to another may
// bring it to a limit, so that the stored conditions must be read with the write.
// They may have changed since; of c, only what never does is used.
func (c Conditions) MustCheck(from, to Progress) bool {
	return to.Failed > from.Failed || // of a share too: it only falls otherwise
		to.Failed > 0 && from.Processed() < percentFrom && to.Processed() >= percentFrom ||
		c.AwaitsApproval(to)
}

// WithDefault returns the conditions with the stop policy of the kind, where the task has
// none of its own.
func (c Conditions) WithDefault(kind StopPolicy) Conditions {
	if c.StopAfter == (StopPolicy{}) {
		c.StopAfter = kind
	}
	return c
}

// PauseReason says why a task that is there must be paused; "" if it may go on.
func (c Conditions) PauseReason(at Progress) string {
	var why []string
	if c.AwaitsApproval(at) {
		why = append(why, c.awaited())
	}
	if reached := c.StopReason(at); reached != "" {
		why = append(why, reached)
	}
	return strings.Join(why, "; ")
}

// StopReason says how a task that is there has reached its stop policy; "" if it has not.
func (c Conditions) StopReason(at Progress) string {
	if !c.StopAfter.Reached(at) {
		return ""
	}
	return fmt.Sprintf("%d of %d "+ReasonStopPolicy+"%s", at.Failed, at.Processed(), c.StopAfter)
}

// awaited is what a task waits for that awaits approval.
func (c Conditions) awaited() string {
	text := ReasonApproval + "before its first batch"
	if c.Canary > 0 {
		text = fmt.Sprintf(ReasonApproval+"after its first %d items", c.Canary)
		if c.Canary == 1 {
			text = ReasonApproval + "after its first item"
		}
	}
	if c.Approval {
		text += ", by a second person"
	}
	return text
}

// Mark is what a request makes of the conditions.
func (c Conditions) Mark(a Action) Conditions {
	c.Approved = c.Approved || a == ActApprove
	return c
}

// Pause returns the row after it was paused by its conditions.
func (r Row) Pause(reason string) Row {
	r.Control, r.ControlBy, r.ControlReason = Pause, uuid.Nil, reason
	return r
}

// PauseToo returns the row after it was paused for a further reason of the task's own, by a policy: of a pause that stands on it already,
// both reasons are known. A pause that was passed on is replaced, see [TakesPause].
func (r Row) PauseToo(reason string) Row {
	if TakesPause(r.Control, r.ControlReason) {
		return r.Pause(reason)
	}
	if r.ControlReason != "" {
		reason = r.ControlReason + "; " + reason
	}
	r.ControlReason = reason
	return r
}

// Stop returns the row after a stop was requested for a reason of the task's own.
func (r Row) Stop(reason string) Row {
	r.Control, r.ControlBy, r.ControlReason = Stop, uuid.Nil, reason
	return r
}
