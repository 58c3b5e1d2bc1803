package taskkit

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
)

// WithStopAfter is a stop policy: the task pauses when too many of its items have failed. The
// limit is a number of failed items from 1, such as "100", or a share of the processed
// items from "1%" to "100%", with up to two decimals, which counts from 20 processed items
// on. Anything else is an *[OptionError]. It goes before the stop policy that the kind's
// directive gives with stopafter=. In SubmitMany each task has it.
//
// Of a task with buckets, stages or other children the items of these count, to any depth.
//
// The task is paused in the transaction of the checkpoint that reaches the limit, with its children. No
// batch of it begins after that one; batches of its children that are in flight are still committed. A checkpoint that ends the task does not pause it.
// Task.ControlReason says what was reached. A person then stops the task, or resumes it
// with a higher limit: [Client.Resume] with StopAfter is one step, and without it a
// *[StateError] as long as the limit is reached.
//
// It cannot be used with [WithCoalescing], and not on a bucket or a range, whose failed items count for the whole task.
func WithStopAfter(limit string) interface {
	SubmitOption
	RequestOption
} {
	return stopAfterOption{limit}
}

type stopAfterOption struct{ limit string }

func (o stopAfterOption) applySubmit(s *submission) {
	p, err := parseStopAfter(o.limit)
	if err != nil {
		s.errs = append(s.errs, err)
	}
	s.Options.StopAfter = p
}

func (o stopAfterOption) applyRequest(r *requestOptions) {
	p, err := parseStopAfter(o.limit)
	if err != nil {
		r.errs = append(r.errs, err)
	}
	r.StopAfter = p
}

// parseStopAfter reads a stop policy.
func parseStopAfter(limit string) (lifecycle.StopPolicy, error) {
	p, err := lifecycle.ParseStopPolicy(limit)
	if err != nil {
		return p, &OptionError{"WithStopAfter", err.Error()}
	}
	return p, nil
}

// WithCanary pauses the task after its first n items, until somebody approves the rest with
// [Client.Approve]. [Batch.Limit] is bounded, so that these are exactly n where the
// executor takes its items with [Take]; an executor that takes more than b.Limit is paused
// after the batch, and one that counts nothing is never paused. [Client.Items] lists what
// became of them. A task that is done by then simply ends. With [WithSample] they are items of
// all parts of the set.
//
// It is an *[OptionError] below 1 and with [WithCoalescing].
func WithCanary(n int) SubmitOption {
	return submitOption(func(s *submission) {
		if n < 1 {
			s.fail("WithCanary", fmt.Sprintf("%d items: give it 1 at least", n))
		}
		s.Options.Canary = int64(n)
	})
}

// WithApproval makes the approval of the task one by a second person: neither the owner, nor who
// submitted it (see [WithActor]), nor the person as whom it runs can give it. Without [WithCanary]
// the task waits for it before its first batch. It is an *[OptionError] with [WithCoalescing].
func WithApproval() SubmitOption {
	return submitOption(func(s *submission) { s.Options.Approval = true })
}

// checkConditions returns what is wrong with the options of this file together with others.
func (s *submission) checkConditions() error {
	if s.Reference == "" || s.Options.Conditions == (lifecycle.Conditions{}) {
		return nil
	}
	return &OptionError{"WithCoalescing", "used together with StopAfter, Canary or WithApproval: a waiting task with these cannot be replaced"}
}

// Approve lets a task go on that waits for approval, see [WithCanary] and [WithApproval]. It
// needs [WithActor], and takes [WithStopAfter] as [Client.Resume] does. It returns a
// *[StateError] when the task does not wait for approval, when the actor must not approve
// it, and when the task has also reached its stop policy.
func (c *Client) Approve(ctx context.Context, id ID, opts ...RequestOption) (*Task, error) {
	return c.request(ctx, id, lifecycle.ActApprove, opts)
}

// check returns what is wrong with the options of a request.
func (r *requestOptions) check() error {
	if err := errors.Join(r.errs...); err != nil {
		return err
	}
	switch r.Action {
	case lifecycle.ActApprove:
		if r.Actor == uuid.Nil {
			return &OptionError{"WithActor", "Approve needs it: name the person who approves"}
		}
	case lifecycle.ActResume, lifecycle.ActChange:
	case lifecycle.ActStop, lifecycle.ActPause, lifecycle.ActRetry, lifecycle.ActDelete, lifecycle.ActNotify, lifecycle.ActLost:
		if r.StopAfter != (lifecycle.StopPolicy{}) {
			return &OptionError{"WithStopAfter", "only Resume and Approve take it; Client.Change changes the limit"}
		}
	}
	return nil
}
