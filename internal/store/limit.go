package store

import (
	"slices"
)

// Limit is how many tasks with a key may execute at once, over all workers.
type Limit struct {
	Key    string `json:"key"`
	AtMost int    `json:"at_most"`
}

// MergeLimits returns two lists of limits as one. Of limits with the same key it keeps the smaller.
func MergeLimits(a, b []Limit) []Limit {
	merged := slices.Clone(a)
	for _, l := range b {
		if i := slices.IndexFunc(merged, func(m Limit) bool { return m.Key == l.Key }); i >= 0 {
			merged[i].AtMost = min(merged[i].AtMost, l.AtMost)
			continue
		}
		merged = append(merged, l)
	}
	return merged
}

// PermitRequest requests a permit of each limit of a task that a worker has leased.
type PermitRequest struct {
	Lease
	Limits []Limit
	// Versioned, if it is not nil, is compared with the newest version, which others submit meanwhile.
	Versioned *Versioned
}

// PermitAnswer is the answer to a [PermitRequest].
type PermitAnswer struct {
	OK bool
	// Full is a limit without a free permit, if it is not OK.
	Full Limit
	// Newest is the newest version of the reference if the task has an older one, which then gets no permit; else 0.
	Newest int64
}

// LimitRead is how many waiting tasks of a limit [Ops.Limited] counts at most. With a higher number PostgreSQL would compile the
// statement (jit_above_cost).
const LimitRead = 300

// LimitUse is the use of a key.
type LimitUse struct {
	Key       string
	Executing int64 // tasks that execute
	Waiting   int64 // tasks that wait for a permit, at most [LimitRead]
	// MoreWaiting: at least Waiting tasks wait, since not all were read. AtMost is then the smallest option of the tasks that were.
	MoreWaiting bool
	AtMost      int  // how many may execute: what was set, or the smallest option of a task
	Set         bool // by SetLimit
	// First are the first tasks that execute, at most [PermitTasksMax].
	First []PermitTask
}
