package command

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/database"
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

func (a *app) migrateCommand() *cobra.Command {
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
			at, db, err := a.open(c.Context(), true)
			if err != nil {
				return err
			}
			defer db.Close()
			did := migrated{Database: at.String()}
			if at.Dialect == dialect.Postgres {
				did.Schema = a.schemaName()
			}
			var behind *taskkit.SchemaError
			err = taskkit.CheckSchema(c.Context(), db, a.schemaName())
			switch {
			case errors.As(err, &behind) && behind.Behind():
				if err := taskkit.Migrate(c.Context(), db, a.schemaName()); err != nil {
					return err
				}
				did.Changed, did.From, did.To = true, behind.Have, behind.Want
			case err != nil:
				return err
			}
			return a.print(did, func(w io.Writer) { fmt.Fprintln(w, did.sentence(at)) })
		},
	}
}

func (m migrated) sentence(at database.Address) string {
	where := at.String()
	if m.Schema != "" {
		where = fmt.Sprintf("schema %s of %s", m.Schema, at)
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
