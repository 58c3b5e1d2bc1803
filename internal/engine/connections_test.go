package engine

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"taskkit.dev/internal/store"
)

// A worker without sessions uses one connection, and one more for each session. A call waits for its turn until its patience or
// its context ends.
func TestConnections(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newConnections(time.Second)
		took := func(ctx context.Context) time.Duration {
			began := time.Now()
			c.take(ctx)
			return time.Since(began)
		}
		now := func(ctx context.Context, what string, want time.Duration) {
			t.Helper()
			if d := took(ctx); d != want {
				t.Errorf("%s: waited for %v, want %v", what, d, want)
			}
		}
		now(t.Context(), "the first call", 0)
		now(t.Context(), "a second one without a session", time.Second)
		c.give()
		c.give()
		now(t.Context(), "the first call", 0)
		c.sessions(1)
		now(t.Context(), "a second one beside a session", 0)
		short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		now(short, "a third one, with an end", time.Millisecond)
		c.give()
		turns := make(chan int, 2)
		for i := range 2 {
			go func() { c.take(t.Context()); turns <- i }()
			synctest.Wait()
		}
		c.give()
		if first := <-turns; first != 0 {
			t.Error("the call that waited for longer was not the first")
		}
		c.sessions(1)
		if took := <-turns; took != 1 {
			t.Error("a session that began brought no connection")
		}
		c.sessions(-2)
		for range 3 {
			c.give()
		}
		if c.used != 0 || c.most != 1 || len(c.waiting) != 0 {
			t.Errorf("at the end: %+v", c)
		}
	})
}

// Every call of a store waits for a connection, except for the calls that need none or have one of their own.
func TestEveryCallSharesConnections(t *testing.T) {
	t.Parallel()
	runtime := reflect.TypeFor[store.Runtime]()
	for m := range runtime.Methods() {
		if slices.Contains([]string{"Dialect", "Schema", "Release", "Watch"}, m.Name) {
			continue
		}
		c := newConnections(time.Nanosecond)
		c.used = c.most
		ctx := &watchedContext{Context: t.Context()}
		args := []reflect.Value{reflect.ValueOf(ctx)}
		for a := 1; a < m.Type.NumIn(); a++ {
			args = append(args, reflect.Zero(m.Type.In(a)))
		}
		func() {
			defer func() { _ = recover() }() // there is no store
			reflect.ValueOf(&sharing{nil, c}).MethodByName(m.Name).Call(args)
		}()
		if !ctx.waited {
			t.Errorf("%s does not wait for a connection: add it to sharing", m.Name)
		}
	}
}

// watchedContext notes that a call has waited.
type watchedContext struct {
	context.Context
	waited bool
}

func (c *watchedContext) Done() <-chan struct{} {
	c.waited = true
	return c.Context.Done()
}
