package lifecycle

import "strings"

// A WaitReason is how the reasons begin for which tasks wait, and the word of package taskcause for them.
type WaitReason struct{ Begins, Cause string }

// WaitReasons are the reasons that have a word of their own.
var WaitReasons = []WaitReason{
	{ReasonRetry, "retry"},
	{ReasonThrottled, "throttled"},
	{ReasonChildren, "children"}, // ReasonEndingChildren too
	{ReasonNoPermit, "limit"},
	{ReasonWindow, "window"},
	{ReasonRate, "rate"},
}

// The words for tasks that have no reason, since they were submitted for later, and for any other reason.
const (
	CauseStart = "start"
	CauseLater = "later"
)

// WaitCause returns the word of package taskcause for the reason of a waiting task that is not due.
func WaitCause(reason string) string {
	if reason == "" {
		return CauseStart
	}
	for _, r := range WaitReasons {
		if strings.HasPrefix(reason, r.Begins) {
			return r.Cause
		}
	}
	return CauseLater
}
