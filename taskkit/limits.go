package taskkit

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// limitsMax is how many limits a task may have.
const limitsMax = 10

// WithLimit makes the task wait until fewer than so many tasks with the key execute, over all
// workers and kinds. The key is any text of up to 200 bytes, such as "program 7" or the name of a
// kind. The limit is exact: also while workers are lost, never more execute. The task keeps its permit from one batch to the
// next, and gives it back when it ends or leaves its worker, for instance to wait for a
// retry or for its children. Tasks that wait for a permit take no slot, and are woken in the order of their
// submission.
//
// It can be given several times, with different keys. All tasks with a key should have the same
// number; what taskops.Operator.SetLimit has set goes before theirs. Buckets have the limits of their task. For a limit that follows from
// the spec, see [Limiter]. It is an *[OptionError] below 1, for a key that is empty or begins with "taskkit.", and with [WithCoalescing].
func WithLimit(key string, atMost int) SubmitOption {
	return submitOption(func(s *submission) {
		if problem := lifecycle.LimitProblem(key, atMost); problem != "" {
			s.fail("WithLimit", problem)
			return
		}
		s.Options.Limits = store.MergeLimits(s.Options.Limits, []store.Limit{{Key: key, AtMost: atMost}})
		if len(s.Options.Limits) > limitsMax {
			s.fail("WithLimit", fmt.Sprintf("more than %d keys for one task", limitsMax))
		}
	})
}

// Limiter is an [Executor] whose tasks have limits by their specs, such as two at once for each
// program. Limits returns how many tasks with each key may execute at once, which is added to the limits of
// [WithLimit]. The worker calls it before a task begins or continues; it must return the same for the same
// task, and it must not block. A limit that WithLimit would refuse fails the task with the code misuse.
type Limiter[Spec any] interface {
	Limits(t LimitedTask[Spec]) map[string]int
}

// LimitedTask is a task as a [Limiter] sees it.
type LimitedTask[Spec any] struct {
	ID           ID
	Kind         string // as it is stored
	Owner, RunAs uuid.UUID
	Queue        string
	Spec         Spec
}

// Limits implements [session.Limiter].
func (c *call[Spec, State, Result]) Limits() ([]store.Limit, error) {
	given := c.limits()
	if len(given) > limitsMax {
		return nil, misuse(fmt.Errorf("the method Limits of the executor returned %d limits, more than %d", len(given), limitsMax))
	}
	var limits []store.Limit
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if problem := lifecycle.LimitProblem(key, given[key]); problem != "" {
			return nil, misuse(errors.New("the method Limits of the executor returned an invalid limit: " + problem))
		}
		limits = append(limits, store.Limit{Key: key, AtMost: given[key]})
	}
	return limits, nil
}
