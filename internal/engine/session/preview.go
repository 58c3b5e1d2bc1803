package session

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/txchanges"
)

// preview is the [feature] of a task that is executed without keeping what the executor writes. The transaction of a batch is
// rolled back, and its checkpoint is written like the checkpoint of a batch without a transaction. So no checkpoint of a preview is
// ever in one transaction with what the executor has written: see [LazyTx] and
// [txguard.Tx.NeverCommit], which refuses the commit.
type preview struct {
	noFeature
	c      *current
	limits []store.Change
	report store.Report // as committed
	next   store.Report // with the batch whose checkpoint is being written
	stale  bool         // a checkpoint was committed whose report this session has not read
}

// note is the note of an executor about an item.
type note struct{ key, text string }

func newPreview(c *current, p *store.Plan) (*preview, error) {
	if !c.kind.Preview {
		return nil, fmt.Errorf("the task is a preview, and this worker's code of kind %s cannot be previewed: put the word preview back into its directive", c.task.Kind)
	}
	report, err := store.DecodeReport(p.Report)
	return &preview{c: c, limits: p.Options.ChangeLimits, report: report}, err
}

// checkPreviewed returns the error of a task that applies a preview which was executed at
// another revision than the revision of this worker's code. A task that has a checkpoint goes on, as
// any other does when its worker is updated.
func (c *current) checkPreviewed(p *store.Plan) error {
	previewed := p.Options.Previewed
	if previewed == 0 || previewed == c.kind.Revision || c.lease.Seq > 0 {
		return nil
	}
	return &classify.MarkedError{Class: lifecycle.Permanent, Code: classify.CodeRevision, Err: fmt.Errorf(
		"the task applies a preview of revision %d of kind %s, which has revision %d now: nothing was done; preview the task again, and apply that preview",
		previewed, c.task.Kind, c.kind.Revision)}
}

// begin reads the report that was committed, if the session does not have it.
func (f *preview) begin(step *Step) error {
	if !f.stale || step.Ending != NotEnding {
		return nil
	}
	p, err := f.c.readPlan()
	if err != nil {
		return err
	}
	report, err := store.DecodeReport(p.Report)
	if err != nil {
		return &classify.MarkedError{Class: lifecycle.Permanent, Code: classify.CodeUndecodable, Err: err}
	}
	f.report, f.stale = report, false
	return nil
}

// finish adds the report to the checkpoint of a batch.
func (f *preview) finish(step *Step, r *result) error {
	next := f.report
	next.Batches++
	next.Revision, next.StopAfter = cmp.Or(next.Revision, f.c.kind.Revision), f.c.kind.StopAfter
	next.Took += r.took
	addChanges(&next, step.Tx.changes.Made())
	addNotes(&next, step.notes, r.Items)
	if beyond := next.Exceeded(f.limits); beyond != "" {
		return &classify.MarkedError{Class: lifecycle.Permanent, Code: classify.CodeMaxChanges, Err: errors.New(beyond)}
	}
	f.next = next
	var err error
	r.Report, err = next.Encode()
	return err
}

// committed implements [feature].
func (f *preview) committed(w *store.Write, _ store.Applied) {
	if w.Report != nil {
		f.report = f.next
	}
}

// readBack implements [feature].
func (f *preview) readBack(advanced bool) { f.stale = f.stale || advanced }

// addChanges adds what the statements of a batch have changed. It does not modify
// what r shares with the report before.
func addChanges(r *store.Report, all []txchanges.Change) {
	r.Changes = slices.Clone(r.Changes)
	for _, made := range all {
		r.Other += made.Others
		if made.Verb == "" {
			continue
		}
		change := store.Change{Table: cut(made.Table), Verb: made.Verb}
		i, found := slices.BinarySearchFunc(r.Changes, change, func(a, b store.Change) int {
			return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(a.Verb, b.Verb))
		})
		switch {
		case made.Rows == 0:
		case found:
			r.Changes[i].Rows = plus(r.Changes[i].Rows, made.Rows)
		case len(r.Changes) < store.MaxChanges:
			change.Rows = made.Rows
			r.Changes = slices.Insert(r.Changes, i, change)
		default:
			r.Other++
		}
	}
}

// addNotes adds the notes of a batch, whose items have these outcomes. An item has
// one note, its last. It does not modify what r shares with the report before.
func addNotes(r *store.Report, notes []note, outcomes []store.Item) {
	if len(notes) == 0 {
		return
	}
	of := make(map[string]store.Outcome, len(outcomes))
	for i := range outcomes {
		of[outcomes[i].Key] = outcomes[i].Outcome
	}
	last := make(map[string]int, len(notes))
	for i, n := range notes {
		last[n.key] = i
	}
	r.Notes = slices.Clone(r.Notes)
	at := make(map[string]int, len(r.Notes))
	for i, n := range r.Notes {
		at[n.Note] = i
	}
	samples := slices.Clip(r.Samples)
	for i, n := range notes {
		if last[n.key] != i {
			continue
		}
		if k, ok := at[n.text]; ok {
			r.Notes[k].Items++
		} else if len(r.Notes) < store.MaxNotes {
			at[n.text] = len(r.Notes)
			r.Notes = append(r.Notes, store.NoteCount{Note: n.text, Items: 1})
		} else {
			r.OtherNotes++
		}
		if len(samples) < store.MaxSamples {
			samples = append(samples, store.Sample{Key: n.key, Note: n.text, Outcome: of[n.key]})
		}
	}
	r.Samples = samples
}

// Note records what was done with an item, by its key. Outside a preview it does
// nothing.
func (s *Step) Note(key, text string) {
	if !s.Preview {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.notes = append(s.notes, note{key, cut(classify.Clean(text))})
	}
}

// cut shortens a text for a report.
func cut(text string) string {
	const more = "…"
	if len(text) <= store.MaxNote {
		return text
	}
	n := store.MaxNote - len(more)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + more
}
