package doctor_test

import (
	"fmt"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/taskops"
)

// goOnly is why the command cannot find what a configuration shows.
const goOnly = "the command has no configuration"

// ago is the SQL of a time so many minutes ago.
func (b *env) ago(minutes int) string {
	if b.Dialect == dialect.SQLite {
		return fmt.Sprintf("strftime('%%Y-%%m-%%d %%H:%%M:%%f', 'now', '-%d minutes')", minutes)
	}
	return fmt.Sprintf("clock_timestamp() - interval '%d minutes'", minutes)
}

// aged lets all tasks and processes be so many minutes older.
func (b *env) aged(minutes int) {
	b.exec("UPDATE taskkit_queued_task SET not_before = " + b.ago(minutes) + " WHERE workflow_status = 'QUEUED'")
	b.exec("UPDATE taskkit_task_process SET started_date = " + b.ago(minutes))
}

// taskPlants are findings about workers, queues, tasks and schedules.
var taskPlants = []plant{
	{id: "no_worker", plant: func(b *env, _ *plant) { b.submit(lettersKind, 3) }, mend: func(b *env, _ *taskdoctor.Finding) { b.worker() }},
	{id: "safe_mode", plant: func(b *env, _ *plant) {
		b.worker(func(p *store.Process) { p.SafeMode = true })
	}, mend: endWorkers},
	{id: "queue_paused", plant: func(b *env, _ *plant) {
		b.worker()
		b.submit(lettersKind, 2)
		b.must(b.operator().PauseQueue(b.Context(), "mail", taskkit.WithActor(person), taskkit.WithReason("the printer is out")))
	}},
	{id: "throttled", plant: func(b *env, _ *plant) {
		b.worker()
		b.submit(lettersKind, 1)
		b.exec("UPDATE taskkit_queued_task SET waiting_reason = '" + lifecycle.ReasonThrottled + "mails: 12 wait'")
	}, mend: func(b *env, _ *taskdoctor.Finding) { b.exec("UPDATE taskkit_queued_task SET waiting_reason = NULL") }},
	{id: "worker_lost", plant: func(b *env, _ *plant) {
		p := b.worker()
		b.submit(lettersKind, 1)
		b.claim(p, 1)
		b.silence(p)
	}, mend: func(b *env, _ *taskdoctor.Finding) { b.reap() }},
	{id: "no_presence", plant: func(b *env, _ *plant) {
		b.worker()
		b.aged(5)
	}, mend: func(b *env, _ *taskdoctor.Finding) { b.exec("UPDATE taskkit_task_process SET presence_lock = 4711") }},
	{id: "workers_differ", plant: func(b *env, _ *plant) {
		b.worker()
		b.worker(func(p *store.Process) { p.Kinds = map[string][]int{"letters": {1, 2}} })
		b.aged(60)
	}, mend: endWorkers},
	{id: "slots_one_kind", plant: func(b *env, _ *plant) {
		p := b.worker()
		b.submit(lettersKind, 2)
		b.claim(p, 2)
		b.submit(parcelsKind, 1)
		b.aged(5)
	}, mend: func(b *env, _ *taskdoctor.Finding) { b.worker(); b.worker() }},
	{id: "queue_slots_full", uncommanded: goOnly, plant: func(b *env, _ *plant) {
		b.options.Config = &taskkit.Config{Queues: []string{"mail"}, QueueSlots: map[string]int{"mail": 1}}
		p := b.worker()
		b.submit(lettersKind, 1)
		b.claim(p, 1)
		b.submit(lettersKind, 1)
	}, mend: func(b *env, _ *taskdoctor.Finding) { b.options.Config.QueueSlots["mail"] = 2 }},
	{id: "pool_small", uncommanded: goOnly, plant: func(b *env, _ *plant) {
		b.options.Config, b.conns = new(taskkit.Config), 10
	}, mend: func(b *env, _ *taskdoctor.Finding) { b.conns = 15 }},
	{id: "config_refused", uncommanded: goOnly, plant: func(b *env, _ *plant) {
		b.options.Config = &taskkit.Config{Heartbeat: time.Minute, DeadAfter: 2 * time.Minute}
	}, mend: func(b *env, _ *taskdoctor.Finding) { b.options.Config.DeadAfter = 3 * time.Minute }},

	{id: "queue_old", plant: func(b *env, _ *plant) { b.submit(lettersKind, 3); b.aged(20) }, mend: func(b *env, f *taskdoctor.Finding) {
		for _, text := range f.Affected {
			_, err := b.client.Stop(b.Context(), uuid.MustParse(text))
			b.must(err)
		}
	}},
	{id: "unknown_kind", plant: func(b *env, _ *plant) {
		b.worker(func(p *store.Process) { p.Kinds = map[string][]int{"parcels": {1}} })
		b.submit(lettersKind, 2)
	}, mend: func(b *env, _ *taskdoctor.Finding) { b.worker() }},
	{id: "retry_storm", plant: func(b *env, _ *plant) {
		for _, id := range b.submit(lettersKind, 20) {
			b.exec(`INSERT INTO taskkit_task_attempt (id, task_id, process, fence, checkpoint_seq, attempt, class, code, detail)
VALUES ($1, $2, 'p', 1, 0, 1, 'transient', 'mail_down', 'connection refused')`, store.NewID().String(), id.String())
		}
	}, mend: func(b *env, _ *taskdoctor.Finding) { // an hour later
		b.exec("UPDATE taskkit_task_attempt SET created_date = " + b.ago(61))
	}},
	{id: "approval_waits", plant: func(b *env, _ *plant) {
		b.options.Approval, b.flags = time.Millisecond, []string{"--approval", "1ms"}
		b.submit(lettersKind, 1, taskkit.WithApproval())
	}},
	{id: "dead_letters", plant: func(b *env, _ *plant) {
		p := b.worker()
		b.submit(lettersKind, 2)
		for _, l := range b.claim(p, 2) {
			b.apply(p, &store.Write{Lease: l, Begun: true, To: lifecycle.Failure, StatusDetail: "gone: the person has moved"})
		}
	}},
	{id: "target_fails", plant: func(b *env, p *plant) {
		p.about = "ops"
		deliverer := b.deliverer()
		for range 3 {
			b.notify("ops")
		}
		b.refuse(deliverer, 3)
	}, mend: func(b *env, _ *taskdoctor.Finding) { // the command has retried them
		b.deliver(b.deliverer(), 3)
	}},
	{id: "limit_holder_lost", plant: func(b *env, _ *plant) {
		p := b.worker()
		b.submit(lettersKind, 2, taskkit.WithLimit("bank", 1))
		bank := []store.Limit{{Key: "bank", AtMost: 1}}
		leases := b.claim(p, 2)
		answers, err := b.store.TakePermits(b.Context(), []store.PermitRequest{{Lease: leases[0], Limits: bank}, {Lease: leases[1], Limits: bank}})
		b.must(err)
		if !answers[0].OK || answers[1].OK {
			b.Fatalf("permits %+v", answers)
		}
		b.apply(p, &store.Write{Lease: leases[1], Begun: true, To: lifecycle.Queued, Delay: time.Hour, Reason: lifecycle.ReasonNoPermit + `"bank"`})
		b.silence(p)
	}, mend: func(b *env, _ *taskdoctor.Finding) { b.reap() }},

	{id: "schedule_never", plant: func(b *env, _ *plant) {
		b.schedule()
		b.exec("UPDATE taskkit_schedule SET next_date = NULL, next_wall = NULL, due_date = NULL")
	}},
	{id: "schedule_late", plant: func(b *env, _ *plant) {
		b.schedule()
		b.exec("UPDATE taskkit_schedule SET next_date = " + b.ago(60) + ", due_date = " + b.ago(60))
	}, mend: func(b *env, _ *taskdoctor.Finding) {
		_, err := b.operator().PauseSchedule(b.Context(), "nightly")
		b.must(err)
	}},
	{id: "schedule_refused", plant: func(b *env, _ *plant) {
		b.schedule()
		b.exec("UPDATE taskkit_schedule SET last_error = 'the spec cannot be read', last_error_date = " + b.ago(1))
	}, mend: func(b *env, _ *taskdoctor.Finding) {
		b.exec("UPDATE taskkit_schedule SET last_error = NULL, last_error_date = NULL")
	}},
	{id: "schedule_alternates", plant: func(b *env, _ *plant) {
		for i := range 6 {
			b.must(taskops.SetSchedule(b.Context(), b.DB, lettersKind, "nightly", letters{To: []string{"Ada"}},
				taskops.Schedule{Cron: fmt.Sprintf("0 %d * * *", i%2)}, taskkit.WithSchema(b.schema)))
		}
	}, mend: func(b *env, _ *taskdoctor.Finding) {
		b.must(taskops.SetSchedule(b.Context(), b.DB, lettersKind, "nightly", letters{To: []string{"Ada"}}, taskops.Schedule{Cron: "0 9 * * *"}, taskkit.WithSchema(b.schema)))
	}},
}

// deliverer registers a process that delivers notifications.
func (b *env) deliverer() store.Process {
	b.Helper()
	return b.worker(func(p *store.Process) { p.Kinds = map[string][]int{notice.Kind: {1}} })
}

// endWorkers deregisters the processes.
func endWorkers(b *env, f *taskdoctor.Finding) {
	for _, id := range f.Affected {
		b.deregister(store.Process{ID: id})
	}
}

// schedule makes a schedule.
func (b *env) schedule() {
	b.Helper()
	b.must(taskops.SetSchedule(b.Context(), b.DB, lettersKind, "nightly", letters{To: []string{"Ada"}}, taskops.Schedule{Cron: "0 2 * * *"}, taskkit.WithSchema(b.schema)))
}
