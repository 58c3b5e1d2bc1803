package dev

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"taskkit.dev/cmd/taskkit/internal/database"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/taskkit"
)

// workspace is the database and the directory of a demonstration.
type workspace struct {
	database.Address
	db *sql.DB
	// schema is the schema of taskkit's tables. On PostgreSQL domain is the schema of
	// the people, new in every run, so that runs do not affect each other.
	schema, domain string
	// queue is the queue of this run's tasks: its workers do not run tasks that
	// an earlier run left in the same schema.
	queue string
	// dir contains the exported files, the workers' logs, and the SQLite file
	// unless one was named.
	dir string
}

// prepare opens the database and creates the tables.
func prepare(ctx context.Context, o Options) (*workspace, error) {
	name := "taskkit_dev_" + strings.ToLower(rand.Text()[:8])
	dir, err := os.MkdirTemp("", "taskkit-dev-")
	if err != nil {
		return nil, fmt.Errorf("create a directory for the demonstration: %w", err)
	}
	p := &workspace{Address: o.At, schema: o.Schema, queue: name, dir: dir}
	if err := p.fill(ctx, name); err != nil {
		return nil, errors.Join(err, p.remove(Options{}, nil))
	}
	return p, nil
}

// fill opens the database and creates the tables; name names what is new.
func (p *workspace) fill(ctx context.Context, name string) (err error) {
	if err := os.Mkdir(p.files(), 0o700); err != nil {
		return err
	}
	if p.Dialect == "" {
		if p.Address, err = database.Parse(filepath.Join(p.dir, "dev.db")); err != nil {
			return err
		}
	}
	if p.Dialect == dialect.Postgres {
		p.domain = name
	}
	if p.schema == "" {
		p.schema = name
	}
	p.db, err = p.Open(ctx, database.Options{Create: true, Conns: 6, SearchPath: p.domain, Application: "taskkit dev"})
	if err != nil {
		return err
	}
	if p.Dialect == dialect.SQLite {
		if err := p.refuseUsed(ctx); err != nil {
			return err
		}
	} else if _, err := p.db.ExecContext(ctx, "CREATE SCHEMA "+pgx.Identifier{p.domain}.Sanitize()); err != nil {
		p.domain = "" // there is no schema to drop
		return fmt.Errorf("create a schema for the demonstration: %w", err)
	}
	if err := taskkit.Migrate(ctx, p.db, p.schema); err != nil {
		return err
	}
	return caseload.Create(ctx, p.db)
}

// refuseUsed refuses a file that contains people already: the report would count
// what an earlier run did.
func (p *workspace) refuseUsed(ctx context.Context) error {
	var n int
	err := p.db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE name = 'caseload_person'").Scan(&n)
	if err != nil {
		return fmt.Errorf("read %s: %w", p, err)
	}
	if n > 0 {
		return fmt.Errorf("%s contains an earlier demonstration: remove the file or name another", p)
	}
	return nil
}

// files is the directory of exported files.
func (p *workspace) files() string { return filepath.Join(p.dir, "exports") }

// temporary reports whether the tasks are removed at the end of the run.
func (p *workspace) temporary(o Options) bool {
	return !o.Keep && (o.At.Dialect == "" || p.domain != "" && p.schema == p.domain)
}

// remove removes what the run created: the temporary directory and, on
// PostgreSQL, the run's own schema. They stay when a check failed.
func (p *workspace) remove(o Options, failed error) error {
	// Not the run's context, which may have ended.
	ctx := context.Background()
	var errs []error
	if errors.Is(failed, ErrChecks) || o.Keep {
		fmt.Fprintf(o.Out, "kept       %s and %s\n", p, p.dir)
	} else {
		if p.domain != "" && p.db != nil {
			_, err := p.db.ExecContext(ctx, "DROP SCHEMA "+pgx.Identifier{p.domain}.Sanitize()+" CASCADE")
			errs = append(errs, err)
		}
		defer func() { _ = os.RemoveAll(p.dir) }()
	}
	if p.db != nil {
		errs = append(errs, p.db.Close())
	}
	return errors.Join(errs...)
}

// String names the database and schema of the tasks.
func (p *workspace) String() string {
	if p.Dialect == dialect.Postgres {
		return fmt.Sprintf("%s, schema %s", p.Address, p.schema)
	}
	return p.Address.String()
}
