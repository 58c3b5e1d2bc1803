package taskkit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/segment"
)

// bind returns a kind without type parameters that calls a typed executor. The
// runtime knows executors only in this form.
func bind[Spec, State, Result any](k *Kind[Spec, State, Result], x Executor[Spec, State]) *session.Kind {
	aborter, aborts := find[Aborter[Spec, State]](x)
	var report func(context.Context, *Batch[Spec, State]) (Result, error)
	if r, ok := find[Reporter[Spec, State, Result]](x); ok && k.hasResult() {
		report = r.Report
	}
	var targets targetsFunc[Spec, State]
	if finder := k.def.Targets.Finder; finder != nil {
		targets, _ = finder(x).(targetsFunc[Spec, State])
	}
	segmenter, _ := find[Segmenter[Spec, State]](x)
	merger, _ := find[Merger[State]](x)
	stager, _ := find[Stager[Spec, State]](x)
	bucketChecker, _ := find[BucketChecker[Spec, State]](x)
	var check checkFunc[Spec, State]
	if k.def.CheckItems != nil {
		check, _ = k.def.CheckItems(x).(checkFunc[Spec, State])
	}
	limiter, limits := find[Limiter[Spec]](x)
	// The states of ranges add up to the state that Report sees.
	divisible := k.def.Targets.Get != nil && stager == nil && (report == nil || merger != nil)
	bound := &session.Kind{
		Name:        k.def.Name,
		Revision:    k.def.Revision,
		Reads:       k.def.Reads,
		Secrets:     k.hidden(),
		Limit:       k.def.BatchSize,
		MaxBatch:    k.def.MaxBatchSize,
		SkipPoison:  k.def.SkipPoison,
		Preview:     k.def.Preview,
		Ledger:      k.def.Ledger,
		StopAfter:   k.stopAfter,
		DeferDelays: k.def.DeferDelays,
		Strategy:    k.def.Strategy,
		Touches:     k.def.Touches,
		Children:    k.def.Children,
		Divisible:   divisible,
		HasAbort:    aborts,
		HasLimits:   limits,

		FindsTargets: targets != nil || segmenter != nil,
		HasReport:    report != nil,
		Scheduled:    k.scheduled,
		Open: func(t session.Task, raw json.RawMessage) (session.Call, error) {
			c := &call[Spec, State, Result]{
				kind: k, x: x, aborter: aborter, report: report, targets: targets,
				segmenter: segmenter, merger: merger, stager: stager, divisible: divisible,
				check: check, bucketChecker: bucketChecker,
			}
			if targets != nil {
				c.raw = raw
			}
			if raw != nil {
				if err := k.readSpec(t.SpecRevision, raw, &c.spec); err != nil {
					return nil, err
				}
			}
			if limits {
				c.limits = func() map[string]int {
					return limiter.Limits(LimitedTask[Spec]{t.ID, t.Kind, t.Owner, t.RunAs, t.Queue, c.spec})
				}
			}
			return c, nil
		},
	}
	if segmenter != nil || k.def.Targets.Get != nil {
		bound.DecodeTargets = func(t session.Task, spec json.RawMessage, field string, keys json.RawMessage) (any, int, error) {
			if field != "" {
				return k.decodeTargets(t.SpecRevision, spec, field, keys)
			}
			var parts []json.RawMessage
			err := json.Unmarshal(keys, &parts)
			return parts, len(parts), err
		}
	}
	return bound
}

// call is an executor with the decoded spec of one task.
type call[Spec, State, Result any] struct {
	kind      *Kind[Spec, State, Result]
	x         Executor[Spec, State]
	aborter   Aborter[Spec, State]                                       // nil: there is none
	report    func(context.Context, *Batch[Spec, State]) (Result, error) // nil: there is none
	targets   targetsFunc[Spec, State]                                   // nil: it finds none
	segmenter Segmenter[Spec, State]                                     // nil: there is none
	merger    Merger[State]                                              // nil: there is none
	stager    Stager[Spec, State]                                        // nil: there is none
	limits    func() map[string]int                                      // nil: there is no Limiter
	check     checkFunc[Spec, State]                                     // nil: it has no condition for items
	divisible bool                                                       // see [session.Kind]
	spec      Spec
	raw       json.RawMessage // the stored spec, of a kind that finds its targets

	bucketChecker BucketChecker[Spec, State] // nil: it has no condition for buckets
}

