package schedules_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"modernc.org/sqlite"

	"taskkit.dev/internal/cronline"
	"taskkit.dev/internal/engine/maintain"
	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/memstore"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/taskevent"
)

// sqliteClock is the time of all SQLite databases of this process that are in a simulation.
// Their tests run one after another.
var sqliteClock atomic.Pointer[time.Time]

func TestMain(m *testing.M) {
	err := sqlite.RegisterScalarFunction("datetime", 2, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		if len(args) != 2 || args[0] != "now" || args[1] != "subsec" {
			return nil, fmt.Errorf("datetime%v is not asked for by the store", args)
		}
		now := time.Now()
		if at := sqliteClock.Load(); at != nil {
			now = *at
		}
		return now.UTC().Format("2006-01-02 15:04:05.000"), nil
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	testdb.LeakMain(m)
}

// env is a database whose clock the test sets.
type env interface {
	store.Upkeep
	store.Requests
	// setClock sets the time, which never goes back.
	setClock(t *testing.T, at time.Time)
	// harvest returns the idempotency keys of all tasks, and removes these.
	harvest(t *testing.T) []string
}

// inMemory is a store in memory.
type inMemory struct{ *memstore.Store }

func (w inMemory) setClock(_ *testing.T, at time.Time) { w.Jump(at.Sub(w.Now())) }

func (w inMemory) harvest(t *testing.T) (keys []string) {
	t.Helper()
	for _, c := range w.Forget() {
		if c.Before == nil {
			keys = append(keys, c.After.IdempotencyKey)
		}
	}
	return keys
}

// inDatabase is a database.
type inDatabase struct {
	store.Store
	db *testdb.DB
	h  *sql.DB
}

// newEnv returns the store of a database with a clock.
func newEnv(t *testing.T, db *testdb.DB, at time.Time) inDatabase {
	t.Helper()
	if err := migrate.Migrate(t.Context(), db.DB, db.Schema); err != nil {
		t.Fatal(err)
	}
	w := inDatabase{db: db, h: db.DB}
	if db.Schema == "" {
		sqliteClock.Store(&at)
		t.Cleanup(func() { sqliteClock.Store(nil) })
	} else {
		for _, query := range []string{
			// The last value of a sequence is read faster than a row, which counts: every row that is read asks for it.
			"CREATE SEQUENCE {s}clock",
			"CREATE FUNCTION {s}clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS 'SELECT pg_catalog.to_timestamp(pg_catalog.pg_sequence_last_value(''{s}clock''::regclass) / 1000.0)'",
		} {
			if _, err := db.ExecContext(t.Context(), strings.ReplaceAll(query, "{s}", `"`+db.Schema+`".`)); err != nil {
				t.Fatal(err)
			}
		}
		// The schema comes before the system's, which is first unless it is named.
		dsn, err := url.Parse(db.DSN)
		if err != nil {
			t.Fatal(err)
		}
		q := dsn.Query()
		q.Set("search_path", `"`+db.Schema+`",pg_catalog`)
		dsn.RawQuery = q.Encode()
		if w.h, err = sql.Open("pgx", dsn.String()); err != nil {
			t.Fatal(err)
		}
		w.h.SetMaxIdleConns(8)
		t.Cleanup(func() { _ = w.h.Close() })
	}
	s, err := dbstore.Open(t.Context(), w.h, db.Schema, dbstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Release(context.Background()) })
	w.Store = s
	return w
}

func (w inDatabase) setClock(t *testing.T, at time.Time) {
	t.Helper()
	if w.db.Schema == "" {
		sqliteClock.Store(&at)
		return
	}
	if _, err := w.h.ExecContext(t.Context(), "SELECT pg_catalog.setval($1::regclass, $2)", `"`+w.db.Schema+`".clock`, at.UnixMilli()); err != nil {
		t.Fatal(err)
	}
}

func (w inDatabase) harvest(t *testing.T) (keys []string) {
	t.Helper()
	table := "taskkit_queued_task"
	if w.db.Schema != "" {
		table = `"` + w.db.Schema + `".` + table
	}
	rows, err := w.h.QueryContext(t.Context(), "DELETE FROM "+table+" RETURNING idempotency_key")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return keys
}

// errKilled ends a worker.
var errKilled = errors.New("the worker was killed")

// mortal is the store as a worker has it that may be killed at any fire.
type mortal struct {
	env
	sim  *simulation
	kill context.CancelFunc
	rng  *rand.Rand
}

func (m *mortal) FireSchedule(ctx context.Context, f store.ScheduleFire) (bool, error) {
	return mayDie(ctx, m, func(ctx context.Context) (bool, error) { return m.env.FireSchedule(ctx, f) })
}

