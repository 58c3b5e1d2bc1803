package taskops

import (
	"context"
	"errors"
	"strings"

	"taskkit.dev/internal/access"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit"
)

// Operator operates the queues, schedules and workers of a database. It is as safe for
// concurrent use as its client.
type Operator struct {
	client *taskkit.Client
	access access.Client
}

// New returns an operator for the database and the schema of a client.
func New(c *taskkit.Client) *Operator { return &Operator{c, access.ClientOf(c)} }

func (o *Operator) store(ctx context.Context) (store.Client, error) { return o.access.Store(ctx) }

// public returns an error of the store as one of this package or of package taskkit.
func (o *Operator) public(ctx context.Context, err error) error {
	if errors.Is(err, store.ErrNoSchedule) {
		return ErrNoSchedule
	}
	if refused, ok := errors.AsType[*ScheduleError](err); ok {
		return refused
	}
	return o.access.Public(ctx, err)
}

// shorten returns s, or its beginning and dots.
func shorten(s string) string {
	const most = 60
	if len(s) > most {
		return strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
