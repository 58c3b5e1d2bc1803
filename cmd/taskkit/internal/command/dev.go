package command

import (
	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/database"
	"taskkit.dev/cmd/taskkit/internal/dev"
	"taskkit.dev/internal/dialect"
)

func (a *app) devCommand() *cobra.Command {
	var (
		o    dev.Options
		file string
	)
	c := &cobra.Command{
		Use:   "dev",
		Short: "Run the demonstration: five bulk actions, workers that are killed, a report",
		Long: `Run the demonstration: make up people, start workers and a mail server, have five
bulk actions done to everybody, kill a worker in the middle, and show that nobody
was dealt with twice or not at all. Nothing needs to be installed.

It runs on an SQLite file in a temporary directory, or the one that --database
names; with -d on PostgreSQL (DATABASE_URL is ignored here). There it makes a new
schema for each run, which it removes at the end; with --schema taskkit's own
tables go there and stay. What it made by itself stays when a check fails, and
with --keep.`,
		Example: `  taskkit dev
  taskkit dev --exit --people-count 100000
  taskkit dev --exit -d postgres://me@localhost/test --workers 3 --kills 2`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("workers") && o.Workers < 1 {
				return usage("--workers takes 1 to 50, not %d", o.Workers)
			}
			if err := a.place(&o, file); err != nil {
				return err
			}
			switch {
			case c.Flags().Changed("people") && c.Flags().Changed("people-count"):
				return usage("--people takes everybody in the file: leave out --people-count")
			case o.People < 1 || o.People > 1_000_000:
				return usage("--people-count takes 1 to 1,000,000, not %d", o.People)
			case o.Workers > 50:
				return usage("--workers takes 1 to 50, not %d", o.Workers)
			case o.Kills < 0 || o.Kills > dev.MaxKills:
				return usage("--kills takes 0 to %d, not %d", dev.MaxKills, o.Kills)
			case a.output == "json":
				return usage("dev writes for people only: leave out -o json")
			}
			o.Out, o.Schema = a.out, a.schema
			return dev.Run(c.Context(), o)
		},
	}
	flags := c.Flags()
	flags.StringVar(&file, "database", "", "run on this SQLite `file`, and leave it there")
	flags.IntVar(&o.People, "people-count", 10_000, "make up so many people")
	flags.Uint64Var(&o.Seed, "seed", 1, "make up others")
	flags.StringVar(&o.File, "people", "", "take the people of a CSV `file` with the columns school_id, first_name, last_name, coach")
	flags.IntVar(&o.Workers, "workers", 0, "so many worker processes (default 2 on SQLite, 3 on PostgreSQL)")
	flags.IntVar(&o.Kills, "kills", 1, "kill so many of them")
	flags.BoolVar(&o.Exit, "exit", false, "end with the report: status 0 when every check holds")
	flags.BoolVar(&o.Keep, "keep", false, "keep the database, the exported file and the workers' logs")
	return c
}

// place finds out where to run, and with how many workers.
func (a *app) place(o *dev.Options, file string) error {
	text := a.url
	if file != "" {
		if a.url != "" {
			return usage("--database and -d name two databases: give one")
		}
		if at, err := database.Parse(file); err == nil && at.Dialect == dialect.Postgres {
			return usage("--database takes an SQLite file: use -d for PostgreSQL")
		}
		text = file
	}
	if text != "" {
		var err error
		if o.At, err = parseAddress(text); err != nil {
			return err
		}
	}
	if o.Workers == 0 {
		o.Workers = 2
		if o.At.Dialect == dialect.Postgres {
			o.Workers = 3
		}
	}
	return nil
}
