package taskkit

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/store"
)

// Correction says what a failed item becomes in a retry.
type Correction struct {
	Position  int64  `json:"position"`  // that of the item
	Item      string `json:"item"`      // its text, see [Item.Text]
	Corrected string `json:"corrected"` // a text of the same form; "": the item stays as it is
}

// RetryCorrected is [Client.RetryFailed] for items of which some were corrected. The
// corrections must be those of all failed items, in the order of [Client.Items]; use
// [CorrectionsFromCSV] for a file that was written from these. They are read once and
// compared with the items while the new task is stored, so that neither is in memory as
// a whole. Of corrected items, duplicates are left out, as [WithTargets] does: up to
// a million may come in any order, and each may have 1,024 bytes of JSON.
//
// A corrected item is JSON of the same type as the item was: a string, a number, a bool,
// an object or a list. The rules of validation of the spec are not checked, and what
// the type of the targets cannot hold ends the new task in FAILURE.
//
// A failed item without a correction, a correction of another item, and one that is not
// of the item's type are a *[CorrectionsError]. An error of the sequence is returned.
func (c *Client) RetryCorrected(ctx context.Context, id ID, corrected iter.Seq2[Correction, error], opts ...SubmitOption) (ID, error) {
	forgetSubmitted(opts)
	if corrected == nil {
		return ID{}, &OptionError{"corrected", "nil is no sequence: use RetryFailed for items as they are"}
	}
	next, stop := iter.Pull2(corrected)
	defer stop()
	with := &corrections{next: next, problems: CorrectionsError{ID: id}}
	return c.follow(ctx, id, opts, func(f *followUp) error { return f.retryFailed(ctx, with) })
}

// corrections are those of a retry. A nil one leaves all items as they are.
type corrections struct {
	next     func() (Correction, error, bool)
	head     *Correction // the next one, once it was read
	last     int64       // the position of the one before
	problems CorrectionsError
}

// peek returns the next correction, or nil at the end.
func (c *corrections) peek() (*Correction, error) {
	if c.head != nil {
		return c.head, nil
	}
	next, err, ok := c.next()
	switch {
	case !ok:
		return nil, nil //nolint:nilnil // the end is no error
	case err != nil:
		return nil, err
	case next.Position <= c.last:
		return nil, &OptionError{"corrected", fmt.Sprintf("the item %q at position %d comes after position %d: keep the order in which the items were listed",
			shorten(next.Item), next.Position, c.last)}
	}
	c.head, c.last = &next, next.Position
	return c.head, nil
}

// of returns what a failed item becomes, given the JSON that it was; nil if there is a
// problem, which end returns.
func (c *corrections) of(i *store.Item, was []byte) ([]byte, error) {
	if c == nil {
		return was, nil
	}
	for {
		next, err := c.peek()
		switch {
		case err != nil:
			return nil, err
		case next == nil || next.Position > i.Position:
			c.problems.missing(i)
			return nil, nil
		}
		c.head = nil
		if next.Position < i.Position {
			c.problems.unknown(next)
			continue
		}
		if lines(next.Item) != lines(itemkey.Text(i.Key)) {
			c.problems.unknown(next)
			return nil, nil
		}
		key := corrected(next.Corrected, was)
		if key == nil {
			c.problems.invalid(next)
		}
		return key, nil
	}
}

// end returns the error of all corrections, if there was a problem.
func (c *corrections) end() error {
	if c == nil {
		return nil
	}
	for {
		next, err := c.peek()
		if err != nil {
			return err
		}
		if next == nil {
			break
		}
		c.head = nil
		c.problems.unknown(next)
	}
	if p := &c.problems; len(p.Unknown)+len(p.Missing)+len(p.Invalid) > 0 {
		return p
	}
	return nil
}

// lines returns a text with the line ends that a CSV file gives it.
func lines(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }

// corrected returns the JSON of a text, in the place of JSON of the same type; nil: it
// is none of it.
func corrected(text string, was []byte) []byte {
	was = bytes.TrimSpace(was)
	if text == "" {
		return was
	}
	if jsonType(was) == '"' {
		key, err := json.Marshal(text)
		if err != nil {
			return nil
		}
		return key
	}
	var key bytes.Buffer
	if json.Compact(&key, []byte(text)) != nil || jsonType(key.Bytes()) != jsonType(was) {
		return nil
	}
	return key.Bytes()
}

// jsonType returns a byte for the type of JSON: the first of it, or 0 for a number and
// t for a bool.
func jsonType(raw []byte) byte {
	switch raw[0] {
	case '"', '{', '[', 'n', 't':
		return raw[0]
	case 'f':
		return 't'
	default:
		return 0
	}
}

// The columns of a file of corrections.
const (
	csvItem      = "item"
	csvPosition  = "position"
	csvCorrected = "corrected"
)

// CorrectionsFromCSV reads corrections from a file as the command
// taskkit items TASK --failed -o csv writes it. What is in the column corrected takes
// the place of the item. The columns item and position must be there and be left as
// they are. A file that is not so is an *[OptionError] that names the line. The file is
// read while the sequence is, once.
func CorrectionsFromCSV(r io.Reader) iter.Seq2[Correction, error] {
	return func(yield func(Correction, error) bool) {
		lines := csv.NewReader(r)
		lines.ReuseRecord = true
		header, err := lines.Read()
		if err != nil {
			yield(Correction{}, csvError(err, "the file has no header"))
			return
		}
		header = slices.Clone(header)
		header[0] = strings.TrimPrefix(header[0], "\ufeff")
		item, position, to := slices.Index(header, csvItem), slices.Index(header, csvPosition), slices.Index(header, csvCorrected)
		if item < 0 || position < 0 || to < 0 {
			yield(Correction{}, &OptionError{"corrected", fmt.Sprintf("the header is %q: it must name the columns %s, %s and %s",
				shortenTo(strings.Join(header, ","), 200), csvItem, csvPosition, csvCorrected)})
			return
		}
		for {
			row, err := lines.Read()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(Correction{}, csvError(err, ""))
				return
			}
			c := Correction{Item: row[item], Corrected: row[to]}
			if c.Position, err = strconv.ParseInt(row[position], 10, 64); err != nil || c.Position < 1 {
				line, _ := lines.FieldPos(position)
				yield(Correction{}, &OptionError{"corrected", fmt.Sprintf("line %d has the position %q, want a number from 1", line, shorten(row[position]))})
				return
			}
			if !yield(c, nil) {
				return
			}
		}
	}
}

// csvError is the error of a file that cannot be read, or is not CSV.
func csvError(err error, atEnd string) error {
	var wrong *csv.ParseError
	switch {
	case errors.Is(err, io.EOF):
		return &OptionError{"corrected", atEnd}
	case errors.As(err, &wrong):
		return &OptionError{"corrected", "the file is not CSV: " + wrong.Error()}
	default:
		return fmt.Errorf("taskkit: read the corrected items: %w", err)
	}
}
