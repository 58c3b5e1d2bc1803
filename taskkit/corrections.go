package taskkit

import (
	"bufio"
	"bytes"
	"cmp"
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
	"unicode/utf8"

	"github.com/google/uuid"

	"taskkit.dev/internal/csvcell"
	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit/taskjson"
)

// Correction says what a failed item becomes in a retry.
type Correction struct {
	Task      ID     `json:"task,omitzero"` // the bucket that has the item; zero: the retried task itself
	Position  int64  `json:"position"`      // of the item
	Item      string `json:"item"`          // its text, see [Item.Text]
	Corrected string `json:"corrected"`     // a text of the same form; "": the item stays as it is
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
	task     ID          // and its task
	byTask   bool        // positions count from 1 in each task
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
	case c.compare(&next, c.task, c.last) <= 0:
		return nil, &OptionError{"corrected", fmt.Sprintf("the item %q at position %d comes after position %d: keep the order in which the items were listed",
			shorten(next.Item), next.Position, c.last)}
	}
	c.head, c.last, c.task = &next, next.Position, next.Task
	return c.head, nil
}

// compare compares the place of a correction with another in the order of [Client.Items]: children come in the order of their ids.
func (c *corrections) compare(next *Correction, task ID, position int64) int {
	if c.byTask {
		if n := bytes.Compare(next.Task[:], task[:]); n != 0 {
			return n
		}
	}
	return cmp.Compare(next.Position, position)
}

