package taskkit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
)

// checkSchedule returns the options that a schedule cannot have.
func (s *submission) checkSchedule() error {
	var wrong []string
	for option, given := range map[string]bool{
		"WithDelay": s.Delay != 0, "WithNotBefore": !s.NotBefore.IsZero(), "WithUniqueKey": s.UniqueKey != "", "WithIdempotencyKey": s.IdempotencyKey != "",
		"WithCoalescing": s.Reference != "", "WithReason": s.Reason != "", "WithPredecessor": s.Follows != uuid.Nil, "WithParent": s.Parent != uuid.Nil,
		"WithTraceparent": s.Traceparent != "", "WithTotal": s.Total >= 0, "WithTargets": s.over != nil, "WithSample": s.sample > 0, "WithSubmitted": s.submitted != nil,
		"WithoutNotify": s.withoutNotify, "Preview, StopAfter or another option of the run": s.NewTask.HasPlan(),
	} {
		if given {
			wrong = append(wrong, option)
		}
	}
	if rest := s.Submitted; len(wrong) == 0 {
		rest.Kind, rest.Owner, rest.RunAs, rest.Queue = "", uuid.Nil, uuid.Nil, ""
		if rest == (store.Submitted{}) {
			return nil
		}
		wrong = []string{"another option"} // one that is new
	}
	slices.Sort(wrong)
	return &OptionError{"SetSchedule", "takes OwnedBy, RunAs, WithQueue, WithPriority, WithSchema and WithActor, not " + strings.Join(wrong, " and ")}
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
	if err := k.checkOptions(sub, []Spec{spec}); err != nil {
		return store.NewTask{}, err
	}
	err = k.newTask(sub, &spec, &task)
	return task, err
}
