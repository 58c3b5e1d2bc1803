package simulation

import (
	"context"
	"fmt"
)

// checkRates checks that no rate has more items than its task has processed: what a
// lost commit has measured is not in it, and nothing is in it twice.
func (w *env) checkRates(ctx context.Context) (bad []string) {
	for id := range w.byID {
		now, err := w.mem.Read(ctx, id)
		if err != nil {
			continue // it was removed, and its rate with it
		}
		rate, err := w.mem.Rate(ctx, id)
		if err != nil {
			return append(bad, err.Error())
		}
		if most := now.Progress.Processed(); rate.All.Items > most {
			bad = append(bad, fmt.Sprintf("task %s: %d items were measured, and it has processed %d", id, rate.All.Items, most))
		}
	}
	return bad
}