// batch returns a batch for the executor, with the state decoded anew.
func (c *call[Spec, State, Result]) batch(s *session.Step, state json.RawMessage) (*Batch[Spec, State], error) {
	b := &Batch[Spec, State]{
		Task: s.Task.ID, Owner: s.Task.Owner, RunAs: s.Task.RunAs, Spec: c.spec,
		Tx: s.Tx, Preview: s.Preview, Limit: s.Limit, Attempt: s.Attempt, Log: s.Log, step: s,
	}
	if err := c.kind.readState(s.Task.Revision, state, &b.State); err != nil {
		return nil, Permanent("undecodable_state", err)
	}
	if f := s.Family; f != nil {
		b.Children.Open, b.Children.Failed = int(f.Open), int(f.Failed)
	}
	if child := s.Child; child != nil {
		b.Parent, b.Bucket = child.Parent, child.Bucket()
	}
	switch {
	case isBucket(s) && s.Child.Segment != nil:
		if err := json.Unmarshal(s.Child.Segment, &b.Segment); err != nil {
			return nil, Permanent("undecodable_segment", err)
		}
	case c.segmenter != nil && (s.Targets == nil || !s.Targets.Parts):
		b.Segment = segment.All()
	}
	return b, nil
}

// isBucket reports whether a step is one of a bucket or a range.
func isBucket(s *session.Step) bool { return s.Child.Bucket() }

// Execute implements [session.Call].
func (c *call[Spec, State, Result]) Execute(ctx context.Context, s *session.Step, state json.RawMessage) (session.Next, json.RawMessage, error) {
	leftOut := "" // of the stages
	switch {
	case isBucket(s) && s.Child.Segment != nil && c.segmenter == nil:
		// It would do the work of all buckets.
		return session.Next{}, nil, Permanent(codeSegments, errors.New("the task is a bucket, and this worker's executor has no method Segments: put it back, and retry the task"))
	case s.Targets != nil && s.Targets.Parts:
		return c.runBuckets(ctx, s, state)
	case isDryRun(s):
		return session.Next{Done: true, LeftOut: dryRun}, state, nil
	case c.isDivided(s):
		return c.runRanges(ctx, s, state)
	case c.stager != nil:
		complete, next, out, err := c.runStages(ctx, s, state)
		if err != nil || !complete {
			return next, out, err
		}
		state, leftOut = out, next.LeftOut
	}
	b, err := c.batch(s, state)
	if err != nil {
		return session.Next{}, nil, err
	}
	next, err := c.execute(ctx, b)
	if err == nil {
		err = next.check()
	}
	if err != nil {
		return session.Next{}, nil, segmentsError(err) // such as that of a predicate
	}
	out, err := c.encodeState(b)
	engine := engineNext(next)
	engine.LeftOut = leftOut
	return engine, out, err
}

// execute calls Execute, after the condition for items if there is one.
func (c *call[Spec, State, Result]) execute(ctx context.Context, b *Batch[Spec, State]) (Next, error) {
	if c.check != nil {
		left, of, next, err := c.check(ctx, b)
		if err != nil || left == 0 && of > 0 && next == More {
			return next, err
		}
	}
	return c.x.Execute(ctx, b)
}

// encodeState returns the state of a batch as JSON.
func (c *call[Spec, State, Result]) encodeState(b *Batch[Spec, State]) (json.RawMessage, error) {
	out, err := c.kind.def.State.Append(nil, &b.State)
	if err != nil {
		return nil, Permanent("unstorable_state", fmt.Errorf("encode state: %w", err))
	}
	return out, nil
}

// engineNext converts what an executor returns.
func engineNext(next Next) session.Next {
	return session.Next{
		Done: next.done, Wait: next.wait, At: next.at, Reason: next.reason,
		AwaitChildren: next.await, OpenAtMost: int64(next.atMost), OnFailure: store.OnFailure(next.onFailure),
	}
}

// Abort implements [session.Call].
func (c *call[Spec, State, Result]) Abort(ctx context.Context, s *session.Step, state json.RawMessage) error {
	b, err := c.batch(s, state)
	if err != nil || c.aborter == nil {
		return err
	}
	return c.aborter.Abort(ctx, b)
}

// Report implements [session.Call].
func (c *call[Spec, State, Result]) Report(ctx context.Context, s *session.Step, state json.RawMessage) (json.RawMessage, error) {
	if c.report == nil || isDryRun(s) {
		return nil, nil
	}
	if c.merger != nil && s.Family != nil && !isBucket(s) && s.Ending == session.EndStop {
		var err error
		if state, err = c.mergeStopped(ctx, s, state); err != nil {
			return nil, err
		}
	}
	b, err := c.batch(s, state)
	if err != nil {
		return nil, err
	}
	r, err := c.report(ctx, b)
	if err != nil {
		return nil, err
	}
	out, err := c.kind.def.Result.Append(nil, &r)
	if err != nil {
		return nil, Permanent("unstorable_result", fmt.Errorf("encode result: %w", err))
	}
	return out, nil
}
