package taskkit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// checkSchedule returns the options that a schedule cannot have.
func (s *submission) checkSchedule() error {
	var wrong []string
	o := s.Options
	for option, given := range map[string]bool{
		"WithDelay": s.Delay != 0, "WithNotBefore": !s.NotBefore.IsZero(), "WithIdempotencyKey": s.IdempotencyKey != "",
		"WithCoalescing (its Overlap decides)": s.Reference != "", "WithVersion": s.Version != nil, "WithReason": s.Reason != "", "WithPredecessor": s.Follows != uuid.Nil, "WithParent": s.Parent != uuid.Nil,
		"WithTraceparent": s.Traceparent != "", "WithTotal": s.Total >= 0, "WithTargets": s.over != nil, "WithSample": s.sampled(), "WithSubmitted": s.submitted != nil, "WithLogger": s.logger != nil, "WithObserver": s.observer != nil,
		"WithoutNotify": s.withoutNotify, "WithPreview": o.Preview, "WithDryRun": o.DryRun, "WithMaxChanges": len(o.ChangeLimits) > 0, "WithMaxParallel": o.MaxParallel != 0,
		"WithChildFailure": o.OnFailure != "", "WithStopAfter": o.StopAfter != (lifecycle.StopPolicy{}), "WithCanary": o.Canary != 0, "WithApproval": o.Approval,
		"WithLatestStart": !o.LatestStart.IsZero(), "WithDeadline": !o.Deadline.IsZero(), "WithMaxRate": o.MaxRate != 0, "WithStage": len(o.Stages) > 0, "WithStrategy": len(o.Strategy) > 0, "WithPolicies": s.policies, "WithNotifications": len(s.notify) > 0,
	} {
		if given {
			wrong = append(wrong, option)
		}
	}
	if rest, own := s.Submitted, *o; len(wrong) == 0 {
		rest.Kind, rest.Owner, rest.RunAs, rest.Queue, rest.UniqueKey = "", uuid.Nil, uuid.Nil, "", ""
		own.Limits, own.Window, own.TimeLimit, own.Keep, own.OfKind, own.Policies, own.Notify = nil, "", 0, 0, store.TimesOfKind{}, nil, nil
		if rest == (store.Submitted{}) && !own.Given() {
			return nil
		}
		wrong = []string{"another option"} // one that is new
	}
	slices.Sort(wrong)
	return &OptionError{"SetSchedule", "takes OwnedBy, RunAs, WithQueue, WithPriority, WithUniqueKey, WithLimit, WithTimeLimit, WithWindow, WithRetention, WithSchema and WithActor, not " + strings.Join(wrong, " and ")}
}

// scheduled makes a task of a schedule, as Submit would.
func (k *Kind[Spec, State, Result]) scheduled(s *store.Schedule) (task store.NewTask, err error) {
	if err := k.acceptsTasks(); err != nil {
		return store.NewTask{}, err
	}
	var spec Spec
	if err := k.readSpec(s.Revision, s.Spec, &spec); err != nil {
		return store.NewTask{}, err
	}
	sub := k.options(nil)
	sub.Owner, sub.NewTask.RunAs, sub.owned = s.Owner, s.RunAs, true
	sub.Queue, sub.NewTask.Priority = cmp.Or(s.Queue, k.def.Queue), s.Priority
	o, err := store.DecodeScheduleOptions(s.Options)
	if err != nil {
		return store.NewTask{}, err
	}
	sub.UniqueKey, sub.Options.Limits, sub.Options.Times, sub.Options.Keep = o.UniqueKey, o.Limits, o.Times, o.Keep
	sub.setNotify(k.notify)
	if err := k.checkOptions(sub, []Spec{spec}); err != nil {
		return store.NewTask{}, err
	}
	err = k.newTask(sub, &spec, &task)
	return task, err
}
