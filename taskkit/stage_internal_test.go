package taskkit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit/taskkind"
)

type stageSpec struct {
	People []string `json:"people" validate:"max=3"`
}

var (
	stageKind = NewKind(taskkind.Definition[stageSpec, struct{}, struct{}]{
		Name: "mail_people", Revision: 2, Queue: "mails", Preview: true, Ledger: true, Secrets: []string{"/spec/people"},
		Targets: taskkind.TargetsIn("people", func(s *stageSpec) *[]string { return &s.People }),
	})
	finderKind = NewKind(taskkind.Definition[stageSpec, struct{}, struct{}]{
		Name: "find_people", Targets: TargetsFoundIn[struct{}]("people", func(s *stageSpec) *[]string { return &s.People }),
	})
	retiredKind = NewKind(taskkind.Definition[stageSpec, struct{}, struct{}]{Name: "retired", Retired: true})
	person      = uuid.UUID{15: 7}
	staged      = stageSpec{People: []string{"Ada", "Emmy"}}
)

// TestNewStage: a stage is what Submit would store, without what comes from the composite
// task.
func TestNewStage(t *testing.T) {
	t.Parallel()
	s := NewStage("mail", stageKind, staged, WithReason("term"), WithPriority(PriorityLow), WithStopAfter("5%"), WithPreview())
	got := s.task
	if s.err != nil || s.name != "mail" || string(got.Spec) != `{"people":["Ada","Emmy"]}` || got.Kind != "mail_people" || got.Revision != 2 {
		t.Errorf("stage %s of kind %s at revision %d with %s, %v", s.name, got.Kind, got.Revision, got.Spec, s.err)
	}
	if got.Total != 2 || got.TargetsField != "people" || got.Targets != nil || got.Secrets != "/spec/people" || !got.Ledger {
		t.Errorf("total %d, targets %q %v, secrets %q, ledger %t", got.Total, got.TargetsField, got.Targets, got.Secrets, got.Ledger)
	}
	if got.Reason != "term" || got.Priority != int(PriorityLow) || !got.Options.Preview || got.Options.StopAfter.String() != "5%" {
		t.Errorf("reason %q, priority %d, options %+v", got.Reason, got.Priority, got.Options)
	}
	if got.ID != uuid.Nil || got.Owner != uuid.Nil || got.RunAs != uuid.Nil || got.Queue != "" {
		t.Errorf("id %s, owner %s, run-as %s, queue %q, want those of the composite task", got.ID, got.Owner, got.RunAs, got.Queue)
	}
	got = NewStage("mail", stageKind, staged, OwnedBy(person), WithQueue("letters")).task
	if got.Owner != person || got.RunAs != person || got.Queue != "letters" {
		t.Errorf("owner %s, run-as %s, queue %q, want those of the options", got.Owner, got.RunAs, got.Queue)
	}
	if found := NewStage("find", finderKind, stageSpec{}).task.Targets; found == nil || !found.Finding {
		t.Errorf("targets %+v, want those that the executor finds", found)
	}
	if again := NewStage("mail", stageKind, staged).After("a").After("b", "c"); !slices.Equal(again.after, []string{"a", "b", "c"}) {
		t.Errorf("after %q", again.after)
	}
}

// TestNewStageKeepsError: what is wrong with the arguments is kept until the stages are
// checked.
func TestNewStageKeepsError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		option string
		opts   []SubmitOption
	}{
		{"WithUniqueKey", []SubmitOption{WithUniqueKey("k")}},
		{"WithIdempotencyKey", []SubmitOption{WithIdempotencyKey("k")}},
		{"WithCoalescing", []SubmitOption{WithCoalescing("k")}},
		{"WithSubmitted", []SubmitOption{WithSubmitted(new(Task))}},
		{"WithTargets", []SubmitOption{WithTargets(slices.Values([]string{"Ada"}))}},
		{"WithSample", []SubmitOption{WithPreview(), WithSample(Sample{Every: 2})}},
		{"WithNotBefore", []SubmitOption{WithNotBefore(time.Unix(1, 0))}},
		{"WithDelay", []SubmitOption{WithDelay(time.Second)}},
		{"WithSchema", []SubmitOption{WithSchema(DefaultSchema)}},
		{"WithoutNotify", []SubmitOption{WithoutNotify()}},
		{"WithParent", []SubmitOption{submitOption(func(s *submission) { s.NewTask.Parent = person })}},
		{"RunAs", []SubmitOption{RunAs(uuid.Nil)}},
		{"WithMaxChanges", []SubmitOption{WithMaxChanges("", "", 1)}},
	} {
		t.Run(c.option, func(t *testing.T) {
			t.Parallel()
			err := checkStages([]Stage{NewStage("mail", stageKind, staged, c.opts...)})
			var stage *UsageError
			option, ok := errors.AsType[*OptionError](err)
			if !errors.As(err, &stage) || stage.What != `stage "mail"` || !ok || option.Option != c.option {
				t.Errorf("got %v, want a *UsageError of mail with an *OptionError of %s", err, c.option)
			}
		})
	}
	err := checkStages([]Stage{NewStage("mail", stageKind, stageSpec{People: make([]string, 4)})})
	if e, ok := errors.AsType[*SpecError](err); !ok || len(e.Fields) != 1 || e.Fields[0].Pointer != "/people" {
		t.Errorf("got %v, want a *SpecError of people", err)
	}
	if err := checkStages([]Stage{NewStage("mail", retiredKind, staged)}); !errors.Is(err, ErrRetired) {
		t.Errorf("a retired kind: %v, want ErrRetired", err)
	}
	if err := checkStages([]Stage{NewStage[stageSpec, struct{}, struct{}]("mail", nil, staged)}); !strings.Contains(fmt.Sprint(err), "kind: nil") {
		t.Errorf("no kind: %v", err)
	}
	if _, ok := errors.AsType[*OptionError](checkStages([]Stage{NewStage("mail", finderKind, staged, WithPreview())})); !ok {
		t.Error("a preview of a kind that has none: want an *OptionError")
	}
}

