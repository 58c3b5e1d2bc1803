package taskkit_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskkind"
)

type (
	plainExecutor   struct{}
	segmentExecutor struct{ plainExecutor }
	mergeExecutor   struct{ segmentExecutor }
	onlyMerges      struct{ plainExecutor }
	stageExecutor   struct{ plainExecutor }
	wrapping        struct {
		taskkit.Executor[countSpec, countState]
	}
)

func (plainExecutor) Execute(context.Context, *taskkit.Batch[countSpec, countState]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

func (segmentExecutor) Segments(context.Context, *taskkit.Batch[countSpec, countState]) (*segment.Plan, error) {
	return segment.UUID{Depth: 1}.Plan()
}

func (mergeExecutor) Merge(*countState, countState) error { return nil }

func (onlyMerges) Merge(*countState, countState) error { return nil }

func (stageExecutor) Stages(context.Context, *taskkit.Batch[countSpec, countState]) ([]taskkit.Stage, error) {
	return nil, nil
}

func (w wrapping) Unwrap() any { return w.Executor }

type countDefinition = taskkind.Definition[countSpec, countState, string]

// TestMethodsOfKind: an executor is refused whose methods are not those that its kind says.
func TestMethodsOfKind(t *testing.T) {
	t.Parallel()
	plain, segments, stages := countDefinition{}, countDefinition{Segments: true}, countDefinition{Stages: true}
	for name, c := range map[string]struct {
		definition     countDefinition
		executor       taskkit.Executor[countSpec, countState]
		method, remedy string // "": they fit each other
	}{
		"neither":             {definition: plain, executor: plainExecutor{}},
		"children":            {definition: countDefinition{Children: true}, executor: plainExecutor{}},
		"Segments":            {definition: segments, executor: segmentExecutor{}},
		"Merge":               {definition: segments, executor: mergeExecutor{}},
		"Segments, wrapped":   {definition: segments, executor: wrapping{wrapping{segmentExecutor{}}}},
		"Stages":              {definition: stages, executor: stageExecutor{}},
		"undeclared Segments": {plain, segmentExecutor{}, "Segments", "run go generate"},
		"undeclared, wrapped": {plain, wrapping{segmentExecutor{}}, "Segments", "run go generate"},
		"no Segments":         {segments, plainExecutor{}, "Segments", "Unwrap"},
		"no Unwrap": {segments, struct {
			taskkit.Executor[countSpec, countState]
		}{segmentExecutor{}}, "Segments", "Unwrap"},
		"undeclared Stages": {plain, stageExecutor{}, "Stages", "run go generate"},
		"no Stages":         {stages, plainExecutor{}, "Stages", "run go generate"},
		"only Merge":        {plain, onlyMerges{}, "Merge", "add Segments"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.definition.Name = "count"
			err := registered(taskkit.NewKind(c.definition), c.executor).Err()
			if c.method == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var e *taskkit.UsageError
			if !errors.As(err, &e) || e.What != `kind "count"` || !strings.Contains(e.Why, c.method) || !strings.Contains(err.Error(), c.remedy) {
				t.Errorf("got %v, want an *UsageError of %s that says %q", err, c.method, c.remedy)
			}
		})
	}
}

// TestContradictoryKinds: what cannot be true together is refused.
func TestContradictoryKinds(t *testing.T) {
	t.Parallel()
	type spec struct {
		People []string `json:"people"`
	}
	type definition = taskkind.Definition[spec, countState, string]
	targets := taskkind.TargetsIn("people", func(s *spec) *[]string { return &s.People })
	for says, d := range map[string]definition{
		"both Segments and Stages":   {Segments: true, Stages: true},
		"both Segments and Targets":  {Segments: true, Targets: targets},
		"both Stages and Targets":    {Stages: true, Targets: targets},
		"both Preview and Children":  {Preview: true, Children: true},
		"both Preview and Stages":    {Preview: true, Stages: true},
		"both SkipPoison and Stages": {SkipPoison: true, Stages: true},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if said := fmt.Sprint(recover()); !strings.Contains(said, "kind contradictory: it has "+says) {
					t.Errorf("NewKind: %s", said)
				}
			}()
			d.Name = "contradictory"
			taskkit.NewKind(d)
		})
	}
	taskkit.NewKind(definition{Name: "sound", Children: true, SkipPoison: true, Targets: targets})
}

// TestNoCoalescingWithChildren: a task that may have children is not replaced.
func TestNoCoalescingWithChildren(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]countDefinition{"children": {Children: true}, "segments": {Segments: true}, "stages": {Stages: true}} {
		d.Name = name
		_, err := taskkit.Submit(t.Context(), new(sql.DB), taskkit.NewKind(d), countSpec{}, taskkit.System(), taskkit.WithCoalescing("x"))
		if e, ok := errors.AsType[*taskkit.OptionError](err); !ok || e.Option != "WithCoalescing" {
			t.Errorf("%s: got %v, want an *OptionError of WithCoalescing", name, err)
		}
	}
}
