package engine

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"taskkit.dev/internal/engine/observe"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
	"taskkit.dev/taskkit/taskevent"
)

// blind is a store that cannot tell who is present.
type blind struct {
	*memstore.Store
	reads int
}

func (b *blind) ReadPresence(context.Context, string) (store.PresenceReading, error) {
	b.reads++
	return store.PresenceReading{}, store.ErrNoPresence
}

// A worker that cannot tell who is present says so once, and asks again every few minutes.
func TestPresenceUnknownIsSaidOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		said := 0
		events := observe.New(ctx, slog.New(slog.DiscardHandler), func(_ context.Context, e taskevent.Event) {
			if _, ok := e.(taskevent.PresenceUnknown); ok {
				said++
			}
		})
		b := &blind{Store: memstore.New()}
		p := &presence{store: b, process: "p", call: time.Second, events: events}
		p.run(ctx, p.read(ctx))
		if said != 1 || b.reads < 10 || b.reads > 20 {
			t.Errorf("said %d times, after %d readings", said, b.reads)
		}
	})
}

// A lone worker reads every 15 seconds; with others it reads when it is its
// turn, also if it has seen none when it began.
func TestPresenceTakesTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &counting{Store: memstore.New(), reads: map[string]int{}}
		events := observe.New(ctx, slog.New(slog.DiscardHandler), nil)
		begin := func(id string) (ended chan struct{}) {
			if err := s.RegisterWorker(ctx, store.Process{ID: id, DeadAfter: time.Hour}); err != nil {
				t.Fatal(err)
			}
			joined, ended := make(chan struct{}, 1), make(chan struct{})
			p := &presence{store: s, process: id, call: time.Second, joined: joined, events: events}
			go p.run(ctx, p.read(ctx))
			go func() {
				defer close(ended)
				err := s.Watch(ctx, id, store.Watcher{
					Ready: func() {}, Wake: func() {}, Present: func(error) { wake(joined) }, Joined: func() { wake(joined) },
				})
				if !errors.Is(err, context.Canceled) {
					t.Errorf("%s: watching ended with %v", id, err)
				}
			}()
			return ended
		}
		expect := func(what string, within time.Duration, least, most int) {
			t.Helper()
			s.mu.Lock()
			clear(s.reads)
			s.mu.Unlock()
			<-time.After(within)
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			for id, n := range s.reads {
				if n < least || n > most {
					t.Errorf("%s: %s reads %d times in %v, want %d to %d", what, id, n, within, least, most)
				}
			}
		}
		first := begin("a")
		<-time.After(10 * time.Second)
		expect("alone", 300*time.Second, 19, 21)
		second := begin("b")
		<-time.After(4 * time.Second)
		expect("two", 100*time.Second, 39, 41)
		third := begin("c")
		<-time.After(4 * time.Second)
		expect("three", 99*time.Second, 25, 28)
		cancel()
		<-first
		<-second
		<-third
	})
}

// counting counts who reads.
type counting struct {
	*memstore.Store

	mu    sync.Mutex
	reads map[string]int
}

func (c *counting) ReadPresence(ctx context.Context, process string) (store.PresenceReading, error) {
	c.mu.Lock()
	c.reads[process]++
	c.mu.Unlock()
	return c.Store.ReadPresence(ctx, process)
}

// Each turn is one worker's, in the order of their ids, whoever computes it.
func TestUntilTurn(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 29, 0, 59, 0, 0, time.UTC)
	for n := 2; n <= 5; n++ {
		turns := map[int64]string{} // of a second
		for me := range n {
			var others []string
			for other := range n {
				if other != me {
					others = append(others, fmt.Sprint("w", other))
				}
			}
			for now := begin; now.Before(begin.Add(20 * time.Second)); {
				wait := untilTurn(now, others, fmt.Sprint("w", me))
				if wait <= 0 || wait > time.Duration(n)*turn+intoTurn {
					t.Fatalf("%d workers: w%d waits for %v", n, me, wait)
				}
				now = now.Add(wait)
				second := now.UnixMilli() / turn.Milliseconds()
				if whose := turns[second]; whose != "" {
					t.Fatalf("%d workers: it is the turn of %s and of w%d", n, whose, me)
				}
				turns[second] = fmt.Sprint("w", me)
			}
		}
		first := begin.UnixMilli() / turn.Milliseconds()
		for second := first + int64(n); second < first+16; second++ {
			if turns[second] == "" {
				t.Errorf("%d workers: second %d is nobody's turn", n, second)
			}
		}
	}
}

// A listener that has lost its connection tries again at once, then five times a second, and less and less
// often after some seconds.
func TestListenAgain(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{
		0: 10 * time.Millisecond, 1: 200 * time.Millisecond, 25: 200 * time.Millisecond, 26: time.Second, 30: 5 * time.Second, 1000: 30 * time.Second,
	} {
		if got := listenAgain(failures); got != want {
			t.Errorf("after %d failures: %v, want %v", failures, got, want)
		}
	}
}
