package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// maxIdleBatches is how many batches in a row one session lets return More without
// progress. An executor that waits for something returns Later; this leaves room
// for one that polls a few times before it does.
const maxIdleBatches = 100

// idleGuard recognizes an executor that will never return Done. It belongs to a
// session.
type idleGuard struct {
	batches int // in a row that made no progress

	// The items that the last batch recorded, by a hash of their keys, and its checkpoint.
	items uint64
	seq   int64
}

// check returns the error of a batch that returns More and makes no progress: too
// many times in a row, after Take had returned all elements, or with the items of the
// batch before. The error is permanent, and the batch is not committed.
//
// What an executor counts beyond the total of its task is no progress: it began
// again with the first item.
func (g *idleGuard) check(step *Step, w *store.Write, before lifecycle.Progress, stateBefore json.RawMessage) error {
	after := w.Progress
	beyond := after.Total >= 0 && after.Processed() > after.Total && after.Position == before.Position
	after.Total = before.Total
	if err := g.checked(after != before && !beyond, after == before && step.tookAll(), stateBefore, w.State); err != nil {
		return err
	}
	items, seq := uint64(0), g.seq
	if after.Position == before.Position && bytes.Equal(stateBefore, w.State) {
		items = step.outcomes.hash()
	}
	repeated := items != 0 && items == g.items && w.Seq == seq+1
	g.items, g.seq = items, w.Seq
	if repeated {
		return noProgress(errors.New("the batch returned More, recorded the items of the batch before and changed nothing in b.State: " +
			"keep in b.State after which item the next batch begins"))
	}
	return nil
}

// checked is check for a batch that has made progress beside its state or not, and that called
// Take in vain or not.
func (g *idleGuard) checked(progressed, inVain bool, stateBefore, stateAfter json.RawMessage) error {
	if progressed || !bytes.Equal(stateBefore, stateAfter) {
		g.batches = 0
	} else {
		g.batches++
	}
	switch {
	case inVain:
		return noProgress(errors.New("the batch returned More and counted nothing, and Take has no element left: " +
			"return what Take returns, or Done"))
	case g.batches >= maxIdleBatches:
		return noProgress(fmt.Errorf("%d batches in a row returned More, changed nothing in b.State and counted nothing, or more than the total: "+
			"keep the position in b.State, return Done after the last item, and Later to wait", g.batches))
	}
	return nil
}

func noProgress(err error) error {
	return &classify.MarkedError{Class: lifecycle.Permanent, Code: classify.CodeNoProgress, Err: err}
}
