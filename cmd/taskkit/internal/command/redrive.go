package command

import (
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit/intake"
)

// momentFlag is a time in RFC 3339, or how long ago it was.
type momentFlag struct {
	time.Time

	text string
}

func (f *momentFlag) Set(text string) error {
	f.text = text
	if age, err := parseAge(text); err == nil && age > 0 {
		f.Time = time.Now().Add(-age)
		return nil
	}
	var err error
	if f.Time, err = time.Parse(time.RFC3339, text); err != nil {
		return fmt.Errorf("%q is neither a time like 2026-03-01T06:00:00Z nor an age like 36h or 7d", text)
	}
	return nil
}

func (f *momentFlag) String() string { return f.text }

func (*momentFlag) Type() string { return "time" }

// refusedFlags select refused messages.
type refusedFlags struct {
	intake.RefusedFilter

	codes        []string
	since, until momentFlag
}

func (f *refusedFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&f.Source, "source", "", "`name` of the source in its consumer")
	flags.StringSliceVar(&f.codes, "code", nil, "only messages that were refused with these `codes`")
	flags.StringArrayVar(&f.IDs, "id", nil, "only the message with this `id`; may be repeated")
	flags.Var(&f.since, "since", "only messages refused at this `time` or later, or at most so long ago, such as 36h or 7d")
	flags.Var(&f.until, "until", "only messages refused before this `time`, or longer ago")
}

// filter returns the filter. By reports whether it selects by more than the source.
func (f *refusedFlags) filter() (filter intake.RefusedFilter, by bool, err error) {
	if f.Source == "" {
		return f.RefusedFilter, false, usage("--source is missing: give the name of the source in its consumer, such as registrar")
	}
	for _, code := range f.codes {
		f.Codes = append(f.Codes, intake.Code(code))
	}
	f.From, f.To = f.since.Time, f.until.Time
	return f.RefusedFilter, f.Codes != nil || f.IDs != nil || !f.From.IsZero() || !f.To.IsZero(), nil
}

// intakeCommand has the commands for messages. The program taskkit adds the consumer of its demonstration.
func (a *App) intakeCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "intake", Short: "List refused messages and give them back", Long: "List messages that could not become a task, and give them back to be taken in anew.",
		Example: "  taskkit intake refused --source registrar",
		Args:    noArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.refusedCommand(), a.redriveCommand())
	return c
}

func (a *App) refusedCommand() *cobra.Command {
	var (
		f      refusedFlags
		limit  int
		before string
	)
	c := with(listFormats, &cobra.Command{
		Use:   "refused --source NAME",
		Short: "List refused messages, newest first",
		Long: `List messages of a source that could not become a task, newest first. A message that was not
kept whole can only be taken in again when the broker delivers it again: see taskkit intake redrive.`,
		Example: `  taskkit intake refused --source registrar --since 24h
  taskkit intake refused --source registrar --code gave_up -n 100 -o json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			filter, _, err := f.filter()
			if err != nil {
				return err
			}
			if err := checkLimit(limit); err != nil {
				return err
			}
			after := uuid.Nil
			if before != "" {
				if after, err = uuid.Parse(before); err != nil {
					return usage("--before accepts a row of this list, not %q", before)
				}
			}
			db, err := a.Connect(c.Context())
			if err != nil {
				return err
			}
			defer db.Close()
			refused, err := intake.Refused(c.Context(), db.DB, a.Schema(), filter, after, limit)
			if err != nil {
				return err
			}
			if len(refused) == limit {
				fmt.Fprintf(a.err, "there may be more: use --before %s\n", refused[len(refused)-1].Row)
			}
			return printList(a, refused, list[intake.RefusedMessage]{
				none:   "no refused messages",
				name:   func(m intake.RefusedMessage) string { return m.ID },
				header: []string{"refused", "id", "code", "kept", "detail", "note"},
				row: func(m intake.RefusedMessage) []string {
					kept := "whole"
					if !m.Whole {
						kept = "in part"
					}
					return []string{m.Created.UTC().Format(time.RFC3339), screen.Short(m.ID, 40), string(m.Code), kept, screen.Short(m.Detail, 80), refusedNote(m)}
				},
			})
		},
	})
	f.add(c)
	rowsFlag(c, &limit, 20, "messages")
	c.Flags().StringVar(&before, "before", "", "only messages before this `row` of the list")
	return c
}

// refusedNote says what has been done about a message.
func refusedNote(m intake.RefusedMessage) string {
	note := ""
	if !m.Redriven.IsZero() {
		note = "redriven " + m.Redriven.UTC().Format(time.RFC3339) + " and refused again"
	}
	if m.DeadLetterError != "" {
		if note != "" {
			note += "; "
		}
		note += "no dead letter: " + screen.Short(m.DeadLetterError, 60)
	}
	return note
}

func (a *App) redriveCommand() *cobra.Command {
	var (
		f   refusedFlags
		who auditFlags
		all bool
	)
	c := &cobra.Command{
		Use:   "redrive --source NAME",
		Short: "Give refused messages back, to be taken in anew",
		Long: `Give refused messages back, for example after the program has been mended. The consumer of the source
takes each in once more within half a minute. A message that was not kept whole (taskkit intake
refused) is taken in when the broker delivers it again, for example from its dead letters; until
then it is no duplicate.`,
		Example: `  taskkit intake redrive --source registrar --code gave_up --since 2h --reason "the directory is back"
  taskkit intake redrive --source registrar --id m4711`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			filter, by, err := f.filter()
			if err != nil {
				return err
			}
			if by == all {
				return usage("give --code, --id, --since or --until, or --all for all refused messages of the source")
			}
			db, err := a.Connect(c.Context())
			if err != nil {
				return err
			}
			defer db.Close()
			done, err := intake.Redrive(c.Context(), db.DB, a.Schema(), filter, who.options()...)
			if err != nil && done.Messages > 0 {
				return fmt.Errorf("after %s were given back: %w", messageCount(done.Messages), err)
			}
			if err != nil {
				return err
			}
			return a.print(done, func(w io.Writer) {
				fmt.Fprintf(w, "%s given back\n", messageCount(done.Messages))
				if done.Partial > 0 {
					fmt.Fprintf(w, "not kept whole: %s; let the broker deliver what it has of them again\n", messageCount(done.Partial))
				}
			})
		},
	}
	f.add(c)
	c.Flags().BoolVar(&all, "all", false, "all refused messages of the source")
	who.add(c, "with the messages")
	return c
}

// messageCount is a number of messages in words.
func messageCount(n int) string {
	if n == 1 {
		return "1 message"
	}
	return screen.Count(int64(n)) + " messages"
}
