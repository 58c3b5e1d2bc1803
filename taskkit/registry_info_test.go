package taskkit_test

import (
	"testing"

	"taskkit.dev/executors/programstatus"
	"taskkit.dev/gen/programstatustask"
	"taskkit.dev/taskkit"
)

func TestInfoOfKind(t *testing.T) {
	t.Parallel()
	var r taskkit.Registry
	if _, ok := r.Info("program_status"); ok {
		t.Error("an empty registry describes program_status")
	}
	taskkit.Register(&r, programstatustask.Kind, taskkit.Executor[programstatus.Spec, programstatus.State](&programstatus.Executor{}))
	got, ok := r.Info("program_status")
	if !ok {
		t.Fatal("program_status is registered and not described")
	}
	if got.Doc != "Executor sets program statuses." || got.Targets != "targets.people" || got.Queue != "default" || got.Revision != 1 {
		t.Errorf("Doc %q, Targets %q, Queue %q, Revision %d", got.Doc, got.Targets, got.Queue, got.Revision)
	}
	if !got.Preview || got.Segments || got.Stages || got.Retired || len(got.SpecSchema) == 0 {
		t.Errorf("Info of program_status: %+v", got)
	}
	if _, ok := r.Info("another"); ok {
		t.Error("a kind that is not registered is described")
	}
}
