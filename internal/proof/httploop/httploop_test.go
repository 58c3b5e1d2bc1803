package httploop_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/testdb/cluster"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

const (
	// clients make loops at the same time.
	clients = 4
	// items is how many rows a job writes.
	items = 5
	// kills is how many there are; longKills in the long form, if its time is enough.
	kills, longKills = 6, 200
)

// Whatever is killed, each loop has the right result, its job has written each of its
// rows once, and a key has started one job.
func TestLoopUnderKills(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, db *testdb.DB, server *cluster.Server) {
		n, began := kills, time.Now()
		budget, long := prove.Budget(t)
		if long {
			n = longKills
		}
		e := newEnv(t, db)
		e.postgres = server
		ctx, stop := context.WithCancel(t.Context())
		var loops sync.WaitGroup
		defer func() {
			stop()
			loops.Wait()
		}()
		for i := range clients {
			loops.Go(func() { e.loops(ctx, i%2 == 0) })
		}
		killed := map[string]any{}
		for i := 0; i < n && (!long || time.Since(began) < budget); i++ {
			what := e.kill()
			count, _ := killed[what].(int)
			killed[what] = count + 1
			// The loops go on: after each kill two of them end.
			for range 2 {
				select {
				case <-e.ended:
				case <-time.After(testdb.Patience(t)):
					t.Fatalf("no loop ends after a kill of the %s", what)
				}
			}
		}
		close(e.over)
		loops.Wait()
		e.check()
		name := "sqlite"
		if db.Dialect == dialect.Postgres {
			name = "postgres"
		}
		prove.Record(t, "httploop-"+name, map[string]any{"kills": killed, "loops": len(e.tokens), "violations": e.violations})
	})
}

// eachDatabase runs a test on both databases, and on PostgreSQL with a server of its own, which may be killed.
func eachDatabase(t *testing.T, f func(t *testing.T, db *testdb.DB, server *cluster.Server)) {
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		server := testdb.OwnServer(t)
		db := testdb.On(t, server)
		db.SetMaxIdleConns(0) // none that outlives its server
		f(t, db, server)
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		f(t, testdb.SQLite(t), nil)
	})
}

// env is a server and a worker, and what clients have done.
type env struct {
	*testing.T
	db     *testdb.DB
	args   processArgs
	rng    *rand.Rand
	server func() // kills it
	// postgres is the database server; nil: it is SQLite.
	postgres *cluster.Server
	worker   func()
	client   *taskhttp.Client
	ended    chan struct{} // a loop has ended
	over     chan struct{} // closed: no further loop

	mu         sync.Mutex
	tokens     []string
	violations int
}

func newEnv(t *testing.T, db *testdb.DB) *env {
	t.Helper()
	a := processArgs{Dialect: db.Dialect, DSN: db.DSN, Schema: db.Schema, Address: freeAddress(t)}
	if a.Schema == "" {
		a.Schema = taskkit.DefaultSchema
	}
	if err := taskkit.Migrate(t.Context(), db.DB, a.Schema); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE "+tableIn(db.Dialect, a.Schema)+" (token text NOT NULL, task text NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	e := &env{
		T: t, db: db, args: a, rng: rand.New(rand.NewPCG(seed, 0)), ended: make(chan struct{}), over: make(chan struct{}),
		client: &taskhttp.Client{
			URL: "http://" + a.Address, HTTP: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: clients}}, Backoff: 20 * time.Millisecond,
		},
	}
	t.Cleanup(e.client.HTTP.CloseIdleConnections)
	e.start(true)
	e.start(false)
	t.Cleanup(func() { e.server(); e.worker() })
	return e
}

// freeAddress is one on which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start starts the server or the worker.
func (e *env) start(server bool) {
	e.Helper()
	a := e.args
	a.Server = server
	if server {
		e.server = launch(e.T, a)
	} else {
		e.worker = launch(e.T, a)
	}
}

