package command

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/internal/csvcell"
)

// The formats of output.
const (
	tableFormat  = "table"
	jsonFormat   = "json"
	ndjsonFormat = "ndjson" // a value on each line
	csvFormat    = "csv"
	nameFormat   = "name" // what other commands take as an argument
)

// The annotation outputsOf has the formats of a command, separated by spaces. Without it they are table and json.
const (
	outputsOf   = "outputs"
	listFormats = tableFormat + " " + jsonFormat + " " + ndjsonFormat + " " + nameFormat
	rowFormats  = listFormats + " " + csvFormat
)

// formats returns the formats of a command.
func formats(c *cobra.Command) []string {
	if text := c.Annotations[outputsOf]; text != "" {
		return strings.Fields(text)
	}
	return []string{tableFormat, jsonFormat}
}

// with gives a command formats.
func with(formats string, c *cobra.Command) *cobra.Command {
	if c.Annotations == nil {
		c.Annotations = make(map[string]string)
	}
	c.Annotations[outputsOf] = formats
	return c
}

// checkOutput refuses a format that the command has not got.
func (a *App) checkOutput(c *cobra.Command) error {
	if all := formats(c); !slices.Contains(all, a.output) {
		return usage("-o accepts %s here, not %q", strings.Join(all[:len(all)-1], ", ")+" or "+all[len(all)-1], a.output)
	}
	return nil
}

// line writes a value on one line, for programs.
func (a *App) line(v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s\n", screen.Escape(text))
	return err
}

// print writes a result in the format of -o. What has a name is printed with printNamed.
func (a *App) print(v any, table func(w io.Writer)) error { return a.printNamed("", v, table) }

// printNamed writes a result that has a name.
func (a *App) printNamed(name string, v any, table func(w io.Writer)) error {
	switch a.output {
	case jsonFormat:
		return screen.JSON(a.out, v)
	case ndjsonFormat:
		return a.line(v)
	case nameFormat:
		_, err := fmt.Fprintln(a.out, screen.Clean(name))
		return err
	}
	table(a.out)
	return nil
}

// list is how a list is printed.
type list[T any] struct {
	none    string         // printed instead of an empty table; "": nothing is
	name    func(T) string // see nameFormat
	header  []string
	numbers []int // the columns that are numbers, from 1
	row     func(T) []string
	// csvHeader and csvRow are for csvFormat, of commands that have it.
	csvHeader []string
	csvRow    func(T) []string
}

// printList writes a list in the format of -o.
func printList[T any](a *App, values []T, l list[T]) error {
	switch a.output {
	case jsonFormat:
		if values == nil {
			values = []T{}
		}
		return screen.JSON(a.out, values)
	case ndjsonFormat:
		for _, v := range values {
			if err := a.line(v); err != nil {
				return err
			}
		}
		return nil
	case nameFormat:
		for _, v := range values {
			fmt.Fprintln(a.out, screen.Clean(l.name(v)))
		}
		return nil
	case csvFormat:
		w := csv.NewWriter(a.out)
		_ = w.Write(l.csvHeader) // Error returns its error
		for _, v := range values {
			row := l.csvRow(v)
			for i, cell := range row {
				if row[i] = csvcell.Write(cell); a.out.Terminal {
					row[i] = screen.Clean(row[i])
				}
			}
			_ = w.Write(row)
		}
		w.Flush()
		return w.Error()
	}
	if len(values) == 0 {
		if l.none != "" {
			fmt.Fprintln(a.err, l.none)
		}
		return nil
	}
	rows := make([][]string, len(values))
	for i, v := range values {
		rows[i] = l.row(v)
	}
	a.out.Table(l.header, rows, l.numbers...)
	return nil
}

// mostRows is the greatest value of --limit.
const mostRows = 1000

// rowsFlag adds the flag for how many rows a command writes.
func rowsFlag(c *cobra.Command, to *int, most int, what string) {
	c.Flags().IntVarP(to, "limit", "n", most, fmt.Sprintf("greatest `number` of %s, 1 to %d", what, mostRows))
}

func checkLimit(n int) error {
	if n < 1 || n > mostRows {
		return usage("--limit accepts 1 to %d, not %d", mostRows, n)
	}
	return nil
}
