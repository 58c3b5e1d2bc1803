package taskkit

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	worker := func(kinds map[string][]int, queues ...string) store.Process {
		return store.Process{ID: "w", DeadAfter: time.Minute, MaxAttempts: 10, Kinds: kinds, Queues: queues}
	}
	able := worker(map[string][]int{"mail": {1, 2}}, "default")
	dead := store.Process{ID: "w", Silence: 90 * time.Second}
	now := time.Now()
	ended := store.Process{ID: "w", Ended: &now, EndReason: "killed, crashed or cut off from the database"}
	falsely := store.Process{ID: "v", Ended: &now, FoundAlive: &now}
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
	none := lifecycle.Conditions{}
	paused := func(reason string) *Task {
		return task(StatusQueued, func(k *Task) { k.Control, k.ControlReason = ControlPause, reason })
	}
	const over = "1 of 5 processed items have failed, and the limit is 1"
	last := []store.Attempt{{Code: "database", Seq: 3, Attempt: 1, Class: "transient", Detail: "refused\n\tat here"}}
	for name, tc := range map[string]struct {
		task       *Task
		workers    []store.Process
		attempts   []store.Attempt
		want       string
		conditions lifecycle.Conditions
	}{
		"done":     {task(StatusCompleted, func(k *Task) { k.Elapsed = 90 * time.Second }), nil, nil, "It is done after 1m30s: 5 of 10 items, 1 of them failed.", none},
		"stopped":  {task(StatusCompleted, func(k *Task) { k.Partial, k.ControlReason = true, "wrong people" }), nil, nil, "It was stopped (wrong people) after 5 of 10 items, 1 of them failed; what it did until then stays.", none},
		"failure":  {task(StatusFailure, func(k *Task) { k.StatusDetail = "gone: x" }), nil, nil, "It failed after 5 of 10 items, 1 of them failed: gone: x. Retry continues from checkpoint 3.", none},
		"error":    {task(StatusError, func(k *Task) { k.StatusDetail = "undecodable: x" }), nil, nil, "The runtime could not run it: undecodable: x. Retry continues from checkpoint 3.", none},
		"running":  {task(StatusExecuting, nil), []store.Process{able}, nil, "It is running on worker w, at checkpoint 3 with 5 of 10 items, 1 of them failed.", none},
		"stopping": {task(StatusExecuting, func(k *Task) { k.Control = ControlStop }), []store.Process{able}, nil, "It is running on worker w, at checkpoint 3 with 5 of 10 items, 1 of them failed; STOP was requested and takes effect at the next batch boundary.", none},
		"orphan":   {task(StatusExecuting, nil), []store.Process{dead}, nil, "Its worker w has been silent for 1m30s; any other worker will take it over.", none},
		"ended":    {task(StatusExecuting, nil), []store.Process{ended}, nil, "Its worker w has ended (killed, crashed or cut off from the database); any other worker will take it over.", none},
		"falsely":  {task(StatusQueued, nil), []store.Process{able, falsely}, nil, "It is due and waits for a free slot; live workers that can take it: 1. Workers that were declared dead in the last hour although they ran: 1.", none},
		"long ago": {task(StatusError, func(k *Task) { k.StatusDetail = "undecodable: x" }), []store.Process{falsely}, nil, "The runtime could not run it: undecodable: x. Retry continues from checkpoint 3.", none},
		"paused":   {task(StatusQueued, func(k *Task) { k.Control = ControlPause }), []store.Process{able}, nil, "It is paused at checkpoint 3; resume continues it.", none},
		"limited": {
			task(StatusQueued, func(k *Task) {
				k.Wait, k.WaitingReason, k.Attempts = 1<<60, `waits for a permit of the limit "a": at most 1 at once`, 1
			}),
			[]store.Process{able},
			last,
			`It waits for a permit of the limit "a": at most 1 at once; attempt 1 of 10 failed at checkpoint 3 with database: refused ….`, none,
		},
		"throttled": {
			task(StatusQueued, func(k *Task) { k.Wait, k.WaitingReason = 3*time.Second, "throttled: autovacuum works on table people" }),
			[]store.Process{able},
			nil,
			"It is throttled: autovacuum works on table people. It waits at checkpoint 3 with 5 of 10 items, 1 of them failed, and its indicators are read again 3s from now.", none,
		},
		"throttled, due": {
			task(StatusQueued, func(k *Task) { k.WaitingReason = "throttled: mails: 12 wait" }),
			[]store.Process{able},
			nil,
			"It is throttled: mails: 12 wait. It waits at checkpoint 3 with 5 of 10 items, 1 of them failed, and its indicators are read again now.", none,
		},
		"throttled, without a worker": {
			task(StatusQueued, func(k *Task) { k.WaitingReason = "throttled: mails: 12 wait" }), nil, nil,
			"It is due but no worker can take it: no worker is alive.", none,
		},
		"over its limit": {
			paused(over), nil, nil, "It is paused (" + over + ") at checkpoint 3; resume with a higher limit continues it.",
			lifecycle.Conditions{StopAfter: lifecycle.StopPolicy{Failed: 1}},
		},
		"over its limit, paused by a person": {
			paused("lunch"), nil, nil, "It is paused (lunch) at checkpoint 3; " + over + ": resume with a higher limit continues it.",
			lifecycle.Conditions{StopAfter: lifecycle.StopPolicy{Failed: 1}},
		},
		"at its canary": {
			paused("it waits for approval after its first 5 items"), nil, nil,
			"It is paused (it waits for approval after its first 5 items) at checkpoint 3; approve continues it.",
			lifecycle.Conditions{Canary: 5},
		},
		"before its canary": {paused("lunch"), nil, nil, "It is paused (lunch) at checkpoint 3; resume continues it.", lifecycle.Conditions{Canary: 6}},
		"later": {task(StatusQueued, func(k *Task) {
			k.Wait, k.Attempts, k.WaitingReason = 20*time.Second, 1, "retry: failed_at=2026-01-01T00:00:00Z error=database"
		}), []store.Process{able}, last, "It waits for its retry, 20s from now; attempt 1 of 10 failed at checkpoint 3 with database: refused ….", none},
		"since":     {task(StatusQueued, func(k *Task) { k.Wait, k.WaitingReason = 20*time.Second, "asked to continue later" }), []store.Process{able}, []store.Attempt{{Code: "database", Seq: 1}}, "It waits for its time, 20s from now (asked to continue later).", none},
		"slots":     {task(StatusQueued, nil), []store.Process{able}, nil, "It is due and waits for a free slot; live workers that can take it: 1.", none},
		"nobody":    {task(StatusQueued, nil), []store.Process{dead}, nil, "It is due but no worker can take it: no worker is alive.", none},
		"safe mode": {task(StatusQueued, nil), []store.Process{{DeadAfter: time.Minute, SafeMode: true, Kinds: able.Kinds, Queues: able.Queues}}, nil, "It is due but no worker can take it: all live workers (1) are in safe mode and claim nothing.", none},
		"kind":      {task(StatusQueued, nil), []store.Process{worker(map[string][]int{"fax": {1}}, "default")}, nil, "It is due but no worker can take it: no live worker (of 1) knows the kind mail.", none},
		"revision":  {task(StatusQueued, nil), []store.Process{worker(map[string][]int{"mail": {1}}, "default")}, nil, "It is due but no worker can take it: no live worker reads revision 2 of mail.", none},
		"queue":     {task(StatusQueued, nil), []store.Process{worker(map[string][]int{"mail": {2}}, "night")}, nil, "It is due but no worker can take it: no live worker that knows mail serves the queue default.", none},
	} {
		f := &facts{workers: tc.workers, backgrounds: map[uuid.UUID]*store.Background{tc.task.ID: {
			Options: store.Options{Conditions: tc.conditions}, Attempts: tc.attempts, Stopped: store.Event{Reason: tc.task.ControlReason},
		}}}
		if got := f.explain(tc.task).Text; got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, tc.want)
		}
	}

	closed := store.QueuePause{Queue: "default", Paused: true, PausedReason: "upgrade", SincePaused: 90 * time.Second}
	for name, tc := range map[string]struct {
		task *Task
		want string
	}{
		"due": {task(StatusQueued, nil), "It waits because its queue default has been paused (upgrade) for 1m30s; it can be claimed once the queue is resumed."},
		"limited": {
			task(StatusQueued, func(k *Task) {
				k.Wait, k.WaitingReason = 1<<60, `waits for a permit of the limit "a": at most 1 at once`
			}),
			`It waits because its queue default has been paused (upgrade) for 1m30s; it can be claimed once the queue is resumed, and it waits for a permit of the limit "a": at most 1 at once.`,
		},
		"later":  {task(StatusQueued, func(k *Task) { k.Wait = 20 * time.Second }), "It waits because its queue default has been paused (upgrade) for 1m30s; it can be claimed once the queue is resumed, and not before its time, 20s from now."},
		"to end": {task(StatusQueued, func(k *Task) { k.Control = ControlStop }), "It is to be ended (STOP), and a worker is about to do it."},
	} {
		f := &facts{workers: []store.Process{able}, pauses: []store.QueuePause{closed}}
		if got := f.explain(tc.task).Text; got != tc.want {
			t.Errorf("%s in a paused queue:\n got %s\nwant %s", name, got, tc.want)
		}
	}
}
