package command

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
)

func (a *App) bucketsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   bucketsName + " TASK",
		Short: "Report the buckets of a task",
		Long: `Report the buckets of a task: number, segment, status, items, times and skew, which is the
duration of a bucket divided by the mean of those that have ended. Buckets that have not been
submitted yet are not listed. With -o csv or json the list may have any length: the command
writes it while it reads it.`,
		Example: `  taskkit buckets @last
  taskkit buckets 8057 -o csv > buckets.csv`,
		Args: taskArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.on(c, args[0], func(db *Connection, t *taskkit.Task) error {
				return a.buckets(c.Context(), db, t.ID)
			})
		},
	}
}

// buckets writes the report in the chosen format. A table has fewer columns.
func (a *App) buckets(ctx context.Context, db *Connection, id taskkit.ID) error {
	out := bufio.NewWriter(a.out)
	var err error
	switch {
	case a.output == jsonFormat:
		err = bucketsJSON(ctx, db, id, out)
	case a.output == "csv" && !a.out.Terminal:
		err = db.WriteBuckets(ctx, id, out)
	default:
		err = a.bucketsRead(ctx, db, id, out)
	}
	// What was read is written; an error says that it is not all.
	return errors.Join(err, out.Flush())
}

// bucketsRead writes the report for people, in which control characters are replaced.
func (a *App) bucketsRead(ctx context.Context, db *Connection, id taskkit.ID, out io.Writer) error {
	from, to := io.Pipe()
	defer from.Close() // so that the writer ends
	go func() { to.CloseWithError(db.WriteBuckets(ctx, id, to)) }()
	report := csv.NewReader(from)
	w := csv.NewWriter(out)
	var header []string
	var rows [][]string
	for n := 0; ; n++ {
		line, err := report.Read()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		end := err != nil
		for i := range line {
			line[i] = screen.Clean(line[i])
		}
		switch {
		case a.output == "csv" && !end:
			_ = w.Write(line) // Error returns its error
		case a.output == "csv":
			w.Flush()
			return w.Error()
		case n == 0:
			header = bucketRow(line)
		case !end:
			rows = append(rows, bucketRow(line))
		}
		if len(rows) == tableRows || end {
			a.out.Table(header, rows, 1, 4, 5, 6, 7, 8)
			header, rows = nil, rows[:0]
		}
		if end {
			return nil
		}
	}
}

// bucketRow returns the columns of a line of the report that a table has.
func bucketRow(l []string) []string {
	return []string{l[0], screen.Short(l[2], 60), l[3], l[6], l[7], l[8], l[11], l[12], l[1]}
}

// bucketsJSON writes the buckets as the API returns them. A task without buckets has none.
func bucketsJSON(ctx context.Context, db *Connection, id taskkit.ID, out io.Writer) error {
	w := newArray(out)
	for after := (taskkit.ID{}); ; {
		page, err := db.Children(ctx, id, after, tableRows)
		if err != nil {
			return err
		}
		for _, child := range page {
			after = child.ID
			if child.Bucket == 0 {
				continue
			}
			if err := w.add(operatorsChild(child)); err != nil {
				return err
			}
		}
		if len(page) < tableRows {
			return w.end()
		}
	}
}
