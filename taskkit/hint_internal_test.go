package taskkit

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// However many submit at once, few of them carry a hint: a COMMIT with a NOTIFY
// waits for every other such COMMIT of the cluster.
func TestHintsAreFew(t *testing.T) {
	t.Parallel()
	var (
		k     Kind[int, int]
		hints atomic.Int64
		all   sync.WaitGroup
	)
	begin := time.Now()
	for range 8 {
		all.Go(func() {
			for range 10_000 {
				if k.mayNotify() {
					hints.Add(1)
				}
			}
		})
	}
	all.Wait()
	most := int64(time.Since(begin)/notifyEvery) + 1
	if got := hints.Load(); got < 1 || got > most {
		t.Errorf("%d hints of 80,000 submissions within %v, want 1 to %d", got, time.Since(begin), most)
	}
}
