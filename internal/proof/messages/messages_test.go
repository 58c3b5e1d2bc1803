package messages_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/testdb/cluster"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/intake"
)

// size is the size of a run.
type size struct{ messages, strikes, batch int }

// scaled returns the size of a run against a broker: the long one for RabbitMQ, a tenth of its messages
// for the others.
func scaled(t *testing.T, b *broker, short, long size) size {
	t.Helper()
	_, is := prove.Budget(t)
	switch {
	case !is:
		return short
	case b.kind != "rabbitmq":
		long.messages /= 10
		long.strikes /= 4
	}
	return long
}

// A consumer exits between commit and acknowledgement, again and again. Each message becomes one
// task, and dead letters are only those that can never become one.
func TestForcedExit(t *testing.T) {
	t.Parallel()
	run := func(t *testing.T, b *broker, db *testdb.DB) {
		t.Helper()
		n := scaled(t, b, size{messages: 100, strikes: 4, batch: 25}, size{messages: 5000, strikes: 200, batch: 25})
		e := newEnv(t, b, db, n)
		e.publish(0, n.messages)
		a := e.args
		a.Exit = true
		for range n.strikes {
			if _, wait := launch(t, a); wait() != exitCode {
				t.Error("a consumer ends in another way than by its exit")
			}
		}
		e.drain()
		e.check("messages-exit-"+b.kind+"-"+db.Short(), map[string]any{"exits": n.strikes})
	}
	eachPair(t, run)
}

// eachPair runs a test with each broker on PostgreSQL, and with RabbitMQ on SQLite too.
func eachPair(t *testing.T, f func(t *testing.T, b *broker, db *testdb.DB)) {
	for kind, start := range brokers {
		if kind == "rabbitmq" {
			continue
		}
		t.Run(kind+"/postgres", func(t *testing.T) {
			t.Parallel()
			f(t, start(t), testdb.Postgres(t))
		})
	}
	t.Run("rabbitmq", func(t *testing.T) {
		t.Parallel()
		server := testdb.Broker(t, cluster.StartRabbitMQ)
		testdb.Each(t, func(t *testing.T, db *testdb.DB) { f(t, rabbitQueue(server, name+"-"+db.Short()), db) })
	})
}

// Consumers are killed while messages come, and broker and database are killed and started again, each
// alone and both at once.
func TestKilled(t *testing.T) {
	t.Parallel()
	eachBroker(t, func(t *testing.T, b *broker, db *testdb.DB) {
		n := scaled(t, b, size{messages: 600, strikes: 4, batch: 50}, size{messages: 100_000, strikes: 50, batch: 100})
		e := newEnv(t, b, db, n)
		var publisher sync.WaitGroup
		defer publisher.Wait()
		published := make(chan struct{})
		publisher.Go(func() {
			defer close(published)
			e.publish(0, n.messages)
		})
		kill := []func(){e.consumer(), e.consumer()}
		defer func() { kill[0](); kill[1]() }()
		struck := map[string]int{}
		for i := range n.strikes {
			<-time.After(time.Duration(e.rng.Int64N(int64(300 * time.Millisecond))))
			k := i % len(kill)
			kill[k]()
			struck["consumer"]++
			// About every tenth time something else falls too; in a short run each of the last.
			what := e.rng.IntN(10)
			if rest := n.strikes - 1 - i; rest < 3 {
				what = rest
				if b.database == nil && rest == 0 {
					what = 2 // the broker alone has fallen once
				}
			}
			for _, name := range e.strike(what) {
				struck[name]++
			}
			kill[k] = e.consumer()
		}
		<-published
		e.drain()
		kill[0]()
		kill[1]()
		kill = []func(){func() {}, func() {}}
		e.check("messages-kills-"+b.kind+"-"+db.Short(), map[string]any{"struck": struck})
	})
}

// eachBroker runs a test with each broker, which may be killed: on PostgreSQL with a server of its own, which may
// be killed too, and RabbitMQ on SQLite too.
func eachBroker(t *testing.T, f func(t *testing.T, b *broker, db *testdb.DB)) {
	for kind, start := range brokers {
		t.Run(kind+"/postgres", func(t *testing.T) {
			t.Parallel()
			server := testdb.OwnServer(t)
			db := testdb.On(t, server)
			db.SetMaxIdleConns(0) // none that outlives its server
			b := start(t)
			b.database = server
			f(t, b, db)
		})
	}
	t.Run("rabbitmq/sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, newRabbit(t), testdb.SQLite(t))
	})
}

// poisonEvery: every such message is not JSON.
const poisonEvery = 50

// env is what one run works with.
type env struct {
	*testing.T
	broker *broker
	db     *testdb.DB
	args   processArgs
	size   size
	rng    *rand.Rand
	poison int
}

func newEnv(t *testing.T, b *broker, db *testdb.DB, n size) *env {
	t.Helper()
	a := processArgs{Broker: b.kind, URL: b.url, Queue: b.queue, Dialect: db.Dialect, DSN: db.DSN, Schema: db.Schema, Batch: n.batch}
	if a.Schema == "" {
		a.Schema = taskkit.DefaultSchema
	}
	if err := taskkit.Migrate(t.Context(), db.DB, a.Schema); err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	return &env{
		T: t, broker: b, db: db, args: a, size: n, rng: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // not for secrets
		poison: (n.messages + poisonEvery - 1) / poisonEvery,
	}
}

