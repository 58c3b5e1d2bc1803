package taskkit

import (
	"testing"
	"time"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskkind"
)

// The tasks of a schedule have the times of the kind from their fire on, unless the schedule has a time limit.
func TestPTV39TimesOfScheduledTasks(t *testing.T) {
	t.Parallel()
	k := NewKind(taskkind.Definition[struct{}, struct{}, struct{}]{Name: "timed", LatestStart: time.Hour, TimeLimit: time.Minute})
	for _, own := range []time.Duration{0, time.Second} {
		options, err := store.ScheduleOptions{Times: lifecycle.Times{TimeLimit: own}}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		task, err := k.scheduled(&store.Schedule{Revision: 1, Spec: []byte("{}"), Options: options})
		if err != nil {
			t.Fatal(err)
		}
		task.SetTimes(time.Now())
		want := time.Minute
		if own > 0 {
			want = own
		}
		if o := task.Options; o.TimeLimit != want || o.LatestStart.Before(time.Now()) {
			t.Errorf("limit of the schedule %v: %+v", own, o)
		}
	}
}
