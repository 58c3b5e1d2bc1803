package tasktest

import (
	"bytes"
	"encoding/json"
	"fmt"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// maxIdleBatches is how many batches in a row may return More without a change
// of b.State and without counting an item. A worker allows a hundred, since an
// executor may wait for something; in a test there is nothing to wait for.
const maxIdleBatches = 10

// progressGuard recognizes an executor that will never return Done, from what
// its batches commit. It is not safe for concurrent use.
type progressGuard struct {
	// maxBatches bounds the batches of the task. Zero means no bound.
	maxBatches int

	batches  int
	idle     int // batches in a row without progress
	state    json.RawMessage
	progress lifecycle.Progress
}

// committed records the batch that w committed. It returns an error when the task
// must not continue.
func (g *progressGuard) committed(w store.Write) error {
	g.batches++
	if g.batches > 1 && w.To == lifecycle.Executing && w.Progress == g.progress && bytes.Equal(w.State, g.state) {
		g.idle++
	} else {
		g.idle = 0
	}
	g.state, g.progress = bytes.Clone(w.State), w.Progress
	if w.To != lifecycle.Executing {
		return nil
	}
	switch {
	case g.idle >= maxIdleBatches:
		return fmt.Errorf("%d batches in a row returned More, changed nothing in b.State and counted nothing: "+
			"keep the position in b.State, count with Take or b.Advance, and return Done after the last item", g.idle)
	case g.maxBatches > 0 && g.batches > g.maxBatches:
		return fmt.Errorf("the task is not done after %d batches, many more than an uninterrupted run needs: "+
			"does the executor keep its position in b.State, and only there?", g.maxBatches)
	}
	return nil
}
