package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/migrate"
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

// tables is the result of migrate status.
type tables struct {
	Database string `json:"database"`
	Schema   string `json:"schema,omitempty"`
	Have     int64  `json:"have"` // the version of the tables; 0: there are none
	Want     int64  `json:"want"` // the version of the program
	UpToDate bool   `json:"up_to_date"`
}

// tables reads which tables the database has.
func (a *App) tables(ctx context.Context, db *Connection) (found tables, is dialect.Name, err error) {
	found.Database = "the database of the program"
	if a.DB == nil {
		at, err := a.address()
		if err != nil {
			return found, "", err
		}
		found.Database = at.String()
	}
	if is, err = dialect.Detect(ctx, db.DB); err != nil {
		return found, is, err
	}
	if is == dialect.Postgres {
		found.Schema = a.Schema()
	}
	var other *taskkit.SchemaError
	switch err := taskkit.CheckSchema(ctx, db.DB, a.Schema()); {
	case errors.As(err, &other):
		found.Have, found.Want = other.Have, other.Want
	case err != nil:
		return found, is, err
	default:
		found.UpToDate = true
		found.Want, err = migrate.Latest(is)
		found.Have = found.Want
		return found, is, err
	}
	return found, is, nil
}

func (a *App) migrateStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Say which version the tables have", Long: "Say which version the tables have and which one this program needs. It ends with 1 if they differ.",
		Example: "  taskkit migrate status -d postgres://owner@db/app", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			db, err := a.open(c.Context(), false)
			if err != nil {
				return err
			}
			defer db.Close()
			found, _, err := a.tables(c.Context(), db)
			if err != nil {
				return err
			}
			err = a.print(found, func(w io.Writer) {
				where := migrated{Database: found.Database, Schema: found.Schema}.where()
				switch {
				case found.UpToDate:
					fmt.Fprintf(w, "%s is up to date, version %d\n", where, found.Have)
				case found.Have == 0:
					fmt.Fprintf(w, "%s has no tables of taskkit; this program needs version %d: run `%s%s`\n", where, found.Want, a.named("taskkit migrate"), a.flags())
				case found.Have < found.Want:
					fmt.Fprintf(w, "%s has version %d, and this program needs %d: run `%s%s`\n", where, found.Have, found.Want, a.named("taskkit migrate"), a.flags())
				default:
					fmt.Fprintf(w, "%s has version %d, which is newer than this program's %d: use a newer program\n", where, found.Have, found.Want)
				}
			})
			if err == nil && !found.UpToDate {
				return &statusError{code: exitError}
			}
			return err
		},
	}
}

// migrationSQL is the result of migrate sql.
type migrationSQL struct {
	SQL string `json:"sql"`
}

func (a *App) migrateSQLCommand() *cobra.Command {
	var all bool
	c := &cobra.Command{
		Use: "sql", Short: "Print what migrate would execute", Long: `Print the statements that "taskkit migrate" would execute, for people who review them; it prints nothing if the tables
are up to date. Executed by hand they leave out the record of the versions, which is why "taskkit migrate" should execute them.`,
		Example: "  taskkit migrate sql -d postgres://owner@db/app", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			db, err := a.open(c.Context(), false)
			if err != nil {
				return err
			}
			defer db.Close()
			found, is, err := a.tables(c.Context(), db)
			if err != nil {
				return err
			}
			if all {
				found.Have = 0
			}
			text, err := migrate.SQL(is, a.Schema(), max(found.Have, 0))
			if err != nil {
				return err
			}
			return a.print(migrationSQL{string(text)}, func(w io.Writer) { _, _ = w.Write(text) })
		},
	}
	c.Flags().BoolVar(&all, "all", false, "from the beginning, whatever the database has")
	return c
}

func (a *App) migrateCommand() *cobra.Command {
	c := &cobra.Command{
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
			found, _, err := a.tables(c.Context(), db)
			if err != nil {
				return err
			}
			did := migrated{Database: found.Database, Schema: found.Schema}
			switch {
			case found.Have < found.Want:
				if err := taskkit.Migrate(c.Context(), db.DB, a.Schema()); err != nil {
					return err
				}
				did.Changed, did.From, did.To = true, found.Have, found.Want
			case !found.UpToDate:
				return taskkit.CheckSchema(c.Context(), db.DB, a.Schema())
			}
			return a.print(did, func(w io.Writer) { fmt.Fprintln(w, did.sentence()) })
		},
	}
	c.AddCommand(a.migrateStatusCommand(), a.migrateSQLCommand())
	return c
}

// where names the tables.
func (m migrated) where() string {
	if m.Schema != "" {
		return fmt.Sprintf("schema %s of %s", m.Schema, m.Database)
	}
	return m.Database
}

func (m migrated) sentence() string {
	where := m.where()
	switch {
	case !m.Changed:
		return where + " is up to date"
	case m.From == 0:
		return fmt.Sprintf("%s: created taskkit's tables, version %d", where, m.To)
	default:
		return fmt.Sprintf("%s: updated from version %d to %d", where, m.From, m.To)
	}
}
