package engine

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"taskkit.dev/internal/engine/maintain"
	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
	"taskkit.dev/taskkit/taskevent"
)

// refusing is a store that refuses what a worker does beside its tasks.
type refusing struct {
	*memstore.Store
	err   error
	probe error
}

func (r *refusing) Probe(context.Context, bool) error                   { return r.probe }
func (r *refusing) Heartbeat(context.Context, string, bool) error       { return r.err }
func (r *refusing) Reap(context.Context, []int64) (store.Reaped, error) { return store.Reaped{}, r.err }
func (r *refusing) Watch(context.Context, string, store.Watcher) error  { return r.err }
func (r *refusing) Unstarted(context.Context, string) (map[uuid.UUID]store.Position, error) {
	return nil, r.err
}

func (r *refusing) Processes(context.Context, time.Duration) ([]store.Process, error) {
	return nil, r.err
}

func (r *refusing) ReadPresence(context.Context, string) (store.PresenceReading, error) {
	return store.PresenceReading{}, r.err
}

func (r *refusing) DueSchedules(context.Context, store.DueSchedules) (store.SchedulesFound, error) {
	return store.SchedulesFound{}, r.err
}

// Whatever a worker does beside its tasks may be the first to meet an outage: the log has the lines of the outage alone. Without an
// outage each has its line.
func TestSuspicion(t *testing.T) {
	t.Parallel()
	wakeTasks := func(r *refusing) func(context.Context, []int) ([]uuid.UUID, error) {
		return func(context.Context, []int) ([]uuid.UUID, error) { return nil, r.err }
	}
	loops := map[string]func(ctx context.Context, r *refusing, events *observe.Observer){
		"cannot remove what was kept for long enough": func(ctx context.Context, r *refusing, events *observe.Observer) {
			(&maintain.Cleaner{Store: r, Call: time.Second, Events: events, Intervals: maintain.Intervals{CleanEvery: time.Second}}).Run(ctx)
		},
		"cannot fire schedules": func(ctx context.Context, r *refusing, events *observe.Observer) {
			(&maintain.Scheduler{Store: r, Every: time.Second, Call: time.Second, Events: events}).Run(ctx)
		},
		"cannot wake parents whose children have ended": func(ctx context.Context, r *refusing, events *observe.Observer) {
			q := maintain.NewWakeQueue(taskevent.CallWakeParents, wakeTasks(r), time.Second, func() {}, events)
			q.Add(1)
			q.Run(ctx)
		},
		"cannot wake tasks under limits": func(ctx context.Context, r *refusing, events *observe.Observer) {
			q := maintain.NewWakeQueue(taskevent.CallWakeWaiting, wakeTasks(r), time.Second, func() {}, events)
			q.Add(1)
			q.Run(ctx)
		},
		"cannot " + taskevent.CallReap: func(ctx context.Context, r *refusing, events *observe.Observer) {
			(&reaper{store: r, every: time.Second, call: time.Second, events: events}).run(ctx)
		},
		"cannot read the presence of other workers": func(ctx context.Context, r *refusing, events *observe.Observer) {
			(&presence{store: r, process: "p", call: time.Second, events: events}).run(ctx, time.Second)
		},
		"no presence lock; others notice the end of this worker by its heartbeat alone": func(ctx context.Context, r *refusing, events *observe.Observer) {
			joined, renew := make(chan struct{}, 1), make(chan struct{}, 1)
			(&listener{store: r, process: "p", wakeups: newWakeups(), joined: joined, heartbeat: renew, events: events}).run(ctx)
		},
		"cannot check for lost claims": func(ctx context.Context, r *refusing, events *observe.Observer) {
			c := &claimer{store: r, config: Config{DeadAfter: time.Second}, events: events, lost: newLostClaims(Config{DeadAfter: time.Second})}
			c.config.Call = time.Second
			for ctx.Err() == nil {
				sleep(ctx, c.checkLostClaims(ctx))
			}
		},
	}
	refused := &pgconn.PgError{Code: "42P05", Message: "prepared statement exists"}
	for name, c := range map[string]struct {
		probe error // what a probe finds
		claim bool  // a claim fails soon after
	}{
		"a probe finds it": {probe: refused},
		"a claim meets it": {claim: true},
		"there is none":    {},
	} {
		for line, loop := range loops {
			t.Run(name+"/"+line, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					ctx, cancel := context.WithCancel(t.Context())
					log := &messages{}
					r := &refusing{Store: memstore.New(), err: refused, probe: c.probe}
					o := newOutage(r, time.Second)
					events := observe.New(ctx, slog.New(log), nil)
					events.Covers = o.covers
					o.register(events, func() {})
					var all sync.WaitGroup
					all.Go(func() { o.run(ctx) })
					all.Go(func() { loop(ctx, r, events) })
					for range 10_000 {
						if !c.claim || o.suspected() {
							break
						}
						<-time.After(time.Millisecond)
					}
					if c.claim {
						events.Report(taskevent.ClaimFailed{Err: refused})
					}
					<-time.After(time.Minute)
					cancel()
					all.Wait()
					got := log.get()
					began := slices.Index(got, "the database cannot be used; nothing is claimed, and no task spends an attempt")
					if outage := c.claim || c.probe != nil; outage && (began != 0 || len(got) != 1) || !outage && (began >= 0 || !slices.Contains(got, line)) {
						t.Errorf("the log has the lines\n%s", strings.Join(got, "\n"))
					}
				})
			})
		}
	}
}

// messages are the messages of a log that are not of the level DEBUG.
type messages struct {
	slog.Handler

	mu  sync.Mutex
	all []string
}

func (m *messages) Enabled(context.Context, slog.Level) bool { return true }

func (m *messages) Handle(_ context.Context, r slog.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.Level > slog.LevelDebug {
		m.all = append(m.all, r.Message)
	}
	return nil
}

func (m *messages) get() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.all)
}
