package taskkit_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/throttle"
)

// A batch waits while an indicator of the application says why, and continues by itself.
func ExampleConfig_throttle() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	r := greeting(func(_ context.Context, b *greetBatch) (taskkit.Next, error) {
		people, next := taskkit.Take(b, b.Spec.People)
		for _, p := range people {
			fmt.Println("Hello,", p)
		}
		return next, nil
	})
	var mails atomic.Int64 // that wait to be sent
	mails.Store(12_000)
	config := taskkit.Config{
		Throttle: throttle.Config{
			Interval: 10 * time.Millisecond, // 5 s, unless a test must be quick
			Indicators: []throttle.Indicator{{
				Name: "outbox",
				Check: func(context.Context) (string, error) {
					if n := mails.Load(); n > 1000 {
						return fmt.Sprintf("%d mails wait", n), nil
					}
					return "", nil
				},
			}},
		},
		Observer: throttleObserver(func() { mails.Store(10) }),
	}
	id, err := taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada", "Alan"}}, taskkit.System())
	if err != nil {
		fmt.Println(err)
		return
	}
	runToEnd(db, r, id, config)
	// Output:
	// throttled: outbox: 12000 mails wait
	// Hello, Ada
	// Hello, Alan
}

// throttleObserver prints why the first task waits, and then does something about it.
func throttleObserver(remedy func()) observerFunc {
	var seen atomic.Bool
	return func(e taskevent.Event) {
		if e, ok := e.(taskevent.TaskThrottled); ok && !seen.Swap(true) {
			fmt.Println(e.Reason)
			remedy()
		}
	}
}

// observerFunc is a function as a [taskevent.Observer].
type observerFunc func(e taskevent.Event)

// Observe implements [taskevent.Observer].
func (f observerFunc) Observe(_ context.Context, e taskevent.Event) { f(e) }
