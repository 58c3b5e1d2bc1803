package messages_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/proof/workers"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
	"taskkit.dev/taskkit/taskkind"
)

// applySpec is a version of a reference.
type applySpec struct {
	Reference string `json:"reference" validate:"required"`
	Version   int64  `json:"version"`
}

type applyState struct {
	Later bool `json:"later"` // it has been put back once
}

type applyBatch = taskkit.Batch[applySpec, applyState]

var applyKind = taskkit.NewKind(taskkind.Definition[applySpec, applyState, struct{}]{Name: "apply"})

// versionHandler submits a version of a reference. The version of the submission is the broker's sequence; for RabbitMQ, which has
// none, it is the payload's own.
func versionHandler(broker string) intake.Handler {
	return func(_ context.Context, m intake.Message) (intake.Decision, error) {
		var spec applySpec
		if err := json.Unmarshal(m.Body, &spec); err != nil {
			return intake.Decision{}, err
		}
		version := m.Sequence
		if broker == "rabbitmq" {
			version = spec.Version
		}
		options := []taskkit.SubmitOption{taskkit.System(), taskkit.WithCoalescing(spec.Reference), taskkit.WithVersion(version)}
		if spec.Version%3 == 0 {
			// One that is due already is claimed before those that came earlier.
			options = append(options, taskkit.WithNotBefore(time.Now().Add(-time.Hour)))
		}
		return intake.Submit(applyKind, spec, options...), nil
	}
}

// registerApply is what the workers execute.
func registerApply(a workers.Args, r *taskkit.Registry) taskkit.Config {
	taskkit.Register(r, applyKind, &applier{a.Table("applied")})
	return taskkit.Config{
		Slots: 4, Heartbeat: 200 * time.Millisecond, DeadAfter: time.Second, BatchTimeout: 700 * time.Millisecond,
		Poll: 50 * time.Millisecond, PollListening: 200 * time.Millisecond,
		Backoff: 5 * time.Millisecond, BackoffMax: 50 * time.Millisecond, MaxAttempts: 1000, Logger: slog.New(slog.DiscardHandler),
	}
}

// applier applies a version to the row of its reference. Some batches fail, are put back or take longer.
type applier struct{ table string }

