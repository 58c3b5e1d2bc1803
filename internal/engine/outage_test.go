package engine

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/testkit/memstore"
)

// slowProbe is a store whose probe waits for its turn, and succeeds.
type slowProbe struct {
	*memstore.Store
	meanwhile func()
}

func (s *slowProbe) Probe(context.Context, bool) error {
	s.meanwhile()
	return nil
}

// An outage causes an error also if it has ended by the time that the probe has its turn.
func TestOutageEndsBeforeProbe(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"an outage meanwhile": true, "none": false} {
		s := &slowProbe{Store: memstore.New(), meanwhile: func() {}}
		o := newOutage(s, time.Second)
		o.register(observe.New(t.Context(), slog.New(slog.DiscardHandler), nil), func() {})
		if want {
			s.meanwhile = func() {
				o.begin(context.DeadlineExceeded, true)
				o.end(outageLasts)
			}
		}
		if got := o.Causes(t.Context(), classify.Classification{Outage: classify.SuspectedOutage}, time.Now()); got != want {
			t.Errorf("%s: Causes = %t, want %t", name, got, want)
		}
	}
}

// An error that is reported after the outage that it met begins no other outage. A later one does.
func TestLateErrorOfOutage(t *testing.T) {
	t.Parallel()
	o := newOutage(memstore.New(), time.Second)
	o.register(observe.New(t.Context(), slog.New(slog.DiscardHandler), nil), func() {})
	certain := classify.Classification{Outage: classify.CertainOutage}
	before := time.Now()
	o.begin(context.DeadlineExceeded, true)
	o.end(outageLasts)
	if !o.Causes(t.Context(), certain, before) || o.lasts() {
		t.Errorf("a late error: an outage lasts = %t, want that the one before has caused it", o.lasts())
	}
	if !o.Causes(t.Context(), certain, time.Now()) || !o.lasts() {
		t.Errorf("a new error: an outage lasts = %t, want that it begins one", o.lasts())
	}
}
