package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// oneWay is the delay of the network in each direction.
const oneWay = 500 * time.Microsecond

// roundTrip is a metric: how long a statement that does nothing took just before a measurement.
const roundTrip = "SELECT 1 ms"

// network is a process between the sides and PostgreSQL that delays both directions. It is a process of
// its own, so that its processor time counts for no side.
type network struct {
	member  *member
	server  string // the DSN of the server behind it
	address string
}

// startNetwork starts the process, before the server of a DSN.
func startNetwork(ctx context.Context, dsn string) (*network, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return nil, fmt.Errorf("read the DSN of the benchmark's PostgreSQL: %w", err)
	}
	m, err := startMember(ctx, networkCommand, u.Host)
	if err != nil {
		return nil, err
	}
	n := &network{member: m, server: dsn}
	if !m.out.Scan() {
		return nil, errors.Join(errors.New("the process that delays did not say where it listens"), m.out.Err(), n.stop())
	}
	n.address = strings.TrimSpace(m.out.Text())
	return n, nil
}

// stop ends the process.
func (n *network) stop() error {
	if err := errors.Join(n.member.in.Close(), n.member.wait()); err != nil {
		return fmt.Errorf("end the process that delays: %w", err)
	}
	return nil
}

// through returns the DSN of a database by the network.
func (n *network) through(dsn string) (string, error) {
	if n == nil {
		return "", errors.New("this scenario did not ask for the network")
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("read a DSN of the benchmark's PostgreSQL: %w", err)
	}
	u.Host = n.address
	return u.String(), nil
}

// roundTrip returns the median time of a statement that does nothing, in milliseconds.
func (n *network) roundTrip(ctx context.Context) (float64, error) {
	dsn, err := n.through(n.server)
	if err != nil {
		return 0, err
	}
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, fmt.Errorf("reach the benchmark's PostgreSQL by the network: %w", err)
	}
	times := make([]time.Duration, 200)
	for i := range times {
		began := time.Now()
		if _, err := conn.Exec(ctx, "SELECT 1"); err != nil {
			return 0, errors.Join(fmt.Errorf("measure the network: %w", err), conn.Close(ctx))
		}
		times[i] = time.Since(began)
	}
	slices.Sort(times)
	return quantile(times, 0.5), conn.Close(ctx)
}

// far adds the round trip to the server to the sample of a side.
func (h *host) far(measure func(context.Context) (sample, error)) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		ms, err := h.network.roundTrip(ctx)
		if err != nil {
			return nil, err
		}
		got, err := measure(ctx)
		if err == nil {
			got[roundTrip] = ms
		}
		return got, err
	}
}

// overNetwork is the scenario of a server that is a millisecond away: other scenarios with all sides
// behind the same network.
func overNetwork(h *host, o options) ([]contest, error) {
	if !o.postgres {
		return nil, nil
	}
	far := setup{network: true}
	away := fmt.Sprintf(", %v of network", 2*oneWay)
	distance := metric{name: roundTrip, info: true}
	n := o.scaled(1_000_000, 10_000)
	people := func(act bulkAction) func(context.Context) (sample, error) {
		return h.far(func(ctx context.Context) (sample, error) { return bulkOn(ctx, h, far, n, act) })
	}
	tasks := o.scaled(20_000, 500)
	drains := func(open opener) func(context.Context) (sample, error) {
		return h.far(drainOf(h, open, setup{insert: true, network: true}, tasks))
	}
	cs := []contest{{
		title:   fmt.Sprintf("update of %s people in batches of %d, PostgreSQL%s", figure(float64(n)), batchSize, away),
		metrics: []metric{{name: itemsPerSecond}, {name: cpuPerItem, less: true}, {name: serverPerItem, less: true}, distance},
		sides: []side{
			{us, people(bulkTaskkit(batchSize))},
			{loopSide, people(bulkByHand(false))},
			{riverCursor, people(bulkRiverCursor)},
			{steered, people(bulkTaskkit(0))},
		},
		goals:   []goal{{loopSide, itemsPerSecond, 0.97}, {riverCursor, itemsPerSecond, 1.1}},
		goalsOf: []sideGoal{{steered, goal{loopSide, itemsPerSecond, 1.4}}},
	}, {
		title:   fmt.Sprintf("drain of %s tasks with an INSERT each, PostgreSQL%s", figure(float64(tasks)), away),
		metrics: []metric{{name: tasksPerSecond}, {name: cpuPerTask, less: true}, {name: serverPerTask, less: true}, distance},
		sides:   []side{{us, drains(openTaskkit)}, {riverCompleteTx, drains(openRiver(riverTuned))}},
		goals:   []goal{{riverCompleteTx, tasksPerSecond, 2}},
	}}
	for _, c := range []struct {
		what       string
		goroutines int
		calls      int
		call       submitCall
	}{
		{"single submits, 1 goroutine", 1, 2000, submitOne},
		{"single submits, 8 goroutines", 8, 16_000, submitOne},
		{"in the caller's transaction beside one row, 8 goroutines", 8, 8000, submitInTx},
	} {
		of := func(open opener) func(context.Context) (sample, error) {
			return h.far(submitsOf(h, open, far, c.goroutines, o.scaled(c.calls, 20), c.call))
		}
		cs = append(cs, contest{
			title: c.what + ", PostgreSQL" + away, metrics: append(submitMetrics(), distance),
			sides: []side{{us, of(openTaskkit)}, {"River", of(openRiver(riverConfig{}))}, {"plain SQL", of(openPlain)}},
		})
	}
	return cs, nil
}
