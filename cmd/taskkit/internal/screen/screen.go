// Package screen writes tables and text for people, in colour on a terminal, and
// without control characters.
package screen

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/dustin/go-humanize"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"
)

// Screen is an output file and its capabilities.
type Screen struct {
	*os.File
	Terminal bool
	colour   bool
}

// New detects the capabilities of a file. It honours NO_COLOR, see no-color.org.
func New(f *os.File) Screen {
	s := Screen{File: f, Terminal: term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"}
	s.colour = s.Terminal && os.Getenv("NO_COLOR") == ""
	return s
}

// Width returns the number of characters that fit on a line.
func (s Screen) Width() int {
	if w, _, err := term.GetSize(int(s.Fd())); err == nil && w > 0 {
		return w
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

// Status colours a status: green for good, red for bad, cyan for in progress.
func (s Screen) Status(v string) string {
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

// Table writes columns. The cells must have passed through [Clean]. The columns in
// numbers, counted from 1, are aligned to the right. Without a header it continues a
// table.
func (s Screen) Table(header []string, rows [][]string, numbers ...int) {
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
			row[i] = c
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

// Fields writes names and values, one per line. It omits empty values.
func (s Screen) Fields(pairs [][2]string) {
	widest := 0
	for _, p := range pairs {
		if p[1] != "" {
			widest = max(widest, len(p[0]))
		}
	}
	for _, p := range pairs {
		if p[1] != "" {
			fmt.Fprintf(s, "%s%s  %s\n", s.Bold(p[0]), strings.Repeat(" ", widest-len(p[0])), p[1])
		}
	}
}

// JSON writes a value for programs.
func JSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Clean replaces control characters, except line breaks and tabs: text in a
// database may come from anywhere.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return '\ufffd'
		}
		return r
	}, s)
}

// Short returns the first line of a text, at most n characters of it.
func Short(s string, n int) string {
	line, _, more := strings.Cut(Clean(s), "\n")
	runes := []rune(strings.TrimSpace(line))
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
