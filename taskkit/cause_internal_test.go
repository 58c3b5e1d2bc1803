package taskkit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskcause"
)

// Each cause, with the note that lists show. The note begins with the cause, and is one line.
func TestCauses(t *testing.T) {
	t.Parallel()
	ago := time.Now()
	person := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	worker := func(change func(*store.Process)) store.Process {
		w := store.Process{ID: "w", DeadAfter: time.Minute, MaxAttempts: 10, Slots: 2, Kinds: map[string][]int{"mail": {2}}, Queues: []string{"default"}}
		if change != nil {
			change(&w)
		}
		return w
	}
	task := func(s Status, change func(*Task)) *Task {
		k := &Task{
			ID: person, Kind: "mail", Revision: 2, Queue: "default", Status: s, Worker: "w", Checkpoints: 3,
			Progress: Progress{Total: 10, Done: 4, Failed: 1}, item: 6,
		}
		if s == StatusQueued {
			k.Worker = ""
		}
		change(k)
		return k
	}
	waits := func(reason string) *Task {
		return task(StatusQueued, func(k *Task) { k.Wait, k.WaitingReason, k.Fence = 20*time.Second, reason, 1 })
	}
	paused := func(reason string) *Task {
		return task(StatusQueued, func(k *Task) { k.Control, k.ControlReason = ControlPause, reason })
	}
	same := func(*Task) {}
	due := task(StatusQueued, same)
	failed := []store.Attempt{{Seq: 3, Fence: 1, Attempt: 1, Class: "refused", Code: "panic", Detail: "boom\n\ngoroutine 1 [running]:\nmain.f()"}}
	one := []store.Process{worker(nil)}
	seen := make(map[taskcause.Cause]bool)
	for want, f := range map[string]struct {
		task       *Task
		workers    []store.Process
		background store.Background
		pauses     []store.QueuePause
	}{
		"done: ":                {task: task(StatusCompleted, same)},
		"stopped: stopped (no)": {task: task(StatusCompleted, func(k *Task) { k.Partial = true }), background: store.Background{Stopped: store.Event{Reason: "no"}}},
		"failed: gone: x …":     {task: task(StatusFailure, func(k *Task) { k.StatusDetail = "gone: x\nstack" })},
		"not_run: undecodable":  {task: task(StatusError, func(k *Task) { k.StatusDetail = "undecodable" })},
		"running: ":             {task: task(StatusExecuting, same), workers: one},
		"tried_again: lost its worker 1 of 10 times, at item 6":                  {task: task(StatusExecuting, func(k *Task) { k.Attempts = 2 }), workers: one},
		"tried_again: attempt 1 of 3 failed: panic: boom …":                      {task: task(StatusExecuting, func(k *Task) { k.Attempts = 2 }), workers: one, background: store.Background{Attempts: failed}},
		"workers_lost: lost its worker 8 of 10 times, at item 6":                 {task: task(StatusExecuting, func(k *Task) { k.Attempts = 9 }), workers: one},
		"crash_loop: lost its worker at item 6: crash_loop: tried 10 times":      {task: task(StatusError, func(k *Task) { k.StatusDetail = "crash_loop: tried 10 times" })},
		"requested: stop requested by " + person.String() + " (no)":              {task: task(StatusExecuting, func(k *Task) { k.Control, k.ControlBy, k.ControlReason = ControlStop, person, "no" }), workers: one},
		"requested: delete requested":                                            {task: task(StatusQueued, func(k *Task) { k.Control = ControlDelete }), workers: one},
		"worker_silent: its worker has been silent for 2m0s":                     {task: task(StatusExecuting, same), workers: []store.Process{worker(func(w *store.Process) { w.Silence = 2 * time.Minute })}},
		"worker_ended: its worker has ended: left":                               {task: task(StatusExecuting, same), workers: []store.Process{worker(func(w *store.Process) { w.Ended, w.EndReason = &ago, "left" })}},
		"paused: paused by " + person.String() + " (lunch)":                      {task: task(StatusQueued, func(k *Task) { k.Control, k.ControlBy, k.ControlReason = ControlPause, person, "lunch" })},
		"approval: waits for approval before its first batch":                    {task: paused("it waits for approval before its first batch")},
		"approval: waits for approval after its first 5 items":                   {task: paused("lunch"), background: store.Background{Options: store.Options{Conditions: lifecycle.Conditions{Canary: 5}}}},
		"stop_policy: 1 of 5 processed items have failed, and the limit is 1":    {task: paused("1 of 5 processed items have failed, and the limit is 1")},
		"rule: strategy: pause: an item has failed with moved":                   {task: paused("strategy: pause: an item has failed with moved")},
		"child_failed: 2 of its children have failed: retry them, and resume it": {task: paused("2 of its children have failed: retry them, and resume it")},
		"start: starts 20s from now":                                             {task: waits(""), workers: one},
		"start: starts on 9999-12-31 00:00 UTC":                                  {task: task(StatusQueued, func(k *Task) { k.Wait, k.NotBefore = 1<<63-1, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC) })},
		"later: the office is closed, 20s from now":                              {task: waits("the office is closed"), workers: one},
		"retry: retry 20s from now: attempt 1 of 3 failed: panic: boom …": {task: task(StatusQueued, func(k *Task) {
			k.Wait, k.WaitingReason, k.Attempts = 20*time.Second, "retry: failed_at=x error=panic", 1
		}), workers: one, background: store.Background{Attempts: failed}},
		"window: its window 22:00-06:00 UTC is closed, 20s from now": {task: waits("its window 22:00-06:00 UTC is closed"), workers: one},
		"rate: its rate is 5 items a second at most, 20s from now":   {task: waits("its rate is 5 items a second at most"), workers: one},
		"throttled: throttled: mails: 12 wait":                       {task: waits("throttled: mails: 12 wait"), workers: one},
		`limit: limit "a": its permits are held by ` + person.String() + " and 2 more": {task: waits(`waits for a permit of the limit "a": at most 3 at once`), workers: one, background: store.Background{
			Limit: &store.LimitTasks{Key: "a", Executing: 3, First: []store.PermitTask{{Task: person, Process: "w"}}},
		}},
		"children: waits for its children: 2 are open, and 1 have ended": {task: task(StatusQueued, func(k *Task) {
			k.Wait, k.WaitingReason, k.Children = time.Hour, "waits for its children", &ChildCounts{Open: 2, Completed: 1}
		})},
		"queue_paused: queue default is paused (upgrade)":                             {task: due, workers: one, pauses: []store.QueuePause{{Queue: "default", Paused: true, PausedReason: "upgrade"}}},
		"no_worker: no worker is alive":                                               {task: due},
		"draining: all live workers (1) are shutting down":                            {task: due, workers: []store.Process{worker(func(w *store.Process) { w.Draining = true })}},
		"safe_mode: all live workers (1) are in safe mode and claim nothing":          {task: due, workers: []store.Process{worker(func(w *store.Process) { w.SafeMode = true })}},
		"unknown_kind: no live worker (of 1) knows the kind mail":                     {task: due, workers: []store.Process{worker(func(w *store.Process) { w.Kinds = nil })}},
		"unknown_revision: no live worker reads revision 2 of mail":                   {task: due, workers: []store.Process{worker(func(w *store.Process) { w.Kinds = map[string][]int{"mail": {1}} })}},
		"queue_not_served: no live worker that knows mail serves the queue default":   {task: due, workers: []store.Process{worker(func(w *store.Process) { w.Queues = []string{"night"} })}},
		"slots_busy: all slots (2) of the live workers that can take it (1) are busy": {task: due, workers: []store.Process{worker(func(w *store.Process) { w.Busy = 2 })}},
		"due: ": {task: due, workers: one},
		"due: lost its worker 2 of 10 times, at item 6": {task: task(StatusQueued, func(k *Task) { k.Attempts, k.WaitingReason = 2, "its worker was lost" }), workers: one},
	} {
		got := (&facts{workers: f.workers, pauses: f.pauses, backgrounds: map[uuid.UUID]*store.Background{person: &f.background}}).explain(f.task)
		seen[got.Cause] = true
		if line := fmt.Sprintf("%s: %s", got.Cause, got.Note); line != want {
			t.Errorf("\n got %s\nwant %s", line, want)
		}
		if strings.Contains(got.Text, "\n") || !strings.HasSuffix(got.Text, ".") {
			t.Errorf("%s: the text is no sentence on one line: %q", want, got.Text)
		}
	}
	for _, c := range taskcause.All() {
		if !seen[c] {
			t.Errorf("no task here has the cause %s", c)
		}
		delete(seen, c)
	}
	if len(seen) > 0 {
		t.Errorf("causes that taskcause.All lacks: %v", slices.Collect(maps.Keys(seen)))
	}
}
