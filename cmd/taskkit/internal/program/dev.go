package program

import (
	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/command"
	"taskkit.dev/cmd/taskkit/internal/dev"
	"taskkit.dev/internal/dialect"
)

// fewestPeople are enough for a change that fails for some of them after its canary.
const fewestPeople = 10

func (p *program) devCommand() *cobra.Command {
	var (
		o    dev.Options
		hook webhookFlags
	)
	c := &cobra.Command{
		Use:   "dev",
		Short: "Run the demonstration: bulk actions, killed workers, a preview, a report",
		Long: `Run the demonstration. It generates people, starts workers and a mail server, runs
five bulk actions for everybody, two of them in buckets, kills a worker in the middle, and
checks that nobody was processed twice or missed. Then it reconciles the statuses with a
registrar's file, in stages, and kills a worker in the middle of its buckets. Then it changes the status of everybody in a
program: it previews the change and checks that no row has changed, changes 10
people, lets a second person approve the others, and retries the 25 for whom it has
failed. Nothing needs to be installed.

It serves the actions over HTTP on an address of this machine, without asking who makes
a request, and starts and awaits the export so.

By default it uses an SQLite file in a temporary directory; -d names another file,
which is kept, or a PostgreSQL database (DATABASE_URL is ignored). On PostgreSQL
each run creates a schema and removes it at the end. With --schema, taskkit's
tables are created in that schema and kept. Everything is kept when a check fails,
or with --keep.`,
		Example: `  taskkit dev
  taskkit dev --exit --people-count 100000
  taskkit dev --exit -d postgres://me@localhost/test --workers 3 --kills 2`,
		Args: command.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if c.Flags().Changed("workers") && o.Workers < 1 {
				return command.Usage("--workers accepts 1 to 50, not %d", o.Workers)
			}
			if err := p.target(&o); err != nil {
				return err
			}
			var err error
			if o.Webhook, err = hook.webhook(); err != nil {
				return err
			}
			switch {
			case c.Flags().Changed("people") && c.Flags().Changed("people-count"):
				return command.Usage("--people uses everybody in the file: omit --people-count")
			case o.People < fewestPeople || o.People > 1_000_000:
				return command.Usage("--people-count accepts 10 to 1,000,000, not %d", o.People)
			case o.Workers > 50:
				return command.Usage("--workers accepts 1 to 50, not %d", o.Workers)
			case o.Kills < 0 || o.Kills > dev.MaxKills:
				return command.Usage("--kills accepts 0 to %d, not %d", dev.MaxKills, o.Kills)
			case o.Listen != "" && checkLoopback(o.Listen) != nil:
				return checkLoopback(o.Listen)
			case p.JSON():
				return command.Usage("dev has no JSON output: omit -o json")
			}
			o.Out, o.Schema = p.Out(), p.GivenSchema()
			return dev.Run(c.Context(), o)
		},
	}
	flags := c.Flags()
	flags.StringVarP(p.URL(), "database-url", "d", "", "a postgres:// `URL`, or the path of an SQLite file, which is kept")
	flags.IntVar(&o.People, "people-count", 10_000, "`number` of people to generate")
	flags.Uint64Var(&o.Seed, "seed", 1, "`seed` of the generated people")
	flags.StringVar(&o.File, "people", "", "import people from a CSV `file` with the columns school_id, first_name, last_name, coach")
	flags.IntVar(&o.Workers, "workers", 0, "`number` of worker processes (default 2 on SQLite, 3 on PostgreSQL)")
	flags.IntVar(&o.Kills, "kills", 1, "`number` of workers to kill during the first five actions; one more is killed after them")
	flags.StringVar(&o.Listen, "listen", "", "`address` of this machine on which the actions are served over HTTP (default a free port)")
	flags.BoolVar(&o.Exit, "exit", false, "exit after the report, with status 0 if every check passed")
	flags.BoolVar(&o.Keep, "keep", false, "keep the database, the exported file and the workers' logs")
	hook.add(c)
	return c
}

// target sets the database to run on and the default number of workers.
func (p *program) target(o *dev.Options) error {
	if text := *p.URL(); text != "" {
		var err error
		if o.At, err = command.ParseAddress(text); err != nil {
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
