package store

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"taskkit.dev/internal/lifecycle"
)

// Bounds of a report, so that it can be written with each checkpoint.
const (
	// MaxSamples is how many items with a note a report has.
	MaxSamples = 100
	// MaxNotes is how many different notes a report counts.
	MaxNotes = 100
	// MaxChanges is how many pairs of a table and a verb a report counts.
	MaxChanges = 200
	// MaxNote bounds a note, in bytes.
	MaxNote = 200
)

// Report is what a preview has found so far. What is beyond a bound is counted in
// OtherNotes and Other.
type Report struct {
	Changes    []Change      `json:"changes,omitempty"` // by table, then verb
	Other      int64         `json:"other,omitempty"`   // changes whose rows are unknown
	Notes      []NoteCount   `json:"notes,omitempty"`   // in the order of their first item
	OtherNotes int64         `json:"other_notes,omitempty"`
	Samples    []Sample      `json:"samples,omitempty"`
	Batches    int64         `json:"batches,omitempty"`
	Took       time.Duration `json:"took,omitempty"` // all batches together
	// Revision is the revision of the kind in the first batch. The last is with the state of
	// the task, and none between is less than one before.
	Revision int `json:"revision,omitempty"`
	// StopAfter is the stop policy of the kind.
	StopAfter lifecycle.StopPolicy `json:"stop_after,omitzero"`
}

// Change counts the rows that statements with a verb have changed in a table.
type Change struct {
	Table string `json:"table"`
	Verb  string `json:"verb"` // insert, update, delete or merge
	Rows  int64  `json:"rows"`
}

// Exceeded describes the limit that the changes exceed; "" if they exceed none.
func (r *Report) Exceeded(limits []Change) string {
	for _, limit := range limits {
		var rows int64
		for _, c := range r.Changes {
			if limit.covers(c) {
				rows += c.Rows
			}
		}
		switch {
		case rows > limit.Rows:
			return fmt.Sprintf("it would %s %d rows of %s, and %d at most are allowed",
				cmp.Or(limit.Verb, "change"), rows, cmp.Or(limit.Table, "all tables"), limit.Rows)
		case r.Other > 0:
			return fmt.Sprintf("it would make %d changes of which the database does not tell the rows, and so not whether they keep to %d rows of %s",
				r.Other, limit.Rows, cmp.Or(limit.Table, "all tables"))
		}
	}
	return ""
}

// covers reports whether a limit is one of a change.
func (c Change) covers(made Change) bool {
	return (c.Table == "" || strings.EqualFold(c.Table, made.Table)) && (c.Verb == "" || c.Verb == made.Verb)
}

// NoteCount counts the items with a note.
type NoteCount struct {
	Note  string `json:"note"`
	Items int64  `json:"items"`
}

// Sample is an item with a note.
type Sample struct {
	Key     string  `json:"key"` // see package itemkey
	Note    string  `json:"note"`
	Outcome Outcome `json:"outcome,omitempty"` // "" for one that succeeded
}

// Encode returns the report as it is stored.
func (r *Report) Encode() (json.RawMessage, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the report of a preview: %w", err)
	}
	return text, nil
}

// DecodeReport decodes a stored report; nothing stands for an empty one.
func DecodeReport(text []byte) (r Report, err error) {
	if len(text) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("decode the report of a preview: %w", err)
	}
	return r, nil
}
