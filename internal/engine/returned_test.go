package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/testkit/memstore"
)

// TestReturnedTasksAreClaimedWhenDue: a worker claims a task that it has given back when that is due, and not at its
// next poll.
func TestReturnedTasksAreClaimedWhenDue(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]func() (session.Next, error){
		"later":     func() (session.Next, error) { return session.Next{Wait: 2 * time.Second}, nil },
		"tried":     func() (session.Next, error) { return session.Next{}, errors.New("not now") },
		"at a time": func() (session.Next, error) { return session.Next{At: time.Now().Add(2 * time.Second)}, nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := memstore.New()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c, ended := config(t), make(chan error, 1)
				c.Slots = 2 // a worker with all slots taken looks as soon as one is free
				c.Poll, c.PollListening, c.Backoff.Base = 10*time.Minute, 10*time.Minute, 2*time.Second
				id := submit(t, s)
				go func() { ended <- engine.New(s, demo(&oncePut{first: first}), c).Run(ctx) }()
				if took := completed(t, s, id); took > 14*time.Second {
					t.Errorf("it took %v", took)
				}
				cancel()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// oncePut is done after its second batch.
type oncePut struct {
	atOnce
	first func() (session.Next, error)
	was   bool
}

func (x *oncePut) Execute(context.Context, *session.Step, json.RawMessage) (session.Next, json.RawMessage, error) {
	if x.was {
		return session.Next{Done: true}, json.RawMessage(`{}`), nil
	}
	x.was = true
	<-time.After(10 * time.Second) // until the worker polls seldom
	next, err := x.first()
	return next, json.RawMessage(`{}`), err
}
