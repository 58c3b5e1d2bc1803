package command

import (
	"bufio"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
)

// historyFlags select what became of one item in several tasks.
type historyFlags struct {
	item, kind string
	records    int
	age        string
}

func (f *historyFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.item, "item", "", "what became of this `item`, a text or JSON, in all tasks")
	flags.StringVar(&f.kind, "kind", "", "with --item: only in tasks of this `kind`")
	rowsFlag(c, &f.records, 5, "records, with --item")
	flags.StringVar(&f.age, "age", "", "with --item: only records that are at most so `old`, such as 36h or 7d")
}

// itemHistory writes what became of an item.
func (a *App) itemHistory(ctx context.Context, hasTask bool, f *historyFlags) error {
	if hasTask {
		return usage("--item is about all tasks: leave the task out")
	}
	bounds := taskkit.ItemBounds{Records: f.records}
	if err := checkLimit(f.records); err != nil {
		return err
	}
	if f.age != "" {
		var err error
		if bounds.Age, err = parseAge(f.age); err != nil {
			return usage("--age accepts an age like 36h or 7d, not %q", f.age)
		}
	}
	db, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	records, err := db.ItemHistory(ctx, f.kind, itemOf(f.item), bounds)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(a.out)
	var w itemWriter
	switch a.output {
	case csvFormat:
		w = newItemCSV(out, a.out.Terminal, false)
	case jsonFormat, ndjsonFormat:
		w = itemJSON{newArray(out, a.output)}
	default:
		var rows [][]string
		for i := range records {
			r := &records[i]
			rows = append(rows, []string{r.Task.String(), string(r.Outcome), r.Code, screen.Short(r.Detail, 80), attempt(r), shownTime(r)})
		}
		if rows == nil {
			fmt.Fprintln(a.err, "no records of this item")
			return nil
		}
		a.out.Table([]string{"task", "outcome", "code", "detail", "attempt", "time"}, rows, 4)
		return nil
	}
	for i := range records {
		if err := w.write(&records[i]); err != nil {
			return err
		}
	}
	if err := w.end(); err != nil {
		return err
	}
	return out.Flush()
}
