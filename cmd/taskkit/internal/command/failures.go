package command

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"taskkit.dev/taskkit"
)

// failureFlags select failed items of several tasks.
type failureFlags struct {
	together     bool
	kind         string
	codes, items []string
	since, until momentFlag
	owner, runAs personFlag
}

func (f *failureFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.BoolVar(&f.together, "together", false, "submit one new task over the items of all tasks")
	flags.StringVar(&f.kind, "kind", "", "all tasks of this `kind`, with --since")
	flags.StringSliceVar(&f.codes, "code", nil, "only items that failed with these `codes`")
	flags.StringArrayVar(&f.items, "item", nil, "only this `item`, a text or JSON; may be repeated")
	flags.Var(&f.since, "since", "only items that failed at this `time` or later, or at most so long ago, such as 36h or 7d")
	flags.Var(&f.owner, "owner", "person to whom the new task belongs, if the tasks have several owners")
	flags.Var(&f.runAs, "run-as", "person as whom the new task executes, if the tasks do so as several")
	flags.Var(&f.until, "until", "only items that failed before this `time`, or longer ago")
}

// given reports whether a flag selects items.
func (f *failureFlags) given() bool {
	return f.together || f.owner.String()+f.runAs.String() != "" || f.kind != "" || len(f.codes)+len(f.items) > 0 || !f.since.IsZero() || !f.until.IsZero()
}

// itemOf returns the item that a text names: JSON as it is, and any other text as a string.
func itemOf(text string) any {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}

// retrySelected submits one task over failed items of several.
func (a *App) retrySelected(ctx context.Context, args []string, f *failureFlags, opts []taskkit.SubmitOption) error {
	db, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	selected := taskkit.Failures{Kind: f.kind, Codes: f.codes, From: f.since.Time, To: f.until.Time}
	for _, text := range f.items {
		selected.Items = append(selected.Items, itemOf(text))
	}
	for _, text := range args {
		t, err := db.find(ctx, text)
		if err != nil {
			return err
		}
		selected.Tasks = append(selected.Tasks, t.ID)
	}
	if f.owner.String() != "" {
		opts = append(opts, f.owner.owns())
	}
	if f.runAs.String() != "" {
		opts = append(opts, taskkit.RunAs(f.runAs.UUID))
	}
	id, err := db.RetrySelected(ctx, selected, opts...)
	if err != nil {
		return err
	}
	return a.printMade(ctx, db, id, func(made *taskkit.Task) string { return fmt.Sprintf("retries %d failed items", made.Progress.Total) })
}
