// Package screen writes tables and text for people, in colour on a terminal, and JSON for
// programs. No text can move the cursor, change the order of characters or begin a line: [Clean],
// [Text] and [Escape] are the only rules for that.
package screen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// Screen is an output and its capabilities.
type Screen struct {
	io.Writer
	Terminal bool

	file   *os.File // nil: the output is no file
	colour bool
}

// New detects the capabilities of an output. It honours NO_COLOR, see no-color.org.
func New(w io.Writer) Screen {
	s := Screen{Writer: w}
	if f, ok := w.(*os.File); ok {
		s.file = f
		s.Terminal = term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
		s.colour = s.Terminal && os.Getenv("NO_COLOR") == ""
	}
	return s
}

// Width returns the number of characters that fit on a line.
func (s Screen) Width() int {
	if s.file != nil {
		if w, _, err := term.GetSize(int(s.file.Fd())); err == nil && w > 0 {
			return w
		}
	}
	return 80
}

func (s Screen) paint(c text.Color, v string) string {
	if !s.colour {
		return v
	}
	return text.Colors{c}.Sprint(v)
}

// Red is for errors.
func (s Screen) Red(v string) string { return s.paint(text.FgRed, v) }

// Bold is for headings.
func (s Screen) Bold(v string) string { return s.paint(text.Bold, v) }

// status colours a status: green for good, red for bad, cyan for in progress.
func (s Screen) status(v string) string {
	switch {
	case strings.HasPrefix(v, "COMPLETED"), v == "alive":
		return s.paint(text.FgGreen, v)
	case v == "FAILURE", v == "ERROR", v == "silent":
		return s.Red(v)
	case v == "EXECUTING", v == "SCHEDULING", v == "draining", v == "safe mode", v == "paused":
		return s.paint(text.FgCyan, v)
	default:
		return v
	}
}

// plainTable has columns and no frame, so that it reads the same on a terminal, in
// a mail and through awk.
var plainTable = table.Style{
	Name:    "plain",
	Box:     table.BoxStyle{PaddingRight: "  "},
	Options: table.Options{},
	Format:  table.FormatOptions{Header: text.FormatUpper},
}

// statusName names the column and the field whose values have a colour.
const statusName = "status"

// Table writes columns, with each cell on one line. The column "status" has colours. The columns
// in numbers, counted from 1, are aligned to the right. Without a header it continues a table. On what is no terminal
// the cells are separated by tabs, for programs.
func (s Screen) Table(header []string, rows [][]string, numbers ...int) {
	if !s.Terminal {
		s.tabs(header, rows)
		return
	}
	w := table.NewWriter()
	w.SetStyle(plainTable)
	w.SuppressTrailingSpaces()
	if len(header) > 0 {
		head := make(table.Row, len(header))
		for i, h := range header {
			head[i] = h
		}
		w.AppendHeader(head)
	}
	for _, r := range rows {
		row := make(table.Row, len(r))
		for i, c := range r {
			row[i] = Clean(c)
			if i < len(header) && header[i] == statusName {
				row[i] = s.status(Clean(c))
			}
		}
		w.AppendRow(row)
	}
	configs := make([]table.ColumnConfig, len(numbers))
	for i, n := range numbers {
		configs[i] = table.ColumnConfig{Number: n, Align: text.AlignRight, AlignHeader: text.AlignRight}
	}
	w.SetColumnConfigs(configs)
	fmt.Fprintln(s, w.Render())
}

// tabs writes rows whose cells are separated by tabs.
func (s Screen) tabs(header []string, rows [][]string) {
	if len(header) > 0 {
		fmt.Fprintln(s, strings.ToUpper(strings.Join(header, "\t")))
	}
	for _, r := range rows {
		cells := make([]string, len(r))
		for i, c := range r {
			cells[i] = Clean(c)
		}
		fmt.Fprintln(s, strings.Join(cells, "\t"))
	}
}

// Fields writes names and values, each value as a [Text]. The value of "status" has a colour. It
// omits empty values.
func (s Screen) Fields(pairs [][2]string) {
	widest := 0
	for _, p := range pairs {
		if p[1] != "" {
			widest = max(widest, len(p[0]))
		}
	}
	for _, p := range pairs {
		if p[1] != "" {
			value := Text(p[1])
			if p[0] == statusName {
				value = s.status(value)
			}
			fmt.Fprintf(s, "%s%s  %s\n", s.Bold(p[0]), strings.Repeat(" ", widest-len(p[0])), value)
		}
	}
}

// JSON writes a value for programs, see [Escape].
func JSON(w io.Writer, v any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(Escape(b.Bytes()))
	return err
}

// Escape returns JSON in which what [Clean] replaces is escaped, so that it decodes to the same
// value. encoding/json escapes only the control characters below U+0020.
func Escape(text []byte) []byte {
	escaped := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case r < utf8.RuneSelf && r != 0x7f, shown(r) && r != utf8.RuneError:
			escaped = utf8.AppendRune(escaped, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			escaped = fmt.Appendf(escaped, `\u%04x\u%04x`, high, low)
		default:
			escaped = fmt.Appendf(escaped, `\u%04x`, r)
		}
	}
	return escaped
}

// shown reports whether a terminal shows a character as itself: it is no control character and does not
// change the order of others. Joiners are part of emoji and of words in some scripts.
func shown(r rune) bool {
	const nonJoiner, joiner = '\u200c', '\u200d'
	return unicode.IsGraphic(r) || r == nonJoiner || r == joiner
}

// Clean makes one line of a text that may come from anywhere: line breaks and tabs are spaces,
// and the other characters that a terminal does not show as themselves are replaced.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case shown(r):
			return r
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		}
		return utf8.RuneError
	}, s)
}

// Text is [Clean] for a text of several lines. The further lines are indented, so that none can
// be taken for a line of the output.
func Text(s string) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	for i, line := range lines {
		lines[i] = Clean(strings.TrimSuffix(line, "\r"))
	}
	return strings.Join(lines, "\n    ")
}

// Short returns the first line of a text, at most n characters of it.
func Short(s string, n int) string {
	line, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	runes := []rune(strings.TrimSpace(Clean(line)))
	if len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	if more {
		return string(runes) + " …"
	}
	return string(runes)
}

// Brief shortens a duration for people.
func Brief(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
}

// Count writes a number for people.
func Count(n int64) string { return humanize.Comma(n) }

// Time writes a time for people.
func Time(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }
