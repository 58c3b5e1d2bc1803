package taskpolicy_test

import (
	"fmt"
	"testing"

	"taskkit.dev/taskkit/taskpolicy"
)

// What holds still holds with low-water marks, also within a Not: a policy fires once while its condition holds.
func TestConditionHolding(t *testing.T) {
	t.Parallel()
	mark := taskpolicy.Condition{Items: &taskpolicy.Items{Of: taskpolicy.Failed, AtLeast: 10, Low: 3}}
	not := taskpolicy.Condition{Not: &mark}
	for name, of := range map[string]struct {
		when    taskpolicy.Condition
		holding string // with 0, 2, 3, 9, 10 and 12 failed items
	}{
		"mark":            {mark, "false false true true true true"},
		"not":             {not, "true true true true false false"},
		"not not":         {taskpolicy.Condition{Not: &not}, "false false true true true true"},
		"not any":         {taskpolicy.Condition{Not: &taskpolicy.Condition{Any: []taskpolicy.Condition{mark}}}, "true true true true false false"},
		"all, not within": {taskpolicy.Condition{All: []taskpolicy.Condition{not, {Not: &not}}}, "false false true true false false"},
	} {
		var holding []bool
		for _, n := range []int64{0, 2, 3, 9, 10, 12} {
			f := taskpolicy.Facts{Processed: 20, Failed: n}
			holding = append(holding, of.when.Holding(&f))
			if of.when.Holds(&f) && !of.when.Holding(&f) {
				t.Errorf("%s: with %d failed items it holds, and not with its low-water marks", name, n)
			}
		}
		if got := fmt.Sprint(holding); got != "["+of.holding+"]" {
			t.Errorf("%s: got %s, want [%s]", name, got, of.holding)
		}
	}
}
