package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
)

// maxIdleBatches is how many batches in a row one session lets return More without
// progress. An executor that waits for something returns Later; this leaves room
// for one that polls a few times before it does.
const maxIdleBatches = 100

// idleGuard recognizes an executor that will never return Done. It belongs to a
// session.
type idleGuard struct {
	batches int // in a row that made no progress
}

// check returns the error of a batch that returns More and makes no progress: too
// many times in a row, or after Take had returned all elements. The error is
// permanent, and the batch is not committed.
func (g *idleGuard) check(step *Step, before, after lifecycle.Progress, stateBefore, stateAfter json.RawMessage) error {
	after.Total = before.Total
	return g.checked(after != before, step.tookAll(), stateBefore, stateAfter)
}

// checked is check for a batch that has counted something or not, and that took all
// elements or not.
func (g *idleGuard) checked(counted, tookAll bool, stateBefore, stateAfter json.RawMessage) error {
	if counted || !bytes.Equal(stateBefore, stateAfter) {
		g.batches = 0
	} else {
		g.batches++
	}
	switch {
	case !counted && tookAll:
		return noProgress(errors.New("the batch returned More and counted nothing, and Take has no element left: " +
			"return what Take returns, or Done"))
	case g.batches >= maxIdleBatches:
		return noProgress(fmt.Errorf("%d batches in a row returned More, changed nothing in b.State and counted nothing: "+
			"return Done after the last item, and Later to wait", g.batches))
	}
	return nil
}

func noProgress(err error) error {
	return &classify.MarkedError{Class: lifecycle.Permanent, Code: classify.CodeNoProgress, Err: err}
}
