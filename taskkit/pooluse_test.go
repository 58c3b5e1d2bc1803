package taskkit_test

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// poolUse counts the connections of a pool that are in use when a statement is sent.
type poolUse struct {
	pool *sql.DB

	mu   sync.Mutex
	most int
	sent map[string]int // statements by a part of their text
}

// what a worker does beside its sessions, by a part of a statement.
var besideSessions = []string{"last_heartbeat_date", "SKIP LOCKED", "taskkit_schedule"}

func (u *poolUse) add(statement string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.most = max(u.most, u.pool.Stats().InUse)
	for _, part := range besideSessions {
		if strings.Contains(statement, part) {
			u.sent[part]++
		}
	}
}

// after waits until the worker has done all that it does beside its sessions three times more, and returns how
// many connections it has used at most.
func (u *poolUse) after(t *testing.T) int {
	t.Helper()
	u.mu.Lock()
	u.most, u.sent = 0, make(map[string]int)
	u.mu.Unlock()
	until(t, "the worker has done all that it does beside its sessions", func() bool {
		u.mu.Lock()
		defer u.mu.Unlock()
		for _, part := range besideSessions {
			if u.sent[part] < 3 {
				return false
			}
		}
		return true
	})
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.most
}

// TraceQueryStart and TraceQueryEnd implement [pgx.QueryTracer].
func (u *poolUse) TraceQueryStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceQueryStartData) context.Context {
	u.add(d.SQL)
	return ctx
}
func (*poolUse) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart, TraceBatchQuery and TraceBatchEnd implement [pgx.BatchTracer].
func (u *poolUse) TraceBatchStart(ctx context.Context, _ *pgx.Conn, d pgx.TraceBatchStartData) context.Context {
	for _, q := range d.Batch.QueuedQueries {
		u.add(q.SQL)
	}
	return ctx
}
func (*poolUse) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}
func (*poolUse) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData)     {}

// An idle worker uses two connections, the listener's and one for all else, and a working one as many more as it
// has slots, whatever it does at the same time.
func TestConnectionsOfAWorker(t *testing.T) {
	t.Parallel()
	db := migrated(t, testdb.Postgres(t))
	conf, err := pgx.ParseConfig(db.DSN)
	if err != nil {
		t.Fatal(err)
	}
	use := &poolUse{sent: make(map[string]int)}
	conf.Tracer = use
	use.pool = stdlib.OpenDB(*conf)
	t.Cleanup(func() { _ = use.pool.Close() })
	worker := *db
	worker.DB = use.pool

	const slots = 3
	c := taskkit.ScheduleEvery(taskkit.CleanEvery(quick(t, db), 20*time.Millisecond), 200*time.Millisecond)
	// A machine that is busy may let a statement wait for seconds, so a call has the patience of minutes.
	c.CallTimeout, c.Heartbeat = 100*time.Minute, 200*time.Millisecond
	c.Slots, c.BatchTimeout, c.Poll, c.PollListening = slots, 10*time.Minute, 200*time.Millisecond, 200*time.Millisecond
	executing, letGo := make(chan struct{}), make(chan struct{})
	x := &funcs[countSpec, countState]{execute: func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
		if _, err := b.Tx.ExecContext(ctx, "SELECT 1"); err != nil || b.Spec.Items == 0 {
			return taskkit.Done, err
		}
		executing <- struct{}{}
		<-letGo
		return taskkit.Done, nil
	}}
	started(t, &worker, registered(countKind, x), c)
	if n := use.after(t); n > 2 {
		t.Errorf("an idle worker uses %d connections", n)
	}
	for range slots {
		submitted(t, db, countKind, countSpec{Items: 1})
	}
	for range slots {
		<-executing
	}
	if n := use.after(t); n > slots+2 {
		t.Errorf("a worker whose %d slots work uses %d connections", slots, n)
	}
	close(letGo)
	var last taskkit.ID
	for range 100 {
		last = submitted(t, db, countKind, countSpec{})
	}
	n := use.after(t)
	ended(t, db, last)
	if n > slots+2 {
		t.Errorf("a worker with %d slots and short tasks uses %d connections", slots, n)
	}
	until(t, "the worker is idle", func() bool { return use.after(t) <= 2 })
}