func (m *mortal) FireSchedules(ctx context.Context, fires []store.ScheduleFire) ([]bool, error) {
	return mayDie(ctx, m, func(ctx context.Context) ([]bool, error) { return m.env.FireSchedules(ctx, fires) })
}

// mayDie calls fire, unless the worker is killed before it, meanwhile or before it learns the result.
func mayDie[T any](ctx context.Context, m *mortal, fire func(context.Context) (T, error)) (none T, err error) {
	switch n := m.rng.IntN(1000); {
	case n < m.sim.deadly: // it has read and computed, and dies before it writes
		m.sim.kills.Add(1)
		m.kill()
		return none, errKilled
	case n < 2*m.sim.deadly: // while it writes
		m.sim.kills.Add(1)
		ctx, cancel := context.WithTimeout(ctx, time.Duration(m.rng.Int64N(int64(2*time.Millisecond))))
		defer cancel()
		_, _ = fire(ctx)
		m.kill()
		return none, errKilled
	case n < 3*m.sim.deadly: // it has written, and does not learn it
		m.sim.kills.Add(1)
		_, _ = fire(ctx)
		m.kill()
		return none, errKilled
	}
	return fire(ctx)
}

// simulation is some workers, of which each may be killed and is then started again.
type simulation struct {
	env
	*testing.T
	workers int
	deadly  int // of a thousand fires, for each of the three kinds of kills
	kills   atomic.Int64
	seed    uint64
	whole   period    // what is to be simulated
	period  period    // what of it is
	until   time.Time // when the test's time is up; zero: never
	steps   int
	got     map[string]int // tasks by key
	passes  uint64
	missed  atomic.Int64 // events
	failed  atomic.Int64
}

// fireAll lets the workers fire until nothing is due.
func (s *simulation) fireAll() {
	s.Helper()
	for range 1000 {
		var (
			wg    sync.WaitGroup
			quiet atomic.Bool
		)
		s.passes++
		for i := range s.workers {
			wg.Go(func() {
				ctx, kill := context.WithCancel(s.Context())
				defer kill()
				m := &mortal{s.env, s, kill, rand.New(rand.NewPCG(s.seed, s.passes<<8|uint64(i)))}
				if next, err := s.scheduler(m).Pass(ctx); err == nil && (next < 0 || next > time.Second) {
					quiet.Store(true)
				}
			})
		}
		wg.Wait()
		if quiet.Load() {
			return
		}
	}
	s.Fatal("schedules are due for ever")
}

func (*simulation) kinds() map[string]*session.Kind {
	return map[string]*session.Kind{"demo": {Name: "demo", Reads: []int{1}, Scheduled: func(sc *store.Schedule) (store.NewTask, error) {
		return store.NewTask{
			Submitted: store.Submitted{Kind: sc.Kind, Owner: sc.Owner, RunAs: sc.RunAs, Queue: "default"},
			Revision:  1, Spec: sc.Spec, Priority: sc.Priority, Total: -1,
		}, nil
	}}}
}

// scheduler returns the scheduler of a worker.
func (s *simulation) scheduler(m store.Upkeep) *maintain.Scheduler {
	observer := observe.New(s.Context(), slog.New(slog.DiscardHandler), func(_ context.Context, e taskevent.Event) {
		switch e.(type) {
		case taskevent.ScheduleMissed:
			s.missed.Add(1)
		case taskevent.ScheduleFailed:
			s.failed.Add(1)
		}
	})
	return &maintain.Scheduler{Store: m, Kinds: s.kinds(), Call: time.Minute, Wake: func() {}, Events: observer}
}

// set stores the schedule of a plan.
func (s *simulation) set(p *plan) {
	s.Helper()
	_, err := s.ChangeSchedule(s.Context(), p.name, func(now time.Time, row *store.Schedule) error {
		l, err := cronline.Parse(p.expr, p.name)
		if err != nil {
			return err
		}
		zone, err := cronline.LoadZone(p.zone)
		if err != nil {
			return err
		}
		next, ok := cronline.Clock{Line: l, Zone: zone}.First(now)
		if !ok {
			return errors.New("it never fires")
		}
		row.Kind, row.Spec, row.Revision, row.Cron, row.Zone, row.Priority, row.Misfire = "demo", json.RawMessage("{}"), 1, p.expr, p.zone, 2, p.misfire
		row.Owner, row.RunAs, row.ModifiedBy = uuid.Max, uuid.Max, uuid.Max
		row.NextAt, row.NextWall = next.At, next.Wall.Format(format)
		return nil
	})
	if err != nil {
		s.Fatalf("set %s %q: %v", p.name, p.expr, err)
	}
}
