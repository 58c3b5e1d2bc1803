package taskkit

import (
	"testing"
	"time"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	worker := func(kinds map[string][]int, queues ...string) WorkerInfo {
		return WorkerInfo{ID: "w", Alive: true, Kinds: kinds, Queues: queues}
	}
	able := worker(map[string][]int{"mail": {1, 2}}, "default")
	dead := WorkerInfo{ID: "w", Silence: 90 * time.Second}
	task := func(s Status, change func(*Task)) *Task {
		k := &Task{
			Kind: "mail", Revision: 2, Queue: "default", Status: s, Worker: "w", Checkpoints: 3,
			Progress: Progress{Total: 10, Done: 4, Failed: 1},
		}
		if change != nil {
			change(k)
		}
		return k
	}
	last := []Attempt{{Code: "database", Checkpoint: 3}}
	for name, tc := range map[string]struct {
		task     *Task
		workers  []WorkerInfo
		attempts []Attempt
		want     string
	}{
		"done":     {task(Completed, func(k *Task) { k.Elapsed = 90 * time.Second }), nil, nil, "It is done: 5 of 10 items, 1 of them failed in 1m30s."},
		"stopped":  {task(Completed, func(k *Task) { k.Control, k.ControlReason = ControlStop, "wrong people" }), nil, nil, "It was stopped (wrong people) after 5 of 10 items, 1 of them failed; what it did until then stays."},
		"failure":  {task(Failure, func(k *Task) { k.Desc = "gone: x" }), nil, nil, "It failed after 5 of 10 items, 1 of them failed: gone: x. Retry goes on from checkpoint 3."},
		"error":    {task(Error, func(k *Task) { k.Desc = "undecodable: x" }), nil, nil, "The runtime could not run it: undecodable: x. Retry goes on from checkpoint 3."},
		"running":  {task(Executing, nil), []WorkerInfo{able}, nil, "It is running on worker w, at checkpoint 3 with 5 of 10 items, 1 of them failed."},
		"stopping": {task(Executing, func(k *Task) { k.Control = ControlStop }), []WorkerInfo{able}, nil, "It is running on worker w, at checkpoint 3 with 5 of 10 items, 1 of them failed; STOP was requested and is seen at the next batch border."},
		"orphan":   {task(Executing, nil), []WorkerInfo{dead}, nil, "Its worker w has been silent for 1m30s; any other worker will take it over."},
		"paused":   {task(Queued, func(k *Task) { k.Control = ControlPause }), []WorkerInfo{able}, nil, "It is paused at checkpoint 3; resume lets it go on."},
		"later":    {task(Queued, func(k *Task) { k.Wait, k.Reason = 20*time.Second, "retry" }), []WorkerInfo{able}, last, "It waits for its time, 20s from now (retry); its last attempt failed with database at checkpoint 3."},
		"slots":    {task(Queued, nil), []WorkerInfo{able}, nil, "It is due and waits for a free slot; live workers that can take it: 1."},
		"nobody":   {task(Queued, nil), []WorkerInfo{dead}, nil, "It is due but no worker can take it: no worker is alive."},
		"kind":     {task(Queued, nil), []WorkerInfo{worker(map[string][]int{"fax": {1}}, "default")}, nil, "It is due but no worker can take it: no live worker (of 1) knows the kind mail."},
		"revision": {task(Queued, nil), []WorkerInfo{worker(map[string][]int{"mail": {1}}, "default")}, nil, "It is due but no worker can take it: no live worker reads revision 2 of mail."},
		"queue":    {task(Queued, nil), []WorkerInfo{worker(map[string][]int{"mail": {2}}, "night")}, nil, "It is due but no worker can take it: no live worker that knows mail serves the queue default."},
	} {
		if got := explain(tc.task, tc.workers, tc.attempts); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tc.want)
		}
	}
}
