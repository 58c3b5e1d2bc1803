package taskkit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// Limit is how many tasks with a key execute at once, over all workers and kinds. The key is any
// text of up to 200 bytes, such as "program 7" or the name of a kind.
type Limit struct {
	Key    string
	AtMost int // from 1 to HighestLimit
}

// HighestLimit is the largest AtMost of a [Limit].
const HighestLimit = math.MaxInt32

const (
	limitKeyMax = 200
	limitsMax   = 10 // of one task
)

// check returns what is wrong with the limit; "" if nothing is.
func (l Limit) check() string {
	switch {
	case l.Key == "":
		return "the key is empty"
	case len(l.Key) > limitKeyMax:
		return fmt.Sprintf("the key %q has %d bytes, more than %d", shorten(l.Key), len(l.Key), limitKeyMax)
	case !utf8.ValidString(l.Key) || strings.ContainsRune(l.Key, 0):
		return "the key contains a NUL byte or invalid UTF-8"
	case l.AtMost < 1:
		return fmt.Sprintf("at most %d with the key %q: at least 1 task must be able to execute; to hold tasks, pause them", l.AtMost, l.Key)
	case l.AtMost > HighestLimit:
		return fmt.Sprintf("at most %d with the key %q: use a number up to %d", l.AtMost, l.Key, HighestLimit)
	}
	return ""
}

// WithLimit makes the task wait until fewer than so many tasks with the key execute, over all
// workers and kinds. It is exact: also while workers are lost, never more execute. The task keeps its place from one batch to the
// next, and gives it back when it ends or leaves its worker, for instance to wait for a
// retry or for its children. Tasks that wait for a place take no slot, and are woken in the order of their
// submission.
//
// It can be given several times, with different keys. All tasks with a key should have the same
// number; what [Client.SetLimit] has set goes before theirs. Buckets have the limits of their task. For a limit that follows from
// the spec, see [Limiter]. It is an *[OptionError] below 1, for an empty key and with [WithCoalescing].
func WithLimit(key string, atMost int) SubmitOption {
	return submitOption(func(s *submission) {
		l := Limit{key, atMost}
		if problem := l.check(); problem != "" {
			s.fail("WithLimit", problem)
			return
		}
		s.Options.Limits = store.MergeLimits(s.Options.Limits, []store.Limit{store.Limit(l)})
		if len(s.Options.Limits) > limitsMax {
			s.fail("WithLimit", fmt.Sprintf("more than %d keys for one task", limitsMax))
		}
	})
}

// Limiter is an [Executor] whose tasks have limits by their specs, such as two at once for each
// program. Limits is called by the worker before a task begins or continues; it
// must return the same for the same task, and it must not block. What it returns is added to the limits of [WithLimit]. A limit that
// WithLimit would refuse fails the task with the code misuse.
type Limiter[Spec any] interface {
	Limits(t LimitedTask[Spec]) []Limit
}

// LimitedTask is a task as a [Limiter] sees it.
type LimitedTask[Spec any] struct {
	ID           ID
	Kind         string // as it is stored
	Owner, RunAs uuid.UUID
	Queue        string
	Spec         Spec
}

// Limits implements [engine.Limiter].
func (c *call[Spec, State, Result]) Limits() ([]store.Limit, error) {
	var limits []store.Limit
	for _, l := range c.limits() {
		if problem := l.check(); problem != "" {
			return nil, misuse(errors.New("the method Limits of the executor returned a limit that is none: " + problem))
		}
		limits = append(limits, store.Limit(l))
	}
	if len(limits) > limitsMax {
		return nil, misuse(fmt.Errorf("the method Limits of the executor returned %d limits, more than %d", len(limits), limitsMax))
	}
	return limits, nil
}

// LimitUse says how a limit is used.
type LimitUse struct {
	Key       string `json:"key"`
	AtMost    int    `json:"atMost"`    // what holds; if the tasks differ, the smallest of theirs
	Set       bool   `json:"set"`       // by [Client.SetLimit]
	Executing int64  `json:"executing"` // tasks that have a place
	Waiting   int64  `json:"waiting"`   // tasks that wait for one
}

// Limits lists the limits that are in use or set, by their keys, after this key, at most so many.
func (c *Client) Limits(ctx context.Context, after string, most int) ([]LimitUse, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	uses, err := op.Limited(ctx, after, min(max(most, 1), 1000))
	if err != nil {
		return nil, c.public(ctx, err)
	}
	made := make([]LimitUse, len(uses))
	for i, u := range uses {
		made[i] = LimitUse{u.Key, u.AtMost, u.Set, u.Executing, u.Waiting}
	}
	return made, nil
}

// SetLimit sets how many tasks with a key execute at once, whatever the tasks say. More makes
// waiting tasks due. Less ends none that execute: it takes effect as they end. 0 takes back what was set. Of
// the options only [WithActor] is used. It returns an *[OptionError] for a key that [WithLimit] refuses.
func (c *Client) SetLimit(ctx context.Context, key string, atMost int, opts ...RequestOption) error {
	if problem := (Limit{key, max(atMost, 1)}).check(); problem != "" {
		return &OptionError{"SetLimit", problem}
	}
	if atMost < 0 {
		return &OptionError{"SetLimit", fmt.Sprintf("%d: use a number from 1, or 0 to take back what was set", atMost)}
	}
	op, err := c.tables(ctx)
	if err != nil {
		return err
	}
	var r requestOptions
	for _, o := range opts {
		o.applyRequest(&r)
	}
	return c.public(ctx, op.SetLimit(ctx, key, atMost, r.Actor))
}
