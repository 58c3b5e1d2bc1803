package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// idle is scenario 5: the transactions of an idle worker.
func idle(h *host, o options) ([]contest, error) {
	if !o.postgres {
		return nil, nil
	}
	window := max(time.Duration(float64(30*time.Second)*o.scale), 4*time.Second)
	all := []contest{{
		title:    fmt.Sprintf("one idle worker for %v, PostgreSQL; transactions of its database", window),
		metrics:  []metric{{name: "transactions/s", less: true}},
		together: true,
		sides: []side{
			{us, idleOf(h, openTaskkit, 1, window)},
			{"River default", idleOf(h, openRiver(riverConfig{}), 1, window)},
			{"River tuned", idleOf(h, openRiver(riverTuned), 1, window)},
			{"nobody", idleOf(h, nil, 0, window)},
		},
		goals: []goal{{"", "transactions/s", 1.5}},
	}}
	// They check each other's presence, by turns.
	for _, workers := range []int{2, 8} {
		all = append(all, contest{
			title:    fmt.Sprintf("%d idle workers for %v, PostgreSQL; transactions of their database for each of them", workers, window),
			metrics:  []metric{{name: "transactions/s", less: true}},
			together: true,
			sides:    []side{{us, idleOf(h, openTaskkit, workers, window)}},
			goals:    []goal{{"", "transactions/s", 1.5}},
		})
	}
	return all, nil
}

// idleOf measures the transactions of a window, for each of the workers. Without an opener no worker runs,
// and it measures the server itself.
func idleOf(h *host, open opener, workers int, window time.Duration) func(context.Context) (sample, error) {
	return func(ctx context.Context) (got sample, err error) {
		var name string
		if open == nil {
			d, err := h.database(ctx, "")
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, d.drop()) }()
			name = d.name
		} else {
			p, err := open(ctx, h, setup{})
			if err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, p.close()) }()
			for range workers {
				stop, err := p.work(ctx, func(int64) {})
				if err != nil {
					return nil, err
				}
				defer func() { err = errors.Join(err, stop()) }()
			}
			// It has worked, and is idle since.
			if err := warm(ctx, p); err != nil {
				return nil, err
			}
			if named, ok := p.(interface{ databaseName() string }); ok {
				name = named.databaseName()
			}
		}
		transactions := func() (int64, error) {
			d := &database{host: h, dsn: h.postgres.DSN}
			return d.one(ctx, "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '"+name+"'")
		}
		// An idle backend reports its statistics up to ten seconds late, and its first
		// transactions must not count.
		if err := pause(ctx, 11*time.Second); err != nil {
			return nil, err
		}
		before, err := transactions()
		if err != nil {
			return nil, err
		}
		began := time.Now()
		if err := pause(ctx, window); err != nil {
			return nil, err
		}
		after, err := transactions()
		if err != nil {
			return nil, err
		}
		return sample{"transactions/s": float64(after-before) / time.Since(began).Seconds() / float64(max(workers, 1))}, nil
	}
}

// pause waits, since the measurement is of a period of time.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
