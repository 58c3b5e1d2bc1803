package faultinject_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/proof/faultinject/sqlitefault"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/faultproxy"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

const (
	// tasksAtOnce are submitted together for a worker whose COMMITs are cut.
	tasksAtOnce = 30
	// cutsAtOnce is how many of their COMMITs are cut, at most. A task that is
	// cut again and again must not spend its budget of tries by that.
	cutsAtOnce = 60
)

// commits counts COMMITs that were cut.
type commits struct {
	before, after, rounds atomic.Int64
}

func (c *commits) cut() int64 { return c.before.Load() + c.after.Load() }

// cutCommits lets a worker run some tasks at once while about every other
// COMMIT of its batches is cut, before or after it has taken effect.
func (l *env) cutCommits(ctx context.Context, rng *rand.Rand, c *commits) error {
	var ids []taskkit.ID
	for range tasksAtOnce {
		id, err := l.submit(ctx)
		if err != nil {
			return err
		}
		l.plans[id.String()] = &plan{faults: []fault{{0, "COMMIT cut"}}}
		ids = append(ids, id)
	}
	open, done, err := l.committing(rng, c)
	if err != nil {
		return err
	}
	db, err := open()
	if err != nil {
		return err
	}
	log := &logBuffer{}
	r := l.here(db, "harmed", 4, healthyLimits, true, log)
	for _, id := range ids {
		err = errors.Join(err, l.wait(ctx, id, &plan{patient: true}, idle{}, nil, func() {}))
	}
	err = errors.Join(err, r.stop(), db.Close(), done(ctx))
	for _, id := range ids {
		err = errors.Join(err, l.verify(ctx, id, &outcome{}))
	}
	if err != nil {
		return fmt.Errorf("%w\nlog of the worker:\n%s", err, log)
	}
	c.rounds.Add(1)
	return nil
}

// idle is a harm that does nothing: who waits for it does so in vain.
type idle struct{ harm }

func (idle) hit() <-chan struct{} { return nil }

// committing prepares a database whose COMMITs are cut. Done counts them.
func (l *env) committing(rng *rand.Rand, c *commits) (open func() (*sql.DB, error), done func(context.Context) error, err error) {
	positions := make([]int, cutsAtOnce)
	after := make([]bool, cutsAtOnce)
	for i, at := 0, 0; i < cutsAtOnce; i++ {
		at += 1 + rng.IntN(3)
		positions[i], after[i] = at, rng.IntN(2) == 0
	}
	if l.db.Dialect == dialect.SQLite {
		ours := batchCommits()
		var faults []sqlitefault.Fault
		for i := range cutsAtOnce {
			f := sqlitefault.Fault{Number: positions[i], Match: ours, Action: sqlitefault.BreakBefore}
			if after[i] {
				f.Action = sqlitefault.BreakAfter
			}
			faults = append(faults, f)
		}
		k, err := sqliteConnector(l.db.DSN, faults)
		return func() (*sql.DB, error) {
				db := sql.OpenDB(k)
				testdb.SetConns(db, conns)
				return db, nil
			}, func(context.Context) error {
				for i := range faults {
					c.count(k.Hit(i), after[i])
				}
				return nil
			}, err
	}
	var faults []faultproxy.Fault
	for i := range cutsAtOnce {
		f := faultproxy.Fault{Number: positions[i], Match: faultproxy.Message.IsCommit, Action: faultproxy.CutBefore}
		if after[i] {
			f.Action = faultproxy.CutAfter
		}
		faults = append(faults, f)
	}
	p, dsn, err := faultproxy.Through(l.db.DSN, faults)
	return func() (*sql.DB, error) { return openFor(workerArgs{DSN: dsn}) }, func(ctx context.Context) error {
		err := errors.Join(p.Wait(ctx), p.Close())
		for i := range faults {
			c.count(p.Hit(i), after[i])
		}
		return err
	}, err
}

// batchCommits returns a condition for the COMMITs of batches. On SQLite all of
// the runtime's own writes are transactions too, and single faults are enough for
// them.
func batchCommits() func(sqlitefault.Call) bool {
	var (
		touched = make(map[int]bool) // connections whose transaction has touched
		last    sqlitefault.Call
		was     bool
	)
	return func(c sqlitefault.Call) bool {
		if c.Number == last.Number {
			return was // each fault asks
		}
		last, was = c, false
		switch {
		case strings.Contains(c.SQL, "INTO oracle_touch"):
			touched[c.Conn] = true
		case strings.EqualFold(c.SQL, "commit"), strings.EqualFold(c.SQL, "rollback"):
			was = touched[c.Conn] && strings.EqualFold(c.SQL, "commit")
			delete(touched, c.Conn)
		}
		return was
	}
}

func (c *commits) count(hit <-chan struct{}, after bool) {
	select {
	case <-hit:
	default:
		return
	}
	if after {
		c.after.Add(1)
	} else {
		c.before.Add(1)
	}
}

// cut runs rounds on all envs until so many COMMITs are cut or a time is over,
// and lets the oracle check.
func (s *series) cut(what string, rng *rand.Rand, wanted int64, until time.Time) map[string]any {
	s.tb.Helper()
	var (
		c    commits
		wait sync.WaitGroup
		ctx  = s.tb.Context()
	)
	for _, l := range s.envs {
		own := rand.New(rand.NewPCG(rng.Uint64(), 0))
		wait.Go(func() {
			for first := true; first || c.cut() < wanted && time.Now().Before(until); first = false {
				if err := l.cutCommits(ctx, own, &c); err != nil {
					s.tb.Errorf("%s: %v", what, err)
					return
				}
			}
		})
	}
	wait.Wait()
	if c.before.Load() == 0 || c.after.Load() == 0 {
		s.tb.Errorf("%s: %d COMMITs cut before, %d after: nothing was tried", what, c.before.Load(), c.after.Load())
	}
	s.tb.Logf("%s: %d COMMITs cut: %d before they took effect, %d after, in %d rounds of %d tasks",
		what, c.cut(), c.before.Load(), c.after.Load(), c.rounds.Load(), tasksAtOnce)
	counts := s.finish(what)
	delete(counts, "runs")
	delete(counts, "struck")
	delete(counts, "taken over")
	counts["cut before"], counts["cut after"], counts["rounds"] = c.before.Load(), c.after.Load(), c.rounds.Load()
	return counts
}

// A worker whose COMMITs are cut both ways concludes rightly each time.
func TestCommits(t *testing.T) {
	t.Parallel()
	if _, long := prove.Budget(t); long {
		t.Skip("the long form cuts more")
	}
	rng := rand.New(rand.NewPCG(seed(t), 1))
	for name, open := range map[string]func(testing.TB) *env{"postgres": postgresLane, "sqlite": sqliteLane} {
		t.Run(name, func(t *testing.T) {
			newSeries(t, open, 1).cut(name, rng, 1, time.Now())
		})
	}
}
