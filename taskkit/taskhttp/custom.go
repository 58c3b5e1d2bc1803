package taskhttp

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"

	"taskkit.dev/taskkit"
)

// customProgress returns a function that makes the progress of a kind's own of a task with its state, as JSON. It returns nil
// for a kind whose state has no method Progress(taskkit.Progress) with one result.
func customProgress[Spec, State, Result any](k *taskkit.Kind[Spec, State, Result]) func(t *taskkit.Task) ([]byte, error) {
	m, ok := reflect.TypeFor[*State]().MethodByName("Progress")
	if !ok || m.Type.NumIn() != 2 || m.Type.In(1) != reflect.TypeFor[taskkit.Progress]() || m.Type.NumOut() != 1 {
		return nil
	}
	return func(t *taskkit.Task) ([]byte, error) {
		state, err := k.DecodeState(t.Revision, t.StateJSON)
		if err != nil {
			return nil, err
		}
		out := m.Func.Call([]reflect.Value{reflect.ValueOf(&state), reflect.ValueOf(t.Progress)})
		return json.Marshal(out[0].Interface())
	}
}

// custom adds the progress of its kind's own to a job, with a query that reads the state. It may be newer than the counts. A
// job is answered without if it cannot be made.
func (s *Server) custom(ctx context.Context, j *Job) {
	k, ok := s.kind(j.Kind)
	if !ok || k.progress == nil || j.Progress == nil {
		return
	}
	t, err := s.client.Task(ctx, j.ID)
	if err == nil {
		j.Progress.Custom, err = k.progress(t)
	}
	if err != nil && !errors.Is(err, taskkit.ErrNotFound) && ctx.Err() == nil {
		s.config.Logger.WarnContext(ctx, "a job is sent without the progress of its kind's own", "job", j.ID, "kind", j.Kind, "error", err)
	}
}
