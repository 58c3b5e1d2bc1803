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

// maxUnmovedBatches is how many batches in a row may return More and count items while
// b.State and the position of Take stay as they are. An executor that deletes what it
// processes may do so, and a test of it is done long before.
const maxUnmovedBatches = 1000

// askPosition is the question for an executor that loses items or does not end.
const askPosition = "does the executor keep its position in b.State, and only there?"

// progressGuard recognizes an executor that will never return Done, from what
// its batches commit. It is not safe for concurrent use.
type progressGuard struct {
	// maxBatches bounds the batches of the task. Zero means no bound.
	maxBatches int

	batches  int
	idle     int // batches in a row without progress
	unmoved  int // batches in a row after which the next one begins where they began
	state    json.RawMessage
	progress lifecycle.Progress
}

// committed records the batch that w committed. It returns an error when the task
// must not continue.
func (g *progressGuard) committed(w store.Write) error {
	g.batches++
	switch {
	case g.batches == 1 || w.To != lifecycle.Executing || w.Progress.Position != g.progress.Position || !bytes.Equal(w.State, g.state):
		g.idle, g.unmoved = 0, 0
	case w.Progress == g.progress:
		g.idle++
		g.unmoved++
	default:
		g.idle = 0
		g.unmoved++
	}
	g.state, g.progress = bytes.Clone(w.State), w.Progress
	if w.To != lifecycle.Executing {
		return nil
	}
	switch {
	case g.idle >= maxIdleBatches:
		return fmt.Errorf("%d batches in a row returned More, changed nothing in b.State and counted nothing: "+
			"keep the position in b.State, count with Take or b.Advance, and return Done after the last item", g.idle)
	case g.unmoved >= maxUnmovedBatches:
		return fmt.Errorf("%d batches in a row counted items and left b.State as it was: the executor forgets its cursor; "+
			"keep in b.State after which item the next batch begins", g.unmoved)
	case g.maxBatches > 0 && g.batches > g.maxBatches:
		return fmt.Errorf("the task is not done after %d batches, many more than an uninterrupted run needs: "+
			askPosition, g.maxBatches)
	}
	return nil
}
