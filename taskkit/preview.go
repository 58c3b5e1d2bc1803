package taskkit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/store"
)

// WithPreview submits the task as a preview: its executor runs for real, batch by batch,
// and what it writes through b.Tx is rolled back before the checkpoint is written.
// State, counters, items and position advance as in a real run, and [Client.Preview]
// reads what the task would change. [Client.Apply] then submits the task over the same
// set, unless the preview has reached its stop policy or a limit of [WithMaxChanges].
//
// The kind must support it: its directive has the word preview, and its executor
// checks b.Preview before each effect outside b.Tx. For another kind it is an
// *[OptionError], and so it is together with [WithCoalescing]. Abort is not called in
// a preview. Report is, and what it returns is the result of the preview.
//
// A batch does not see what earlier batches of the preview have written. Sequences
// and identity columns are not rolled back, and constraints that are checked at the
// commit are not checked.
func WithPreview() SubmitOption {
	return submitOption(func(s *submission) { s.Options.Preview = true })
}

// WithMaxChanges bounds what a preview would change: at most so many rows of a table by
// statements with a verb, which is insert, update, delete or merge. Without a table these are the rows
// of all tables, and without a verb those of all verbs. The batch that goes beyond it is not
// reported and ends the preview in FAILURE with the code max_changes, so that [Client.Apply]
// refuses it: nothing at all is changed. Several limits hold together, 100 at most.
//
// Tables are named as in the statements of the executor, without quotes; upper and lower
// case do not matter. Changes of which the database does not tell the rows, see
// PreviewReport.OtherChanges, are beyond each limit.
//
// It is an *[OptionError] without [WithPreview], since only a preview counts changes, for a negative
// number, and for another verb.
func WithMaxChanges(table, verb string, rows int64) SubmitOption {
	return submitOption(func(s *submission) {
		switch {
		case rows < 0:
			s.fail("WithMaxChanges", fmt.Sprintf("%d rows: give it 0 at least, which allows none", rows))
		case !slices.Contains([]string{"", "insert", "update", "delete", "merge"}, verb):
			s.fail("WithMaxChanges", fmt.Sprintf("%q is no verb: use insert, update, delete or merge, or none for all of them", shorten(verb)))
		case len(s.Options.ChangeLimits) == maxChangeLimits:
			s.fail("WithMaxChanges", fmt.Sprintf("more than %d limits", maxChangeLimits))
		default:
			if table != "" {
				table = s.text("WithMaxChanges", table, store.MaxNote)
			}
			s.Options.ChangeLimits = append(slices.Clip(s.Options.ChangeLimits), store.Change{Table: table, Verb: verb, Rows: rows})
		}
	})
}

// maxChangeLimits bounds the limits of a preview.
const maxChangeLimits = 100

// checkPreview returns what is wrong with the options of this file.
func (k *Kind[Spec, State, Result]) checkPreview(s *submission) error {
	switch {
	case !s.Options.Preview && len(s.Options.ChangeLimits) > 0:
		return &OptionError{"WithMaxChanges", "only a preview counts what would be changed: add WithPreview(), and apply the preview"}
	case !s.Options.Preview:
		return nil
	case !k.def.Preview:
		return &OptionError{"WithPreview", fmt.Sprintf("kind %s cannot be previewed: let its executor check b.Preview before each effect outside b.Tx, write the word preview into its directive, //taskkit:executor %s preview, and run go generate", k.def.Name, k.def.Name)}
	case s.Reference != "":
		return &OptionError{"WithCoalescing", "used together with Preview: a preview replaces no waiting task"}
	}
	return nil
}