// TestCheckStages: stages that cannot be run are refused, with the stage and the reason.
func TestCheckStages(t *testing.T) {
	t.Parallel()
	stage := func(name string) Stage { return NewStage(name, stageKind, staged) }
	chain := func(n int) (all []Stage) {
		for i := range n {
			all = append(all, stage(fmt.Sprintf("s%d", i)))
		}
		return all
	}
	for name, c := range map[string]struct {
		stages         []Stage
		stage, problem string // "": they are in order
	}{
		"one":                   {stages: chain(1)},
		"a chain":               {stages: chain(3)},
		"as many as there may":  {stages: chain(maxStages)},
		"side by side":          {stages: []Stage{stage("a").After(), stage("b").After()}},
		"a diamond":             {stages: []Stage{stage("a"), stage("b").After("a"), stage("c").After("a", "a"), stage("d").After("b", "c")}},
		"a later one first":     {stages: []Stage{stage("a").After("c"), stage("b").After("a"), stage("c").After()}},
		"the longest name":      {stages: []Stage{stage(strings.Repeat("a", 63))}},
		"none":                  {nil, "", "there are none"},
		"too many":              {chain(maxStages + 1), "", "there are 1001, more than 1000"},
		"the zero stage":        {[]Stage{stage("a"), {}}, "", "number 2 of the list is the zero Stage"},
		"no name":               {[]Stage{stage("")}, "", "number 1 of the list has no name"},
		"a bad name":            {[]Stage{stage("Load-it")}, "Load-it", "not valid"},
		"too long a name":       {[]Stage{stage(strings.Repeat("a", 64))}, strings.Repeat("a", 64), "not valid"},
		"a name twice":          {[]Stage{stage("a"), stage("b"), stage("a")}, "a", "number 1 and number 3 of the list"},
		"after an unknown one":  {[]Stage{stage("a"), stage("b").After("a", "c")}, "b", `after "c"`},
		"after itself":          {[]Stage{stage("a").After("a")}, "a", "after itself"},
		"a cycle of two":        {[]Stage{stage("a").After("b"), stage("b").After("a")}, "a", "a -> b -> a"},
		"a cycle by the list":   {[]Stage{stage("a").After("b"), stage("b")}, "a", "a -> b -> a"},
		"a cycle with a tail":   {[]Stage{stage("a").After("b"), stage("b").After("c"), stage("c").After("d"), stage("d").After("b")}, "b", "b -> c -> d -> b"},
		"a cycle after a chain": {[]Stage{stage("a"), stage("b"), stage("c").After("b", "d"), stage("d").After("c")}, "c", "c -> d -> c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := checkStages(c.stages)
			if c.problem == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var e *UsageError
			what := named("stage", c.stage)
			if c.stage == "" {
				what = "stages"
			}
			if !errors.As(err, &e) || e.What != what || !strings.Contains(e.Why, c.problem) {
				t.Errorf("got %v, want a *UsageError of %q that says %q", err, c.stage, c.problem)
			}
		})
	}
}

// TestStagesBefore: without After a stage comes after the one before it in the list.
func TestStagesBefore(t *testing.T) {
	t.Parallel()
	stage := func(name string) Stage { return NewStage(name, stageKind, staged) }
	got := stagesBefore([]Stage{stage("a"), stage("b"), stage("c").After(), stage("d").After("c", "a", "c"), stage("e")})
	if want := "[[] [0] [] [0 2] [3]]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
