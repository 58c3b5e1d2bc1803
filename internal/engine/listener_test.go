package engine

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
	"taskkit.dev/taskkit/taskevent"
)

// giving is a store whose watches end, each after the next duration, since there is no connection to spare.
type giving struct {
	*memstore.Store

	lasts []time.Duration
	stop  context.CancelFunc
}

func (g *giving) Watch(ctx context.Context, _ string, w store.Watcher) error {
	if len(g.lasts) == 0 {
		g.stop()
		return ctx.Err()
	}
	if g.lasts[0] >= 0 {
		w.Ready()
		<-time.After(g.lasts[0]) // in the bubble of synctest
	}
	g.lasts = g.lasts[1:]
	return fmt.Errorf("%w: all connections are in use", store.ErrNoWatch)
}

// A worker that cannot listen for a moment does so again in a second, and ever later if that goes on.
func TestListensAgainSoon(t *testing.T) {
	t.Parallel()
	const never = -1 // it does not come to listen
	for name, c := range map[string]struct{ lasts, want []time.Duration }{
		"a burst":     {[]time.Duration{time.Hour}, []time.Duration{time.Second}},
		"some bursts": {[]time.Duration{time.Hour, time.Hour, 2 * time.Minute}, []time.Duration{time.Second, time.Second, time.Second}},
		"a pool too small": {
			[]time.Duration{time.Second, time.Second, time.Second, time.Second, time.Second, time.Second, time.Second, time.Second, time.Second, time.Second, 2 * time.Minute},
			[]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second, 64 * time.Second, 128 * time.Second, 256 * time.Second, 5 * time.Minute, time.Second},
		},
		"not from here": {[]time.Duration{never, never}, []time.Duration{5 * time.Minute}},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var got []time.Duration
			events := observe.New(ctx, slog.New(slog.DiscardHandler), func(_ context.Context, e taskevent.Event) {
				if p, ok := e.(taskevent.WorkerPolling); ok {
					got = append(got, p.RetryIn)
				}
			})
			l := &listener{
				store: &giving{memstore.New(), c.lasts, cancel}, process: "p", wakeups: newWakeups(), joined: make(chan struct{}, 1),
				heartbeat: make(chan struct{}, 1), events: events,
			}
			l.run(ctx)
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%s: again in %v, want %v", name, got, c.want)
			}
		})
	}
}