// PreviewReport says what a task would do, as its preview has found so far. It is
// complete when the preview has COMPLETED and is not partial.
type PreviewReport struct {
	Task ID `json:"task"` // the preview
	// Progress counts the items by outcome, and Status says how far the preview is.
	Progress Progress `json:"progress"`
	Status   Status   `json:"status"`
	Partial  bool     `json:"partial,omitempty"` // it was stopped before it was done
	// Changes are the rows that statements through b.Tx would change, by table, then
	// verb. Statements that a savepoint has undone are not counted.
	Changes []TableChange `json:"changes"`
	// OtherChanges counts the changes that are not among Changes, because the database
	// does not tell how many rows they concern: those within a WITH, of a text of
	// several statements, of a query with RETURNING on b.Tx itself, and TRUNCATE and
	// the like. Each counts one. What triggers, foreign keys and functions change is
	// not counted at all.
	OtherChanges int64 `json:"other_changes"`
	// Notes count the items with each note of [Batch.Note], at most 100 different
	// ones in the order in which they came first; OtherNotes counts the other items.
	Notes      []NoteCount `json:"notes"`
	OtherNotes int64       `json:"other_notes"`
	// Samples are the first items with a note, at most 100.
	Samples []PreviewSample `json:"samples"`
	// Expected is how long the real task will take, without waits: what the batches of
	// the preview took.
	Expected time.Duration `json:"expected_ns"`
}

// TableChange counts the rows of a table that statements with a verb would change.
type TableChange struct {
	Table string `json:"table"` // as in the statement, without quotes
	// Verb is insert, update, delete or merge. An INSERT that updates on a conflict
	// is an insert.
	Verb string `json:"verb"`
	Rows int64  `json:"rows"`
}

// NoteCount counts the items with a note.
type NoteCount struct {
	Note  string `json:"note"`
	Items int64  `json:"items"`
}

// PreviewSample is an item with a note.
type PreviewSample struct {
	Key     json.RawMessage `json:"item"` // as that of [Item]
	Note    string          `json:"note"`
	Outcome Outcome         `json:"outcome"`
}

// Text returns the key for people, as [Item.Text] does.
func (s *PreviewSample) Text() string { return itemkey.Text(string(s.Key)) }

// Preview reads what a preview has found so far. It returns [ErrNotFound] when there
// is no such task, and a *[PreviewError] when the task is not a preview.
func (c *Client) Preview(ctx context.Context, id ID) (*PreviewReport, error) {
	op, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	// The status comes first: the report of a task that has ended does not change.
	found, _, err := op.Tasks(ctx, store.Filter{IDs: []ID{id}, Limit: 1})
	if err == nil && len(found) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return nil, c.public(ctx, err)
	}
	plan, err := op.Plan(ctx, id)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	if !plan.Options.Preview {
		return nil, &PreviewError{ID: id, Problem: "it is not a preview: submit the task with taskkit.WithPreview"}
	}
	r, err := store.DecodeReport(plan.Report)
	if err != nil {
		return nil, c.public(ctx, err)
	}
	return newPreviewReport(fromStore(found[0]), &r), nil
}

// newPreviewReport converts a report.
func newPreviewReport(t *Task, r *store.Report) *PreviewReport {
	out := &PreviewReport{
		Task: t.ID, Progress: t.Progress, Status: t.Status, Partial: t.Partial,
		OtherChanges: r.Other, OtherNotes: r.OtherNotes, Expected: r.Took,
		Changes: make([]TableChange, len(r.Changes)), Notes: make([]NoteCount, len(r.Notes)), Samples: make([]PreviewSample, len(r.Samples)),
	}
	for i, c := range r.Changes {
		out.Changes[i] = TableChange(c)
	}
	for i, n := range r.Notes {
		out.Notes[i] = NoteCount(n)
	}
	for i, s := range r.Samples {
		out.Samples[i] = PreviewSample{Key: json.RawMessage(s.Key), Note: s.Note, Outcome: Outcome(s.Outcome)}
		if s.Outcome == "" {
			out.Samples[i].Outcome = OutcomeSucceeded
		}
	}
	return out
}

// PreviewError: a task is not a preview, or one that cannot be applied as it is.
type PreviewError struct {
	ID      ID
	Problem string
}

func (e *PreviewError) Error() string { return fmt.Sprintf("taskkit: preview %s: %s", e.ID, e.Problem) }
