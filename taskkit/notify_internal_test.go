package taskkit

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Of many concurrent submissions only a few send a wake-up, because a COMMIT with a
// NOTIFY waits for every other such COMMIT of the cluster.
func TestWakeUpsAreLimited(t *testing.T) {
	t.Parallel()
	var (
		k       Kind[int, int, struct{}]
		wakeUps atomic.Int64
		all     sync.WaitGroup
	)
	begin := time.Now()
	for range 8 {
		all.Go(func() {
			for range 10_000 {
				if k.mayNotify() {
					wakeUps.Add(1)
				}
			}
		})
	}
	all.Wait()
	most := int64(time.Since(begin)/notifyEvery) + 1
	if got := wakeUps.Load(); got < 1 || got > most {
		t.Errorf("%d wake-ups for 80,000 submissions within %v, want 1 to %d", got, time.Since(begin), most)
	}
}
