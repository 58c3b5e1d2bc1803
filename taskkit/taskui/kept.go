package taskui

import (
	"context"
	"time"

	"taskkit.dev/taskkit"
)

// kept is a value that pages share for a short time, since it costs more than what else they read. A value that is somewhat older is used once more,
// and is read again meanwhile, so that a page that is refreshed does not wait for it. It is safe for concurrent use.
type kept[T any] struct {
	age  time.Duration // up to which it is used
	lock chan struct{} // taken while it is read for a page that has none
	at   time.Time
	last T
	soon bool // it is read again
}

// A value of up to keepStale times its age is used once more. To read it again takes at most refreshWithin.
const (
	keepStale     = 4
	refreshWithin = time.Minute
)

func newKept[T any](age time.Duration) *kept[T] {
	return &kept[T]{age: age, lock: make(chan struct{}, 1)}
}

// read returns the value, which f reads if the last one is too old for being used once more.
func (k *kept[T]) read(ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	return k.within(ctx, keepStale*k.age, f)
}

// readNew returns a value that is not too old.
func (k *kept[T]) readNew(ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	return k.within(ctx, k.age, f)
}

// ready returns the value if one has been read, and reports whether. A page does not wait for it: f reads it meanwhile, for a later one.
func (k *kept[T]) ready(ctx context.Context, f func(context.Context) (T, error)) (v T, ok bool) {
	select {
	case k.lock <- struct{}{}:
	case <-ctx.Done():
		return v, false
	}
	defer func() { <-k.lock }()
	old := time.Since(k.at)
	if (k.at.IsZero() || old >= k.age) && !k.soon {
		k.soon = true
		go k.refresh(context.WithoutCancel(ctx), k.at, f)
	}
	if k.at.IsZero() || old >= keepStale*k.age {
		return v, false
	}
	return k.last, true
}

// forget lets the next page read the value. A value that a page reads just now stays for its age, since the caller must not wait.
func (k *kept[T]) forget() {
	select {
	case k.lock <- struct{}{}:
		k.at = time.Time{}
		<-k.lock
	default:
	}
}

func (k *kept[T]) within(ctx context.Context, most time.Duration, f func(context.Context) (T, error)) (T, error) {
	select {
	case k.lock <- struct{}{}:
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
	defer func() { <-k.lock }()
	if old := time.Since(k.at); !k.at.IsZero() && old < most {
		if old >= k.age && !k.soon {
			k.soon = true
			go k.refresh(context.WithoutCancel(ctx), k.at, f)
		}
		return k.last, nil
	}
	v, err := f(ctx)
	if err == nil {
		k.last, k.at = v, time.Now()
	}
	return v, err
}

// refresh reads the value of a time again, unless it is forgotten meanwhile. After an error it stays as it is, and a page that finds it too old reads it and has the error.
func (k *kept[T]) refresh(ctx context.Context, of time.Time, f func(context.Context) (T, error)) {
	ctx, cancel := context.WithTimeout(ctx, refreshWithin)
	defer cancel()
	read := false
	var v T
	defer func() {
		_ = recover() // in a check of the doctor that a program has added: the page that reads it next reports the panic
		k.lock <- struct{}{}
		if k.soon = false; read && k.at.Equal(of) {
			k.last, k.at = v, time.Now()
		}
		<-k.lock
	}()
	var err error
	v, err = f(ctx)
	read = err == nil
}

// countsOfTasks are the tasks by status.
type countsOfTasks struct {
	byStatus map[taskkit.Status]int64
	exact    bool
	expected map[taskkit.Status]int64 // by the statistics of the database; nil when the counts are exact, or there are none
}

// text returns how many tasks have one of these statuses: exactly, or as expected, or at least so many, of which the largest is shown. It is "" when
// nothing is known.
func (c *countsOfTasks) text(statuses ...taskkit.Status) string {
	var n, expected int64
	for _, s := range statuses {
		n, expected = n+c.byStatus[s], expected+c.expected[s]
	}
	switch {
	case c.exact:
		return count(n)
	case expected > n:
		return "about " + roughCount(expected)
	case n > 0:
		return atLeast(n, false)
	default:
		return ""
	}
}

// counts returns the tasks by status, as of a few seconds ago.
func (r *request) counts(ctx context.Context) (countsOfTasks, error) {
	return r.d.counts.read(ctx, func(ctx context.Context) (countsOfTasks, error) {
		all, exact, err := r.d.client.Counts(ctx, "")
		c := countsOfTasks{byStatus: all, exact: exact}
		if err == nil && !exact {
			c.expected, err = r.d.ops.Estimates(ctx)
		}
		return c, err
	})
}
