package store

import (
	"encoding/json"
	"fmt"
	"time"
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
}

// Change counts the rows that statements with a verb have changed in a table.
type Change struct {
	Table string `json:"table"`
	Verb  string `json:"verb"` // insert, update, delete or merge
	Rows  int64  `json:"rows"`
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
