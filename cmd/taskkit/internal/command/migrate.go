package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/taskkit"
)

// migrated is the result of migrate.
type migrated struct {
	Database string `json:"database"`
	Schema   string `json:"schema,omitempty"`
	Changed  bool   `json:"changed"`
	From     int64  `json:"from,omitempty"` // 0: there were no tables
	To       int64  `json:"to,omitempty"`   // set when Changed
}

func (a *App) migrateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "migrate",
		Short: "Create or update taskkit's tables",
		Long: `Create or update taskkit's tables. It is safe to run it again, and to run several
at once. On PostgreSQL it needs the right to create tables. A missing SQLite file
is created.`,
		Example: `  taskkit migrate -d postgres://owner@db/app
  taskkit migrate -d tasks.db`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			db, err := a.open(c.Context(), true)
			if err != nil {
				return err
			}
			defer db.Close()
			did := migrated{Database: "the database of the program"}
			if at, err := a.address(); a.DB == nil && err == nil {
				did.Database = at.String()
			}
			is, err := dialect.Detect(c.Context(), db.DB)
			if err != nil {
				return err
			}
			if is == dialect.Postgres {
				did.Schema = a.Schema()
			}
			var behind *taskkit.SchemaError
			err = taskkit.CheckSchema(c.Context(), db.DB, a.Schema())
			switch {
			case errors.As(err, &behind) && behind.Behind():
				if err := taskkit.Migrate(c.Context(), db.DB, a.Schema()); err != nil {
					return err
				}
				did.Changed, did.From, did.To = true, behind.Have, behind.Want
			case err != nil:
				return err
			}
			return a.print(did, func(w io.Writer) { fmt.Fprintln(w, did.sentence()) })
		},
	}
}

func (m migrated) sentence() string {
	where := m.Database
	if m.Schema != "" {
		where = fmt.Sprintf("schema %s of %s", m.Schema, where)
	}
	switch {
	case !m.Changed:
		return where + " is up to date"
	case m.From == 0:
		return fmt.Sprintf("%s: created taskkit's tables, version %d", where, m.To)
	default:
		return fmt.Sprintf("%s: updated from version %d to %d", where, m.From, m.To)
	}
}
