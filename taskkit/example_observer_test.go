package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
)

// endCounter counts the ended tasks of a worker by their status, as a metric would.
type endCounter struct {
	mu    sync.Mutex
	ended map[string]int
	items int64
}

// Observe implements [taskevent.Observer]. It ignores all other
// events.
func (c *endCounter) Observe(_ context.Context, e taskevent.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := e.(type) {
	case taskevent.TaskEnded:
		c.ended[e.Status]++
	case taskevent.BatchDone:
		c.items += e.Done + e.Failed + e.Skipped
	}
}

// Config.Observer receives what happens in a worker. This one counts.
func ExampleConfig_observer() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		if len(b.Spec.People) > 2 {
			return taskkit.More, taskkit.Permanent("too_many_people", errors.New("the room is small"))
		}
		_, next := taskkit.Take(b, b.Spec.People)
		return next, nil
	})
	var ids []taskkit.ID
	for _, people := range [][]string{{"Ada"}, {"Alan", "Grace"}, {"Barbara", "Edsger", "Tony"}} {
		id, _ := taskkit.Submit(ctx, db, greetKind, greetSpec{People: people}, taskkit.System())
		ids = append(ids, id)
	}
	counter := &endCounter{ended: make(map[string]int)}
	for _, id := range ids {
		runToEnd(db, r, id, taskkit.Config{Observer: counter, Slots: 1})
	}
	for _, status := range slices.Sorted(maps.Keys(counter.ended)) {
		fmt.Println(status, counter.ended[status])
	}
	fmt.Println(counter.items, "items")
	// Output:
	// COMPLETED 2
	// FAILURE 1
	// 3 items
}
