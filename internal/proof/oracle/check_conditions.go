package oracle

import (
	"encoding/json"
	"fmt"
)

// Conditions are the options by which a task pauses, and whether it is a preview, with the
// names of the stored options.
type Conditions struct {
	StopAfter StopPolicy `json:"stop_after"`
	Canary    int64      `json:"canary"`
	Approval  bool       `json:"approval"`
	Approved  bool       `json:"approved"`
	Preview   bool       `json:"preview"`
}

// StopPolicy is a number of failed items, or a share of the processed ones.
type StopPolicy struct {
	Failed  int64   `json:"failed"`
	Percent float64 `json:"percent"`
}

func (o *Conditions) decode(text string) error {
	if text == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(text), o); err != nil {
		return fmt.Errorf("the options %q: %w", text, err)
	}
	return nil
}

// shareFrom is the number of processed items from which a share counts.
const shareFrom = 20

// reached reports whether so many items have failed that the task must not go on.
func (o *Conditions) reached(r *Row) bool {
	p, n := o.StopAfter, r.processed()
	return p.Failed > 0 && r.Failed >= p.Failed || p.Percent > 0 && n >= shareFrom && float64(r.Failed)*100 >= p.Percent*float64(n)
}

// awaits reports whether the task must not go on before somebody approves it.
func (o *Conditions) awaits(r *Row) bool {
	return (o.Canary > 0 || o.Approval) && !o.Approved && r.processed() >= o.Canary
}

// preview reports whether the task is a preview.
func (t *Task) preview() bool {
	for _, h := range t.Changes {
		if h.Conditions.Preview {
			return true
		}
	}
	return false
}

// checkConditions checks I25, I26 and I27.
func (c *checker) checkConditions(t *Task) {
	c.checkPreview(t)
	retried := false // by an operator since its last pause: it may go on until it fails again
	paused := false  // by a checkpoint
	for i, h := range t.Changes {
		if h.Op != "UPDATE" {
			continue
		}
		o := &h.Conditions
		over, awaits := o.reached(&h.New), o.awaits(&h.New)
		switch {
		case h.Old.terminal() && h.New.Status == queued:
			retried = true
		case h.New.terminal():
		case h.checkpoint():
			if paused && h.New.processed() > h.Old.processed() {
				c.found("I25", t.ID, "a batch of %d items after the checkpoint that paused the task (change %d)", h.New.processed()-h.Old.processed(), h.ID)
			}
			if o.Canary > 0 && !o.Approved && h.New.processed() > o.Canary {
				c.found("I26", t.ID, "%d items are processed, and its canary is %d (change %d)", h.New.processed(), o.Canary, h.ID)
			}
			if reached := over && risen(h) || awaits; !reached {
				break
			}
			retried = false
			if h.Old.Control != "" {
				break // it stops for another reason
			}
			if !c.pausedWith(t, i) {
				c.found(condition(awaits), t.ID, "%d of %d processed items have failed, and the checkpoint did not pause the task (change %d, conditions %+v)",
					h.New.Failed, h.New.processed(), h.ID, *o)
				break
			}
			paused = true
			if awaits {
				c.report.Counts.Approvals++
			} else {
				c.report.Counts.Limits++
			}
			continue // the pause may be the next change
		case h.claim() && h.New.Control == "", h.Old.Control == pause && h.New.Control == "":
			if over && !retried || awaits {
				c.found(condition(awaits), t.ID, "goes on with %d of %d processed items failed (change %d, conditions %+v)", h.New.Failed, h.New.processed(), h.ID, *o)
			}
		}
		paused = paused && h.New.Control == pause
	}
}

// condition is the invariant of a task that should be paused.
func condition(awaits bool) string {
	if awaits {
		return "I26"
	}
	return "I25"
}

// risen reports whether a checkpoint may have reached a stop policy: it counts more failed
// items, or so many that a share counts from now on.
func risen(h *Change) bool {
	return h.New.Failed > h.Old.Failed || h.Old.processed() < shareFrom && h.New.processed() >= shareFrom
}

// pausedWith reports whether a checkpoint has paused the task in its transaction: by the
// same change or by the next.
func (c *checker) pausedWith(t *Task, i int) bool {
	h := t.Changes[i]
	if h.New.Control == pause || i+1 == len(t.Changes) {
		return h.New.Control == pause
	}
	next := t.Changes[i+1]
	want := h.New
	want.Control = pause
	return next.Op == "UPDATE" && next.New == want && next.Tx == h.Tx
}

// checkPreview checks I27: a preview touches nothing.
func (c *checker) checkPreview(t *Task) {
	if !t.preview() {
		return
	}
	c.report.Counts.Previews++
	for _, b := range t.Touches {
		c.found("I27", t.ID, "it is a preview, and %d touches from %d were committed under checkpoint_seq %d", b.N, b.First, b.Seq)
	}
}
