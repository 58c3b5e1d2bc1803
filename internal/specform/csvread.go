package specform

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// maxCell bounds a cell, in bytes: a quote that is never closed would make a cell of the rest of the file. maxCells bounds the cells of a row, as
// spreadsheets do, and maxRow what is in them.
const (
	maxCell  = 1 << 20
	maxCells = 16_384
	maxRow   = 4 << 20
)

// FileError is a file that cannot be read as CSV, or whose columns the list does not have. The text is for people.
type FileError struct{ Problem string }

func (e *FileError) Error() string { return e.Problem }

func refuse(format string, args ...any) error { return &FileError{fmt.Sprintf(format, args...)} }

// runes reads characters from a file. It leaves out a byte order mark, takes a single carriage return for a line end, and reads
// Windows-1252 if the first character that is not ASCII is not UTF-8.
type runes struct {
	r       *bufio.Reader
	latin   bool // Windows-1252
	decided bool
}

func newRunes(r io.Reader) (*runes, error) {
	b := bufio.NewReaderSize(r, sniffed)
	mark, _ := b.Peek(4) // a file that is shorter has no mark
	switch text := string(mark); {
	case strings.HasPrefix(text, "\xff\xfe"), strings.HasPrefix(text, "\xfe\xff"):
		return nil, refuse("the file is in UTF-16: save it as CSV in UTF-8")
	case text == "PK\x03\x04":
		return nil, refuse("the file is a spreadsheet or an archive: save it as CSV")
	case strings.HasPrefix(text, "\ufeff"):
		_, err := b.Discard(3)
		return &runes{r: b, decided: true}, err
	default:
		return &runes{r: b}, nil
	}
}

// read returns the next character. In UTF-8, a byte that is none is utf8.RuneError.
func (r *runes) read() (rune, error) {
	first, err := r.r.ReadByte()
	switch {
	case err != nil:
		return 0, err
	case first == '\r':
		if next, _ := r.r.Peek(1); string(next) != "\n" { // the end of the file is no line feed
			return '\n', nil
		}
		return r.read()
	case first < utf8.RuneSelf:
		return rune(first), nil
	}
	if err := r.r.UnreadByte(); err != nil {
		return 0, err
	}
	if !r.decided {
		next, _ := r.r.Peek(utf8.UTFMax) // fewer bytes may suffice
		c, _ := utf8.DecodeRune(next)
		r.decided, r.latin = true, c == utf8.RuneError
	}
	if r.latin {
		b, err := r.r.ReadByte()
		return windows1252(b), err
	}
	c, _, err := r.r.ReadRune()
	return c, err
}

// windows1252 returns the character of a byte.
func windows1252(b byte) rune {
	if b >= 0x80 && b < 0xa0 {
		return []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")[b-0x80]
	}
	return rune(b)
}

// encoding returns the name of the encoding, as far as it has been read.
func (r *runes) encoding() string {
	if r.latin {
		return "Windows-1252"
	}
	return "UTF-8"
}

// sniffed is how much of a file is read to find its separator, in bytes.
const sniffed = 64 << 10

// separator returns what separates cells: of comma, semicolon and tab the one that the first line has most of outside of quotes. A
// first line such as sep=; names it, and is left out.
func (r *runes) separator() (rune, error) {
	head, err := r.r.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
		return 0, err
	}
	line := strings.TrimLeft(string(head), "\r\n")
	if strings.HasPrefix(strings.ToLower(line), "sep=") && len(line) > 4 && strings.ContainsRune(",;\t", rune(line[4])) {
		skip := len(head) - len(line) + 5
		for skip < len(head) && (head[skip] == '\r' || head[skip] == '\n') {
			skip++
		}
		_, err := r.r.Discard(skip)
		return rune(line[4]), err
	}
	counts, quoted := map[rune]int{}, false
	for _, c := range line {
		if c == '"' {
			quoted = !quoted
		}
		if !quoted && (c == '\n' || c == '\r') {
			break
		}
		if !quoted {
			counts[c]++
		}
	}
	best := ','
	for _, c := range ";\t" {
		if counts[c] > counts[best] {
			best = c
		}
	}
	return best, nil
}

// A record is a row of a file.
type record struct {
	line    int // in which it begins, from 1
	cells   []string
	problem string // of its quotes
}

// blank reports whether a record has no text.
func (r record) blank() bool {
	for _, c := range r.cells {
		if strings.TrimSpace(c) != "" {
			return false
		}
	}
	return true
}

// records reads the rows of a file, one at a time.
type records struct {
	runes     *runes
	separator rune
	line      int
	cell      strings.Builder
}

// next returns the next row, and io.EOF after the last.
func (r *records) next() (record, error) {
	row, size := record{line: r.line}, 0
	for {
		text, problem, end, err := r.readCell(row.line)
		if err != nil {
			return record{}, err
		}
		if problem != "" && row.problem == "" {
			row.problem = problem
		}
		if end == endOfFile && text == "" && len(row.cells) == 0 {
			return record{}, io.EOF
		}
		row.cells, size = append(row.cells, text), size+len(text)
		if len(row.cells) > maxCells || size > maxRow {
			return record{}, refuse("the row at line %s has more than %s cells or 4 MiB: are its line ends missing?", thousands(row.line), thousands(maxCells))
		}
		if end != endOfCell {
			return row, nil
		}
	}
}

// ending is what a cell ends with.
type ending int

const (
	endOfCell ending = iota
	endOfLine
	endOfFile
)

// readCell returns a cell and what follows it.
func (r *records) readCell(line int) (text, problem string, end ending, err error) {
	r.cell.Reset()
	quoted, closed := false, false
	for {
		c, err := r.runes.read()
		if errors.Is(err, io.EOF) {
			if quoted && !closed {
				problem = "has a quote that is not closed"
			}
			return r.cell.String(), problem, endOfFile, nil
		}
		if err != nil {
			return "", "", 0, err
		}
		if c == '\n' {
			r.line++
		}
		switch {
		case c == '"' && !quoted && strings.TrimSpace(r.cell.String()) == "":
			r.cell.Reset()
			quoted = true
			continue
		case c == '"' && closed: // two quotes are one
			closed = false
		case c == '"' && quoted:
			closed = true
			continue
		case quoted && !closed:
		case c == r.separator:
			return r.cell.String(), problem, endOfCell, nil
		case c == '\n':
			return r.cell.String(), problem, endOfLine, nil
		case closed && c != ' ':
			problem = "has text after the end of a quote: write a quote within quotes twice"
		case closed:
			continue
		}
		if c == utf8.RuneError && !r.runes.latin {
			problem = "has bytes that are not UTF-8"
		}
		if r.cell.WriteRune(c); r.cell.Len() > maxCell {
			return "", "", 0, refuse("the cell that begins near line %s is longer than 1 MiB: is its quote closed?", thousands(line))
		}
	}
}