// Execute implements [taskkit.Executor].
func (a *applier) Execute(ctx context.Context, b *applyBatch) (taskkit.Next, error) {
	pause := func() error {
		select {
		case <-time.After(rand.N(30 * time.Millisecond)):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	chance := rand.IntN(20)
	switch {
	case chance < 3:
		return taskkit.More, taskkit.RetryAfter(errors.New("not now"), rand.N(200*time.Millisecond))
	case chance < 5 && !b.State.Later:
		b.State.Later = true
		return taskkit.Later(rand.N(200 * time.Millisecond)), nil
	case chance < 10:
		if err := pause(); err != nil {
			return taskkit.More, err
		}
	}
	// An older version after a newer one, or a version twice, is a violation.
	_, err := b.Tx.ExecContext(ctx, "INSERT INTO "+a.table+` AS a (reference, version, effects, violations) VALUES ($1, $2, 1, 0)
ON CONFLICT (reference) DO UPDATE SET version = excluded.version, effects = a.effects + 1,
  violations = a.violations + CASE WHEN excluded.version <= a.version THEN 1 ELSE 0 END`, b.Spec.Reference, b.Spec.Version)
	if err == nil && chance < 12 {
		err = pause()
	}
	b.Advance(1)
	return taskkit.Done, err
}

// Versions of references come as messages, and consumers and workers are killed meanwhile. The newest version of each reference is
// the last that takes effect, none takes effect after a newer one, and each message that was superseded is recorded and counted.
func TestNewestVersionWins(t *testing.T) {
	t.Parallel()
	eachPair(t, func(t *testing.T, b *broker, db *testdb.DB) {
		references, versions, n := 40, 6, size{strikes: 3, batch: 10}
		if _, long := prove.Budget(t); long {
			references, versions, n = 400, 20, size{strikes: 30, batch: 25}
		}
		n.messages = references * versions
		e := newEnv(t, b, db, n)
		e.args.Versions = true
		a := workers.On(db)
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE "+a.Table("applied")+` (reference text PRIMARY KEY,
  version bigint NOT NULL, effects bigint NOT NULL, violations bigint NOT NULL)`); err != nil {
			t.Fatal(err)
		}
		var publisher sync.WaitGroup
		defer publisher.Wait()
		publisher.Go(func() {
			for v := range versions {
				e.publishVersion(v+1, references, "")
			}
		})
		consumers, ws := []func(){e.consumer(), e.consumer()}, []*workers.Worker{workers.Launch(t, a), workers.Launch(t, a)}
		defer func() { consumers[0](); consumers[1]() }()
		for i := range n.strikes {
			e.taken(n.messages * (i + 1) / (n.strikes + 2))
			k := e.rng.IntN(2)
			consumers[k]()
			ws[k].Kill()
			consumers[k], ws[k] = e.consumer(), workers.Launch(t, a)
		}
		e.taken(n.messages * (n.strikes + 1) / (n.strikes + 2))
		consumers[0]()
		consumers[1]()
		publisher.Wait()
		if b.kind == "rabbitmq" { // elsewhere a message that comes late has the newest sequence
			e.size.messages += references
			e.publishVersion(1, references, " late")
		}
		const superseded = "outcome = 'superseded'"
		before := e.count("taskkit_task_message", superseded)
		stats := e.drain()
		recorded := e.count("taskkit_task_message", superseded)
		if stats.Superseded != int64(recorded-before) || b.kind == "rabbitmq" && recorded-before < references {
			t.Errorf("the last consumer counts %d superseded messages, and has recorded %d", stats.Superseded, recorded-before)
		}
		if other := e.count("taskkit_task_message", "outcome NOT IN ('submitted', 'superseded')"); other > 0 {
			t.Errorf("%d messages were neither submitted nor superseded", other)
		}
		e.checkVersions(references, versions, map[string]any{
			"references": references, "messages": e.size.messages, "kills": 2 * n.strikes, "superseded": recorded,
		})
	})
}

// publishVersion publishes a version of all references, in ids with a suffix.
func (e *env) publishVersion(version, references int, suffix string) {
	const atOnce = 20
	for from := 0; from < references; from += atOnce {
		var ms []intake.Message
		for r := from; r < min(from+atOnce, references); r++ {
			reference := fmt.Sprint("r", r)
			ms = append(ms, intake.Message{
				ID: fmt.Sprintf("%s v%d%s", reference, version, suffix), Body: fmt.Appendf(nil, `{"reference":%q,"version":%d}`, reference, version),
				Headers: map[string]string{"key": reference},
			})
		}
		// A connection may be lost on a busy machine. Messages that come again have the same ids.
		for err := e.broker.publish(e.Context(), ms); err != nil; err = e.broker.publish(e.Context(), ms) {
			if e.Context().Err() != nil {
				return
			}
			e.Logf("publish version %d again: %v", version, err)
		}
	}
}

// taken waits until so many messages have been taken in.
func (e *env) taken(n int) {
	e.Helper()
	e.wait(func() bool { return e.count("taskkit_task_message", "true") >= n })
}

// wait waits for a condition.
func (e *env) wait(reached func() bool) {
	e.Helper()
	for late := time.After(testdb.Patience(e)); !reached(); {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-late:
			e.Fatal("it takes too long")
		}
	}
}

// count counts rows of a table.
func (e *env) count(table, where string) (n int) {
	e.Helper()
	if err := e.db.QueryRowContext(e.Context(), "SELECT count(*) FROM "+table+" WHERE "+where).Scan(&n); err != nil {
		e.Fatal(err)
	}
	return n
}

// checkVersions waits until all tasks have ended, compares what took effect with what was published, and records the counts.
func (e *env) checkVersions(references, newest int, counts map[string]any) {
	e.Helper()
	const tasks = "taskkit_queued_task"
	e.wait(func() bool { return e.count(tasks, "workflow_status IN ('QUEUED', 'SCHEDULING', 'EXECUTING')") == 0 })
	missed, effects, violations := references-e.count("applied", fmt.Sprint("version = ", newest)), 0, 0
	if err := e.db.QueryRowContext(e.Context(), "SELECT coalesce(sum(effects), 0), coalesce(sum(violations), 0) FROM applied").Scan(&effects, &violations); err != nil {
		e.Fatal(err)
	}
	if missed+violations > 0 {
		e.Errorf("the newest version is not the last that took effect for %d of %d references; %d took effect after a newer one", missed, references, violations)
	}
	all, whole := e.count(tasks, "true"), e.count(tasks, "workflow_status = 'COMPLETED' AND NOT partial")
	if superseded := e.count(tasks, "workflow_status = 'COMPLETED' AND partial"); whole != effects || whole+superseded != all {
		violations++
		e.Errorf("of %d tasks %d have done their work, and %d took effect; %d were superseded", all, whole, effects, superseded)
	}
	counts["tasks"], counts["effects"], counts["violations"] = all, effects, missed+violations
	prove.Record(e.T, "messages-versions-"+e.broker.kind+"-"+e.db.Short(), counts)
}
