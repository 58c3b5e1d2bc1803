package chaos_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// lot asks for items from First on. Some fail, some are skipped and some are deferred, by
// their number in the lot.
type lot struct {
	First   int64   `json:"first"`
	Delay   int64   `json:"delay"` // of a batch, in milliseconds
	Targets []int64 `json:"targets"`
}

// lotPass is in which pass a lot is.
type lotPass struct {
	Pass int `json:"pass"`
}

// lastPass is the last pass over a lot.
const lastPass = 2

// lots is the kind whose tasks have stop policies, previews, deferred items and retries.
var lots = taskkit.NewKind(taskkind.Definition[lot, lotPass, struct{}]{
	Name: "lots", BatchSize: 10, MaxBatchSize: 20, Preview: true,
	DeferDelays: []time.Duration{20 * time.Millisecond, 50 * time.Millisecond},
	Targets:     taskkind.TargetsIn("targets", func(l *lot) *[]int64 { return &l.Targets }),
})

func (l *lot) fails(item int64) bool { return (item-l.First)%3 == 1 }

func (l *lot) skips(item int64) bool { return (item-l.First)%10 == 9 && !l.fails(item) }

// deferred is how often an item is deferred. One that is deferred in the last pass fails.
func (l *lot) deferred(item int64) int {
	if n := item - l.First; n%11 == 5 && !l.fails(item) && !l.skips(item) {
		return int(n / 11 % (lastPass + 2))
	}
	return 0
}

// outcome is what becomes of an item at last; "" if it succeeds. A preview has one pass.
func (l *lot) outcome(item int64, preview bool) string {
	switch {
	case l.fails(item), l.deferred(item) > lastPass, preview && l.deferred(item) > 0:
		return "failed"
	case l.skips(item):
		return "skipped"
	}
	return ""
}

// lotWorker processes lots.
type lotWorker struct {
	o      *oracle.Oracle
	worker string
}

// Execute implements [taskkit.Executor].
func (w *lotWorker) Execute(ctx context.Context, b *taskkit.Batch[lot, lotPass]) (taskkit.Next, error) {
	select {
	case <-time.After(time.Duration(b.Spec.Delay) * time.Millisecond):
	case <-ctx.Done():
		return taskkit.More, context.Cause(ctx)
	}
	items, next := taskkit.Take(b, b.Spec.Targets)
	pass := b.State.Pass
	later := func(item int64) bool { return pass < lastPass && pass < b.Spec.deferred(item) }
	touched := slices.DeleteFunc(slices.Clone(items), later)
	for len(touched) > 0 {
		n := 1
		for n < len(touched) && touched[n] == touched[0]+int64(n) {
			n++
		}
		if err := w.o.Touch(ctx, b.Tx, b.Task.String(), w.worker, oracle.Range{First: touched[0], Past: touched[0] + int64(n)}); err != nil {
			return taskkit.More, err
		}
		touched = touched[n:]
	}
	for _, item := range items {
		switch {
		case b.Spec.fails(item):
			b.Fail(item, errors.New("an item that never works"))
		case b.Spec.skips(item):
			b.Skip(item, "nothing_to_do")
		case pass < b.Spec.deferred(item):
			b.Defer(item, errors.New("an item that is busy"))
		default:
			b.Note(item, "done")
		}
	}
	if next == taskkit.Done {
		b.State.Pass++
	}
	return next, nil
}
