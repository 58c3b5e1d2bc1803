package taskui

import (
	"context"
	"time"

	"taskkit.dev/taskkit"
)

// kept is a value that pages share for a short time, since it costs more than what else they read. It is safe for concurrent use.
type kept[T any] struct {
	age  time.Duration // up to which it is used
	lock chan struct{} // taken while it is read
	at   time.Time
	last T
}

func newKept[T any](age time.Duration) *kept[T] {
	return &kept[T]{age: age, lock: make(chan struct{}, 1)}
}

// read returns the value, which f reads if the last one is too old.
func (k *kept[T]) read(ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	select {
	case k.lock <- struct{}{}:
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
	defer func() { <-k.lock }()
	if !k.at.IsZero() && time.Since(k.at) < k.age {
		return k.last, nil
	}
	v, err := f(ctx)
	if err == nil {
		k.last, k.at = v, time.Now()
	}
	return v, err
}

// countsOfTasks are the tasks by status.
type countsOfTasks struct {
	byStatus map[taskkit.Status]int64
	exact    bool
}

// counts returns the tasks by status, as of a few seconds ago.
func (r *request) counts(ctx context.Context) (countsOfTasks, error) {
	return r.d.counts.read(ctx, func(ctx context.Context) (countsOfTasks, error) {
		all, exact, err := r.d.client.Counts(ctx, "")
		return countsOfTasks{all, exact}, err
	})
}