// of returns what a failed item of a task becomes, given the JSON that it was; nil if there is a
// problem, which end returns.
func (c *corrections) of(task ID, i *store.Item, was []byte) ([]byte, error) {
	if c == nil {
		return was, nil
	}
	for {
		next, err := c.peek()
		switch {
		case err != nil:
			return nil, err
		case next == nil || c.compare(next, task, i.Position) > 0:
			c.problems.missing(i)
			return nil, nil
		}
		c.head = nil
		if c.compare(next, task, i.Position) < 0 {
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
	key := []byte(text)
	if jsonType(was) == '"' {
		if !utf8.ValidString(text) {
			return nil // Marshal would replace what is not UTF-8
		}
		var err error
		if key, err = json.Marshal(text); err != nil {
			return nil
		}
	}
	var compact bytes.Buffer
	if taskjson.Check(key) != nil || json.Compact(&compact, key) != nil || jsonType(compact.Bytes()) != jsonType(was) {
		return nil
	}
	return compact.Bytes()
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
	csvTask      = "task" // may be missing
	csvPosition  = "position"
	csvCorrected = "corrected"
)

// CorrectionsFromCSV reads corrections from a file as the command
// taskkit items TASK --failed -o csv writes it. What is in the column corrected takes
// the place of the item. The columns item and position must be there and be left as
// they are. The columns may be separated by semicolons or tabs, as spreadsheets of many
// countries write them. A file that is not so, or is not UTF-8, is an *[OptionError] that
// names the line. The file is read while the sequence is, once.
func CorrectionsFromCSV(r io.Reader) iter.Seq2[Correction, error] {
	return func(yield func(Correction, error) bool) {
		f, err := openCorrections(r)
		if err != nil {
			yield(Correction{}, err)
			return
		}
		for {
			c, err := f.next()
			if errors.Is(err, io.EOF) || !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// correctionsFile is a file of corrections after its header.
type correctionsFile struct {
	rows               *csv.Reader
	before             int // lines before those that rows reads
	item, position, to int // columns
	task               int // -1: the file has none
}

const (
	// headerMost is how long the first line may be.
	headerMost = 4096
	separators = ",;\t"
)

func openCorrections(r io.Reader) (*correctionsFile, error) {
	in := bufio.NewReaderSize(r, headerMost)
	line, err := csvStart(in)
	if err != nil {
		return nil, err
	}
	f := &correctionsFile{}
	separator, given := strings.CutPrefix(strings.ToLower(line), "sep=")
	if given {
		if len(separator) != 1 || !strings.Contains(separators, separator) {
			return nil, &OptionError{"corrected", fmt.Sprintf("the first line is %q: want a comma, a semicolon or a tab after sep=", shorten(line))}
		}
		f.before = 1
		_, _ = in.ReadString('\n')
	} else {
		separator = mostOf(line, separators)
	}
	f.rows = csv.NewReader(in)
	f.rows.ReuseRecord = true
	f.rows.Comma = rune(separator[0])
	header, err := f.rows.Read()
	if err != nil {
		return nil, csvError(err, "the file has no header")
	}
	header = slices.Clone(header)
	for i := range header {
		header[i] = strings.ToLower(strings.TrimSpace(header[i]))
	}
	f.task = slices.Index(header, csvTask)
	f.item, f.position, f.to = slices.Index(header, csvItem), slices.Index(header, csvPosition), slices.Index(header, csvCorrected)
	if f.item < 0 || f.position < 0 || f.to < 0 {
		return nil, &OptionError{"corrected", fmt.Sprintf("the header is %q: it must name the columns %s, %s and %s",
			shortenTo(strings.Join(header, ","), 200), csvItem, csvPosition, csvCorrected)}
	}
	return f, nil
}

// csvStart returns the first line without reading it, and reads the byte order mark before it.
func csvStart(in *bufio.Reader) (string, error) {
	const utf8Mark = "\ufeff"
	if mark, _ := in.Peek(len(utf8Mark)); string(mark) == utf8Mark {
		_, _ = in.Discard(len(utf8Mark))
	}
	start, err := in.Peek(headerMost)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", csvError(err, "")
	}
	if bytes.HasPrefix(start, []byte("\xff\xfe")) || bytes.HasPrefix(start, []byte("\xfe\xff")) {
		return "", &OptionError{"corrected", "the file is UTF-16: save it as CSV in UTF-8"}
	}
	line, _, _ := bytes.Cut(start, []byte("\n"))
	return string(bytes.TrimRight(line, "\r ")), nil
}

// mostOf returns which of these characters a text has most often; the first one of equal ones.
func mostOf(text, of string) string {
	best := of[:1]
	for i := range of {
		if c := of[i : i+1]; strings.Count(text, c) > strings.Count(text, best) {
			best = c
		}
	}
	return best
}

// next reads a correction; [io.EOF] after the last one. Lines without any text are left out.
func (f *correctionsFile) next() (c Correction, err error) {
	var row []string
	for strings.Join(row, "") == "" {
		if row, err = f.rows.Read(); err != nil {
			if errors.Is(err, io.EOF) {
				return c, io.EOF
			}
			return c, csvError(err, "")
		}
	}
	for _, column := range []int{f.item, f.to} {
		if !utf8.ValidString(row[column]) || strings.ContainsRune(row[column], 0) {
			return c, f.wrong(column, "has %q, which is not UTF-8, or has the character NUL: save the file as CSV in UTF-8", row[column])
		}
	}
	c = Correction{Item: csvcell.Read(row[f.item]), Corrected: csvcell.Read(row[f.to])}
	if c.Position, err = strconv.ParseInt(row[f.position], 10, 64); err != nil || c.Position < 1 {
		return c, f.wrong(f.position, "has the position %q, want a number from 1", row[f.position])
	}
	if f.task >= 0 && row[f.task] != "" {
		if c.Task, err = uuid.Parse(row[f.task]); err != nil {
			return c, f.wrong(f.task, "has the task %q, which is not an id", row[f.task])
		}
	}
	return c, nil
}

// wrong is the error of a cell.
func (f *correctionsFile) wrong(column int, problem, cell string) error {
	line, _ := f.rows.FieldPos(column)
	return &OptionError{"corrected", fmt.Sprintf("line %d "+problem, f.before+line, shorten(cell))}
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
