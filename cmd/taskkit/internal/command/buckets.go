package command

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/internal/csvcell"
	"taskkit.dev/taskkit"
)

func (a *App) bucketsCommand() *cobra.Command {
	return with(itemFormats, &cobra.Command{
		Use:   "buckets TASK",
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
	})
}

// buckets writes the report in the chosen format. A table has fewer columns.
func (a *App) buckets(ctx context.Context, db *Connection, id taskkit.ID) error {
	out := bufio.NewWriter(a.out)
	var err error
	switch {
	case a.output == jsonFormat, a.output == ndjsonFormat:
		err = bucketsJSON(ctx, db, id, out, a.output)
	case a.output == csvFormat && !a.out.Terminal:
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
		case a.output == csvFormat && !end:
			_ = w.Write(line) // Error returns its error
		case a.output == csvFormat:
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

// skippedBucket is a bucket that was not submitted, since its condition left it out.
type skippedBucket struct {
	Bucket  int64  `json:"bucket"`
	Segment string `json:"segment"`
	Status  string `json:"status"` // SKIPPED
	Code    string `json:"code,omitempty"`
}

// bucketsJSON writes the buckets as the API returns them, and between them those that were skipped.
func bucketsJSON(ctx context.Context, db *Connection, id taskkit.ID, out io.Writer, format string) error {
	from, to := io.Pipe()
	defer from.Close() // so that the writer ends
	go func() { to.CloseWithError(db.WriteBuckets(ctx, id, to)) }()
	report := csv.NewReader(from)
	w := newArray(out, format)
	var page []*taskkit.Child
	after := taskkit.ID{}
	for first := true; ; first = false {
		line, err := report.Read()
		switch {
		case errors.Is(err, io.EOF):
			return w.end()
		case err != nil:
			return err
		case first: // the header
			continue
		}
		number, err := strconv.ParseInt(line[0], 10, 64)
		if err != nil {
			return err
		}
		if line[3] == "SKIPPED" {
			if err := w.add(skippedBucket{number, csvcell.Read(line[2]), line[3], csvcell.Read(line[len(line)-1])}); err != nil {
				return err
			}
			continue
		}
		if len(page) == 0 {
			if page, err = db.Children(ctx, id, after, tableRows); err != nil {
				return err
			}
			if len(page) == 0 { // the report has read one that has come since
				return w.end()
			}
			after = page[len(page)-1].ID
		}
		if err := w.add(operatorsChild(page[0])); err != nil {
			return err
		}
		page = page[1:]
	}
}
