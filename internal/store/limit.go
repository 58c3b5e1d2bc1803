package store

import (
	"context"
	"slices"

	"github.com/google/uuid"
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

// Admission asks for a place under each limit of a task that a worker has leased.
type Admission struct {
	Lease
	Limits []Limit
}

// Admitted is the answer to an [Admission].
type Admitted struct {
	OK bool
	// Full is the limit under which there is no place, if it is not OK.
	Full Limit
}

// Limits is the part of a [Store] for tasks with limits. A task has its places from its
// admission until it leaves the worker: it need not give them back, and one whose worker has died has none. So
// nothing is left to be forgotten.
type Limits interface {
	// Admit gives each of these tasks a place under all of its limits, or under none. What others
	// do with the same keys at the same time waits. The answers are in the order of the admissions. A task
	// that has its places keeps them.
	Admit(ctx context.Context, tasks []Admission) ([]Admitted, error)
	// WakeWaiting makes the tasks due that wait for a place under these keys, the first ones, as
	// many as there are places, and returns them. It is called after the commit that may have freed a place, never
	// before. It also forgets the tasks with these keys that no longer wait or execute.
	WakeWaiting(ctx context.Context, keys []string) ([]uuid.UUID, error)
}

// LimitOperator is the part of an [Operator] for limits.
type LimitOperator interface {
	// Limited lists the keys that are in use or set, in their order, after a key, at most limit.
	Limited(ctx context.Context, after string, limit int) ([]LimitUse, error)
	// SetLimit sets how many tasks with a key may execute at once, whatever the tasks say; 0: what
	// they say holds again. More makes waiting tasks due, less ends none that execute.
	SetLimit(ctx context.Context, key string, atMost int, by uuid.UUID) error
}

// LimitUse says how a key is used.
type LimitUse struct {
	Key       string
	Executing int64 // tasks that execute
	Waiting   int64 // tasks that wait for a place
	AtMost    int   // how many may execute: what was set, or the smallest that a task says
	Set       bool  // by SetLimit
}
