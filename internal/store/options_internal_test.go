package store

import (
	"reflect"
	"testing"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/taskpolicy"
)

// An option that is given is stored, whichever it is.
func TestOptionsGiven(t *testing.T) {
	t.Parallel()
	all := Options{
		Conditions: lifecycle.Conditions{Canary: 1}, Preview: true, DryRun: true, Previewed: 2, ChangeLimits: []Change{{Verb: "delete"}},
		Child: &Child{Number: 1}, MaxParallel: 2, OnFailure: FailurePauses,
		Times: lifecycle.Times{Window: "22:00-06:00 UTC"}, MaxRate: 50, Limits: []Limit{{Key: "k", AtMost: 1}},
		OfKind: TimesOfKind{TimeLimit: 1}, Stages: map[string]StageOptions{"bill": {Priority: 1, Options: Options{MaxRate: 5}}}, Keep: 1, Sources: []Source{{From: 1}}, SelectedBy: SystemOwner,
		Sample: &RandomSample{Probability: 0.5, Seed: 7}, Strategy: taskpolicy.Strategy{{Do: taskpolicy.SkipItem}},
		Policies: taskpolicy.Policies{{Do: taskpolicy.Stop}}, PolicyState: PolicyState{Attempts: 1}, Watched: true, Notify: []notice.Subscription{{Target: "ops"}},
	}
	for i := range reflect.TypeFor[Options]().NumField() {
		var one Options
		field := reflect.ValueOf(&all).Elem().Field(i)
		reflect.ValueOf(&one).Elem().Field(i).Set(field)
		text, err := one.encode()
		if err != nil || field.IsZero() {
			t.Fatal(i, err)
		}
		got, err := DecodeOptions([]byte(text))
		if err != nil || !one.Given() || !reflect.DeepEqual(got, one) {
			t.Errorf("%+v is stored as %q (%v)", one, text, err)
		}
	}
	if text, err := new(Options).encode(); text != "" || err != nil || new(Options).Given() {
		t.Errorf("no option is stored as %q (%v)", text, err)
	}
}
