package notifykills_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"
	"time"

	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/proof/workers"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/tasknotify"
)

const (
	// perRound is how many tasks have ended when their worker is killed. It has as many slots.
	perRound = 10
	// rounds is how often a worker is killed in the short form. The long form kills 100, so that 1,000 notifications are cut off.
	rounds, longRounds = 2, 100
	// healthy is how many slots a worker has that delivers. One that does not has perRound.
	healthy = 4
)

type spec struct {
	N int `json:"n"`
}

var kind = taskkit.NewKind(taskkind.Definition[spec, struct{}, struct{}]{Name: "short", Notify: "ops"})

type executor struct{}

func (executor) Execute(_ context.Context, b *taskkit.Batch[spec, struct{}]) (taskkit.Next, error) {
	b.Advance(1)
	return taskkit.Done, nil
}

// target writes each try into a table. The target of a worker that is to be killed delivers nothing after it.
type target struct {
	db      taskkit.Execer
	table   string
	deliver bool
}

func (x *target) Deliver(ctx context.Context, m *tasknotify.Message) error {
	delivered := 0
	if x.deliver {
		delivered = 1
	}
	_, err := x.db.ExecContext(ctx, "INSERT INTO "+x.table+" (task, id, process, delivered) VALUES ($1, $2, $3, $4)", m.Task.String(), m.ID, os.Getpid(), delivered)
	if err != nil || x.deliver {
		return err
	}
	<-ctx.Done()
	return ctx.Err()
}

func TestMain(m *testing.M) {
	workers.Main(m, 2*perRound+6, func(a workers.Args, r *taskkit.Registry) taskkit.Config {
		db, err := a.Open()
		if err == nil {
			taskkit.Register(r, kind, executor{})
			err = tasknotify.Register(r, tasknotify.Config{DB: db, Schema: a.Schema, Targets: map[string]tasknotify.Target{
				"ops": &target{db, a.Table("tries"), a.Slots == healthy},
			}})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return taskkit.Config{
			Slots: a.Slots, Queues: a.Queues, Heartbeat: 300 * time.Millisecond, DeadAfter: 4 * time.Second, BatchTimeout: 3 * time.Second,
			Poll: 20 * time.Millisecond, PollListening: 50 * time.Millisecond,
			Backoff: 5 * time.Millisecond, BackoffMax: 50 * time.Millisecond, MaxAttempts: 1000, Logger: slog.New(slog.DiscardHandler),
		}
	})
}

// TestMID59Killed: the end of each task is committed, its worker is killed before the delivery, and the notification is delivered later, once
// more with the same id. No task has two.
func TestMID59Killed(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		a := workers.On(db)
		if err := taskkit.Migrate(t.Context(), db.DB, a.Schema); err != nil {
			t.Fatal(err)
		}
		tries := a.Table("tries")
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE "+tries+" (task text NOT NULL, id text NOT NULL, process integer NOT NULL, delivered integer NOT NULL)"); err != nil {
			t.Fatal(err)
		}
		n := rounds
		budget, long := prove.Budget(t)
		if long {
			n = longRounds
		}
		count := func(what string) (n int) {
			t.Helper()
			if err := db.QueryRowContext(t.Context(), "SELECT "+what+" FROM "+tries).Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		until := func(what string, want int) {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), 4*testdb.Patience(t))
			defer cancel()
			for count(what) < want {
				select {
				case <-ctx.Done():
					t.Fatalf("%s is %d, want %d", what, count(what), want)
				case <-time.After(10 * time.Millisecond):
				}
			}
		}
		var queues []string
		kills, tasks, began := 0, 0, time.Now()
		for ; kills < n && (!long || time.Since(began) < budget*4/5); kills++ {
			// Each worker has a queue of its own, so that it does not take over the notifications of those before it.
			doomed, queue := a, fmt.Sprint("round-", kills)
			doomed.Slots, doomed.Queues = perRound, []string{queue}
			queues = append(queues, queue)
			w := workers.Launch(t, doomed)
			specs := make([]spec, perRound)
			if _, err := taskkit.SubmitMany(t.Context(), db.DB, kind, specs, taskkit.System(), taskkit.WithSchema(a.Schema), taskkit.WithQueue(queue)); err != nil {
				t.Fatal(err)
			}
			tasks += perRound
			until("count(DISTINCT task)", tasks) // all have ended, and their notifications are about to be delivered
			w.Kill()
		}
		cut := count("count(DISTINCT id)")
		deliverer := a
		deliverer.Slots, deliverer.Queues = healthy, queues
		workers.Launch(t, deliverer)
		until("count(DISTINCT CASE WHEN delivered = 1 THEN task END)", tasks)
		violations := 0
		if ids, about := count("count(DISTINCT id)"), count("count(DISTINCT task)"); ids != tasks || about != tasks {
			violations++
			t.Errorf("%d tasks have ended, and %d notifications were tried about %d of them, want one each", tasks, ids, about)
		}
		if cut != tasks {
			violations++
			t.Errorf("%d deliveries were cut off, want %d", cut, tasks)
		}
		prove.Record(t, "notifykills-"+db.Short(), map[string]any{"kills": kills, "tasks": tasks, "cut off": cut, "violations": violations})
	})
}
