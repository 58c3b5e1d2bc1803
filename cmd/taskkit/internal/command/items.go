package command

import (
	"bufio"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/internal/csvcell"
	"taskkit.dev/taskkit"
)

func (a *App) itemsCommand() *cobra.Command {
	all := [...]taskkit.Outcome{
		taskkit.OutcomeFailed, taskkit.OutcomeSkipped, taskkit.OutcomeDeferred, taskkit.OutcomeSucceeded, taskkit.OutcomeUnprocessed,
	}
	var (
		chosen  [len(all)]bool
		named   []string
		history historyFlags
	)
	c := with(itemFormats, &cobra.Command{
		Use:   "items [TASK]",
		Short: "List the items of a task",
		Long: `List the items of a task by their outcome, in the order of its list. Without a flag, the
failed ones come first and the skipped ones follow. Deferred ones will be tried again. Only
a task whose kind names its list with targets= has unprocessed ones, and only such a task
or one whose kind has the word ledger has succeeded ones.

With -o csv, the columns are item, outcome, code, detail, position, attempt, time, stage,
task and source. Stage and task name the stage and the child that have an item, and source the
task that an item of "taskkit retry-failed --together" is from.
An item that is a string is written without quotes of its own, and any other item as JSON.
With --failed alone there is also an empty column, corrected, to be filled for
"taskkit retry-failed --corrected". The list may have any length: the command writes it while it reads it.

With --item, and without a task, list what became of one item in all tasks, or in the tasks of
--kind, the newest first: where it failed, was skipped or is deferred. There are at most 5
records, and 3 of a task; -n and --age change that.`,
		Example: `  taskkit items @last --failed
  taskkit items --item 7 --kind send_mail
  taskkit items 8057 --failed -o csv > failed.csv`,
		Args: func(c *cobra.Command, args []string) error {
			if history.item != "" && len(args) == 0 {
				return nil
			}
			return taskArgs(1)(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if history.item != "" {
				return a.itemHistory(c.Context(), len(args) > 0, &history)
			}
			var outcomes []taskkit.Outcome
			for _, name := range named {
				if i := slices.Index(all[:], taskkit.Outcome(name)); i >= 0 {
					chosen[i] = true
					continue
				}
				return usage("there is no outcome %q: use %s", screen.Clean(name), joined(all[:]))
			}
			for i, o := range all {
				if chosen[i] {
					outcomes = append(outcomes, o)
				}
			}
			if len(outcomes) == 0 {
				outcomes = all[:2]
			}
			return a.on(c, args[0], func(db *Connection, t *taskkit.Task) error {
				return a.items(c.Context(), db, t.ID, outcomes)
			})
		},
	})
	for i, o := range all {
		c.Flags().BoolVar(&chosen[i], string(o), false, "short for --outcome "+string(o))
	}
	c.Flags().StringSliceVar(&named, "outcome", nil, "list items with these `outcomes`: "+joined(all[:]))
	_ = c.RegisterFlagCompletionFunc("outcome", cobra.FixedCompletions(strings.Split(joined(all[:]), ", "), cobra.ShellCompDirectiveNoFileComp))
	history.add(c)
	return c
}

// itemFormats are the formats of lists that may have any length.
const itemFormats = tableFormat + " " + jsonFormat + " " + ndjsonFormat + " " + csvFormat

// itemWriter writes items one by one, in one of the formats.
type itemWriter interface {
	write(i *taskkit.Item) error
	// end writes what is left.
	end() error
}

// items writes the items of a task while it reads them.
func (a *App) items(ctx context.Context, db *Connection, id taskkit.ID, outcomes []taskkit.Outcome) error {
	out := bufio.NewWriter(a.out)
	var w itemWriter
	switch a.output {
	case csvFormat:
		w = newItemCSV(out, a.out.Terminal, len(outcomes) == 1 && outcomes[0] == taskkit.OutcomeFailed)
	case jsonFormat, ndjsonFormat:
		w = itemJSON{newArray(out, a.output)}
	default:
		w = &itemTable{out: a.out, err: a.err, header: []string{"item", "outcome", "code", "detail", "position", "attempt", "time"}}
	}
	for _, o := range outcomes {
		for i, err := range db.Items(ctx, id, o) {
			if err == nil {
				err = w.write(&i)
			}
			if err != nil {
				_ = out.Flush() // what was read is written; the error says that it is not all
				return err
			}
		}
	}
	if err := w.end(); err != nil {
		return err
	}
	return out.Flush()
}

// itemCSV writes items as CSV.
type itemCSV struct {
	*csv.Writer

	terminal    bool // control characters are replaced
	correctable bool // there is a column for what an item is corrected to
}

func newItemCSV(out io.Writer, terminal, correctable bool) *itemCSV {
	w := &itemCSV{csv.NewWriter(out), terminal, correctable}
	header := []string{"item", "outcome", "code", "detail", "position", "attempt", "time", "stage", "task", "source"}
	if correctable {
		header = append(header, "corrected")
	}
	_ = w.Write(header) // end returns its error
	return w
}

func (w *itemCSV) write(i *taskkit.Item) error {
	row := []string{
		csvcell.Write(i.Text()), string(i.Outcome), csvcell.Write(i.Code), csvcell.Write(i.Detail), position(i), attempt(i), recorded(i),
		csvcell.Write(i.Stage), idOrNone(i.Task), idOrNone(i.Source),
	}
	if w.correctable {
		row = append(row, "")
	}
	if w.terminal {
		for n := range row {
			row[n] = screen.Clean(row[n])
		}
	}
	return w.Write(row)
}

func (w *itemCSV) end() error {
	w.Flush()
	return w.Error()
}

// itemJSON writes items as an array.
type itemJSON struct{ *array }

func (w itemJSON) write(i *taskkit.Item) error { return w.add(i) }

// tableRows is how many rows a table aligns at once.
const tableRows = 1000

// itemTable writes items as a table.
type itemTable struct {
	out, err screen.Screen
	header   []string // until it is written
	rows     [][]string
}

func (w *itemTable) write(i *taskkit.Item) error {
	w.rows = append(w.rows, []string{
		screen.Short(i.Text(), 60), string(i.Outcome), i.Code, screen.Short(i.Detail, 80),
		position(i), attempt(i), shownTime(i),
	})
	if len(w.rows) == tableRows {
		w.flush()
	}
	return nil
}

func (w *itemTable) flush() {
	w.out.Table(w.header, w.rows, 5, 6)
	w.header, w.rows = nil, w.rows[:0]
}

func (w *itemTable) end() error {
	switch {
	case len(w.rows) > 0:
		w.flush()
	case w.header != nil:
		fmt.Fprintln(w.err, "no items")
	}
	return nil
}

// idOrNone is the id of a task; empty for none.
func idOrNone(id taskkit.ID) string {
	if id == (taskkit.ID{}) {
		return ""
	}
	return id.String()
}

// attempt, recorded and shownTime are empty if they were not stored.
func attempt(i *taskkit.Item) string {
	if i.Attempt == 0 {
		return ""
	}
	return strconv.Itoa(i.Attempt)
}

func recorded(i *taskkit.Item) string {
	if i.Created.IsZero() {
		return ""
	}
	return i.Created.UTC().Format(time.RFC3339Nano)
}

func shownTime(i *taskkit.Item) string {
	if i.Created.IsZero() {
		return ""
	}
	return screen.Time(i.Created)
}

// position formats a position in the list; it is empty if unknown.
func position(i *taskkit.Item) string {
	if i.Position == 0 {
		return ""
	}
	return strconv.FormatInt(i.Position, 10)
}