// consumer starts a consumer and returns how it is killed.
func (e *env) consumer() func() {
	e.Helper()
	kill, _ := launch(e.T, e.args)
	return sync.OnceFunc(kill)
}

// publish publishes messages, each until the broker has confirmed it: some twice.
func (e *env) publish(from, to int) {
	late := time.After(4 * testdb.Patience(e.T))
	for from < to {
		var ms []intake.Message
		for n := from; n < min(from+500, to); n++ {
			m := intake.Message{ID: fmt.Sprintf("m%06d", n)}
			if m.Body = fmt.Appendf(nil, `{"message":%q}`, m.ID); n%poisonEvery == 0 {
				m.Body = []byte("no JSON")
			}
			ms = append(ms, m)
		}
		err := e.broker.publish(e.Context(), ms)
		if err == nil {
			from += len(ms)
			continue
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-late:
			e.Errorf("publish messages from %d on: %v", from, err)
			return
		}
	}
}

// strike lets the broker or the database fall and starts it again, or both at once, and returns what
// it was.
func (e *env) strike(what int) (names []string) {
	e.Helper()
	var again []func(context.Context) error
	var err error
	if what == 0 || what == 1 {
		names = append(names, "broker")
		err = e.broker.down()
		again = append(again, e.broker.up)
	}
	if s := e.broker.database; s != nil && (what == 0 || what == 2) {
		names = append(names, "database")
		err = errors.Join(err, s.Kill())
		again = append(again, s.Start)
	}
	started := make(chan error, len(again))
	for _, f := range again {
		go func() { started <- f(e.Context()) }()
	}
	for range again {
		err = errors.Join(err, <-started)
	}
	if err != nil {
		e.Fatalf("start %v again: %v", names, err)
	}
	return names
}

// drain runs a consumer here until all messages have been taken in and acknowledged, and returns its counts.
func (e *env) drain() intake.Stats {
	e.Helper()
	c, err := newConsumer(e.db.DB, e.args, slog.New(slog.DiscardHandler))
	if err != nil {
		e.Fatal(err)
	}
	ctx, cancel := context.WithCancel(e.Context())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			e.Error(err)
		}
	}()
	late := time.After(2 * testdb.Patience(e.T))
	for {
		var taken int
		err := e.db.QueryRowContext(e.Context(), "SELECT count(*) FROM taskkit_task_message").Scan(&taken)
		left := 0
		if err == nil && taken >= e.size.messages && e.broker.left != nil {
			left, err = e.broker.left(e.Context())
		}
		if err == nil && taken >= e.size.messages && left == 0 {
			return c.Stats()
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-late:
			e.Fatalf("%d of %d messages are taken in, %d are left in the broker, %v; %+v", taken, e.size.messages, left, err, c.Stats())
		}
	}
}

// check compares tasks and dead letters with the messages, and records the counts.
func (e *env) check(as string, counts map[string]any) {
	e.Helper()
	spec := "execution_spec->>'message'"
	if e.db.Dialect == dialect.SQLite {
		spec = "json_extract(execution_spec, '$.message')"
	}
	var tasks, distinct, refused, others int
	if err := e.db.QueryRowContext(e.Context(), "SELECT count(*), count(DISTINCT "+spec+") FROM taskkit_queued_task").Scan(&tasks, &distinct); err != nil {
		e.Fatal(err)
	}
	err := e.db.QueryRowContext(e.Context(), `SELECT coalesce(sum(CASE WHEN outcome = 'refused' THEN 1 ELSE 0 END), 0), coalesce(sum(CASE WHEN outcome = 'dropped' THEN 1 ELSE 0 END), 0)
FROM taskkit_task_message`).Scan(&refused, &others)
	if err != nil {
		e.Fatal(err)
	}
	want, violations := e.size.messages-e.poison, 0
	if tasks != want || distinct != want || refused != e.poison || others != 0 {
		violations++
		e.Errorf("%d tasks of %d messages, want %d; %d refused, want %d; %d dropped", tasks, distinct, want, refused, e.poison, others)
	}
	if e.broker.dead != nil {
		// The broker moves them after it was told.
		dead, err := e.broker.dead(e.Context())
		for late := time.Now().Add(testdb.Patience(e.T)); (err != nil || dead < e.poison) && time.Now().Before(late); {
			<-time.After(20 * time.Millisecond)
			dead, err = e.broker.dead(e.Context())
		}
		// One that is published again is a dead letter again; a message that could become a task is none.
		if err != nil || dead < e.poison {
			violations++
			e.Errorf("%d dead letters, want at least %d: %v", dead, e.poison, err)
		}
		counts["dead_letters"] = dead
	}
	counts["messages"], counts["tasks"], counts["poison"], counts["violations"] = e.size.messages, tasks, e.poison, violations
	prove.Record(e.T, as, counts)
}
