package taskkit

import (
	"reflect"
	"testing"

	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/taskpolicy"
)

// A strategy and policies of WithStage replace the ones of the stage and of its kind, and change no variable of the program.
func TestStageOptionsReplace(t *testing.T) {
	t.Parallel()
	failed := func(name string, n int64) taskpolicy.Policy {
		return taskpolicy.Policy{Name: name, When: taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Failed, AtLeast: n}}, Do: taskpolicy.Notify}
	}
	declared := func() taskpolicy.Policies {
		return taskpolicy.Policies{{Name: "kind", When: taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Skipped, Code: "c", Percent: 5}}, Do: taskpolicy.Stop}, failed("second", 9)}
	}
	coded := func() taskpolicy.Strategy {
		return taskpolicy.Strategy{{Of: taskpolicy.Item, Class: taskpolicy.Transient, Do: taskpolicy.FailItem}}
	}
	policies, strategy := declared(), coded()
	kind := NewKind(taskkind.Definition[stageSpec, struct{}, struct{}]{Name: "governed", Policies: policies})
	given := taskpolicy.Policies{failed("given", 5)}
	own := taskpolicy.Strategy{{Codes: []string{"no"}, Do: taskpolicy.SkipItem}}
	composite := NewKind(taskkind.Definition[struct{}, struct{}, struct{}]{Name: "composite", Stages: true})
	for name, code := range map[string][]SubmitOption{
		"of the kind": {WithStrategy(strategy)},
		"of the code": {WithStrategy(strategy), WithPolicies(policies...)},
	} {
		s := composite.options([]SubmitOption{WithStage("one", WithPolicies(given...), WithStrategy(own))})
		stages, err := tailorStages([]Stage{NewStage("one", kind, staged, code...)}, s.Options.Stages)
		if err != nil || len(s.errs) > 0 {
			t.Fatal(err, s.errs)
		}
		if got := stages[0].task.Options; !reflect.DeepEqual(got.Policies, given) || !reflect.DeepEqual(got.Strategy, own) {
			t.Errorf("policies %s: the stage has the policies %v and the strategy %+v", name, got.Policies, got.Strategy)
		}
	}
	if !reflect.DeepEqual(policies, declared()) || !reflect.DeepEqual(strategy, coded()) {
		t.Errorf("the program has now the policies %v and the strategy %+v", policies, strategy)
	}
	stages, err := tailorStages([]Stage{NewStage("one", kind, staged)}, composite.options([]SubmitOption{WithStage("one", WithPriority(PriorityLow))}).Options.Stages)
	if err != nil || !reflect.DeepEqual(stages[0].task.Options.Policies, declared()) {
		t.Errorf("without others the stage has the policies %v, %v", stages[0].task.Options.Policies, err)
	}
}
