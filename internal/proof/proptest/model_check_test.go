package proptest_test

import (
	"testing"

	"taskkit.dev/taskkit"
)

// What the model must not let pass.
func TestModelFinds(t *testing.T) {
	t.Parallel()
	plan := []step{{}, {Fails: 1, How: "permanent"}, {}}
	once := func(n int) map[int]int {
		m := make(map[int]int)
		for i := range n {
			m[i] = 1
		}
		return m
	}
	task := func(s taskkit.Status, c taskkit.Control, checkpoints int64) *taskkit.Task {
		return &taskkit.Task{Status: s, Control: c, Checkpoints: checkpoints}
	}
	partial := func(checkpoints int64) *taskkit.Task {
		return &taskkit.Task{Status: taskkit.StatusCompleted, Partial: true, Checkpoints: checkpoints}
	}
	for name, c := range map[string]struct {
		k       known
		task    *taskkit.Task
		touched map[int]int
		fine    bool
	}{
		"failed as planned":           {known{begun: true}, task(taskkit.StatusFailure, "", 1), once(1), true},
		"done without a retry":        {known{begun: true}, task(taskkit.StatusCompleted, "", 3), once(3), false},
		"done after a retry":          {known{begun: true, retried: 1}, task(taskkit.StatusCompleted, "", 3), once(3), true},
		"failed after a retry":        {known{begun: true, retried: 1}, task(taskkit.StatusFailure, "", 1), once(1), false},
		"failed too early":            {known{begun: true}, task(taskkit.StatusFailure, "", 0), nil, false},
		"touched twice":               {known{begun: true}, task(taskkit.StatusFailure, "", 1), map[int]int{0: 2}, false},
		"left one out":                {known{begun: true, retried: 1}, task(taskkit.StatusCompleted, "", 2), map[int]int{0: 1, 2: 1}, false},
		"touched and not counted":     {known{begun: true}, task(taskkit.StatusFailure, "", 0), once(1), false},
		"deleted and there":           {known{begun: true, deleted: true}, task(taskkit.StatusCompleted, "", 3), once(3), false},
		"deleted, and failed":         {known{begun: true, deleted: true}, task(taskkit.StatusFailure, "", 1), once(1), false},
		"deleted, and never begun":    {known{deleted: true}, task(taskkit.StatusFailure, "", 1), once(1), false},
		"the delete stands":           {known{begun: true, deleted: true}, task(taskkit.StatusFailure, taskkit.ControlDelete, 1), once(1), false},
		"gone and not deleted":        {known{begun: true}, nil, nil, false},
		"deleted and gone":            {known{begun: true, deleted: true}, nil, nil, true},
		"stopped at a batch boundary": {known{begun: true, stopped: true}, partial(1), once(1), true},
		"stopped, and never begun":    {known{stopped: true}, task(taskkit.StatusFailure, "", 1), once(1), false},
		"partial by nobody":           {known{begun: true, retried: 1}, partial(3), once(3), false},
		"paused and waits":            {known{begun: true, paused: true}, task(taskkit.StatusQueued, taskkit.ControlPause, 1), once(1), true},
		"waits without a pause":       {known{begun: true, paused: true}, task(taskkit.StatusQueued, "", 1), once(1), false},
		"begun before its time":       {known{far: true}, task(taskkit.StatusFailure, "", 1), once(1), false},
	} {
		c.k.plan = plan
		if err := c.k.check(c.task, c.touched); (err == nil) != c.fine {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