// kill kills something at a random moment, and returns what.
func (e *env) kill() string {
	e.Helper()
	<-time.After(time.Duration(e.rng.Int64N(int64(100 * time.Millisecond))))
	what := 4
	if e.postgres == nil { // SQLite is in the server and the worker
		what = 2
	}
	switch e.rng.IntN(what) {
	case 0:
		e.server()
		e.start(true)
		return "server"
	case 1:
		e.worker()
		e.start(false)
		return "worker"
	case 2:
		err := e.postgres.Kill()
		if err == nil {
			err = e.postgres.Start(e.Context())
		}
		if err != nil {
			e.Fatalf("kill the database and start it again: %v", err)
		}
		return "database"
	}
	_, err := e.db.ExecContext(e.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND pid <> pg_backend_pid()", e.db.Schema)
	if err != nil {
		e.Fatalf("kill connections: %v", err)
	}
	return "connections"
}

// loops makes loops until they are over: each by one Await, or call by call.
func (e *env) loops(ctx context.Context, await bool) {
	for {
		select {
		case <-e.over:
			return
		case <-ctx.Done():
			return
		default:
		}
		token := uuid.NewString()
		e.mu.Lock()
		e.tokens = append(e.tokens, token)
		e.mu.Unlock()
		one := e.byCalls
		if await {
			one = e.byAwait
		}
		id, result, err := one(ctx, writeRows{Token: token, Items: items})
		if ctx.Err() != nil {
			return
		}
		if want := (writeRows{Token: token, Items: items}); err != nil || result != want {
			e.violation("the loop %s returns %+v, %v; want %+v", token, result, err, want)
			return
		}
		if _, err := e.client.Delete(ctx, id); err != nil {
			e.violation("delete %s: %v", id, err)
		}
		if _, err := e.client.Job(ctx, id); !isGone(err) {
			e.violation("job %s is deleted, and reading it returns %v", id, err)
		}
		select {
		case e.ended <- struct{}{}:
		case <-e.over:
		case <-ctx.Done():
		}
	}
}

// byAwait is a loop by the one call.
func (e *env) byAwait(ctx context.Context, spec writeRows) (id taskkit.ID, r writeRows, err error) {
	r, err = taskhttp.Await[writeRows](ctx, e.client, "/rows", spec, func(j *taskhttp.Job) { id = j.ID })
	return id, r, err
}

// byCalls is a loop whose start is repeated, before the end and after it.
func (e *env) byCalls(ctx context.Context, spec writeRows) (taskkit.ID, writeRows, error) {
	start := func() (*taskhttp.Job, error) { return e.client.Start(ctx, "/rows", spec.Token, spec) }
	first, err := start()
	if err != nil {
		return taskkit.ID{}, writeRows{}, fmt.Errorf("start: %w", err)
	}
	again, err := start()
	if err != nil || again.ID != first.ID {
		return first.ID, writeRows{}, fmt.Errorf("repeat the start of job %s: %+v, %w", first.ID, again, err)
	}
	for _, err := range e.client.Watch(ctx, first.ID, time.Second) {
		if err != nil {
			return first.ID, writeRows{}, fmt.Errorf("watch: %w", err)
		}
	}
	if again, err = start(); err != nil || again.ID != first.ID {
		return first.ID, writeRows{}, fmt.Errorf("repeat the start of job %s after its end: %+v, %w", first.ID, again, err)
	}
	r, err := taskhttp.Fetch[writeRows](ctx, e.client, first.ID)
	return first.ID, r, err
}

func (e *env) violation(format string, args ...any) {
	e.Helper()
	e.mu.Lock()
	e.violations++
	e.mu.Unlock()
	e.Errorf(format, args...)
}

// check compares what was written with what was asked for. All jobs were deleted, so
// that one that nobody knows of would be left.
func (e *env) check() {
	e.Helper()
	for _, token := range e.tokens {
		var rows, tasks int
		err := e.db.QueryRowContext(e.Context(), "SELECT count(*), count(DISTINCT task) FROM "+tableIn(e.db.Dialect, e.args.Schema)+" WHERE token = $1", token).Scan(&rows, &tasks)
		if err != nil || rows != items || tasks != 1 {
			e.violation("the loop %s has %d rows by %d jobs, %v; want %d by one", token, rows, tasks, err, items)
		}
	}
	left, _, err := taskkit.NewClient(e.db.DB, taskkit.WithSchema(e.args.Schema)).Tasks(e.Context(), taskkit.Filter{})
	if err != nil || len(left) > 0 {
		e.violation("%d tasks are left, %v", len(left), err)
	}
}
