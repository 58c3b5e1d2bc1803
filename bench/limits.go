package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

const (
	// limitKeys is how many keys the tasks of a drain with limits have, and limitAtMost how many of a key
	// may run at once.
	limitKeys, limitAtMost = 1000, 2
	// unlimited is the side that drains the same kind without limits.
	unlimited = "taskkit without limits"
)

// limits is the scenario of short tasks with a limit by key.
func limits(h *host, o options) ([]contest, error) {
	var cs []contest
	add := func(database string, open opener, n int, what string, s setup, take time.Duration) {
		cs = append(cs, contest{
			title:   fmt.Sprintf("drain of %s %s with %d keys, %d of each at once, %s", figure(float64(n)), what, limitKeys, limitAtMost, database),
			metrics: []metric{{name: tasksPerSecond}, {name: cpuPerTask, less: true}, {name: serverPerTask, less: true}},
			sides: []side{
				{us, drainOf(h, openKeyed(open, true, take), s, n)},
				{unlimited, drainOf(h, openKeyed(open, false, take), s, n)},
			},
			goals: []goal{{unlimited, tasksPerSecond, 0.8}},
		})
	}
	each := func(database string, open opener) {
		n := o.scaled(20_000, 500)
		add(database, open, n/2, "tasks of 10 ms", setup{}, 10*time.Millisecond)
		add(database, open, n, "tasks with an INSERT", setup{insert: true}, 0)
		add(database, open, n, "tiny tasks", setup{}, 0)
	}
	if o.postgres {
		each("PostgreSQL", openTaskkit)
	}
	if o.sqlite {
		each("SQLite", openTaskkitSQLite)
	}
	return cs, nil
}

// keyedSpec has the key of a task.
type keyedSpec struct {
	Key int `json:"key"`
}

type (
	keyedState struct{}
	keyedBatch = taskkit.Batch[keyedSpec, keyedState]
)

var keyedKind = taskkit.NewKind(taskkind.Definition[keyedSpec, keyedState, struct{}]{Name: "keyed"})

// keyed reports that a task ran, sleeps, and writes a row if insert is a statement.
type keyed struct {
	insert string
	take   time.Duration
	ran    func(int64)
}

// Execute implements [taskkit.Executor].
func (x keyed) Execute(ctx context.Context, b *keyedBatch) (taskkit.Next, error) {
	x.ran(int64(b.Spec.Key))
	if x.take > 0 {
		select {
		case <-time.After(x.take):
		case <-ctx.Done():
			return taskkit.More, ctx.Err()
		}
	}
	if x.insert == "" {
		return taskkit.Done, nil
	}
	_, err := b.Tx.ExecContext(ctx, x.insert, b.Spec.Key)
	return taskkit.Done, err
}

// keyedLimited is keyed with a limit by key.
type keyedLimited struct{ keyed }

// Limits implements [taskkit.Limiter].
func (keyedLimited) Limits(t taskkit.LimitedTask[keyedSpec]) map[string]int {
	return map[string]int{"key " + strconv.Itoa(t.Spec.Key): limitAtMost}
}

// keyedKit is taskkit with tasks that have keys, in random order.
type keyedKit struct {
	*kit
	limited bool
	take    time.Duration
}

func openKeyed(open opener, limited bool, take time.Duration) opener {
	return func(ctx context.Context, h *host, s setup) (peer, error) {
		p, err := open(ctx, h, s)
		if err != nil {
			return nil, err
		}
		k, ok := p.(*kit)
		if !ok {
			return nil, errors.Join(fmt.Errorf("opened %T", p), p.close())
		}
		return &keyedKit{k, limited, take}, nil
	}
}

func (k *keyedKit) fill(ctx context.Context, n int) error {
	specs := make([]keyedSpec, n)
	for i := range specs {
		specs[i].Key = i % limitKeys
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(n, func(i, j int) { specs[i], specs[j] = specs[j], specs[i] })
	for page := range slices.Chunk(specs, pageSize) {
		if _, err := taskkit.SubmitMany(ctx, k.db, keyedKind, page, taskkit.System()); err != nil {
			return err
		}
	}
	return nil
}

func (k *keyedKit) work(ctx context.Context, ran func(int64)) (func() error, error) {
	var r taskkit.Registry
	x := keyed{k.insert, k.take, ran}
	if k.limited {
		taskkit.Register(&r, keyedKind, keyedLimited{x})
	} else {
		taskkit.Register(&r, keyedKind, x)
	}
	return k.start(ctx, taskkit.Config{Logger: quiet()}, &r)
}
