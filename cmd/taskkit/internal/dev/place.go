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
	"taskkit.dev/internal/caseload"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/taskkit"
)

// place is where a demonstration runs.
type place struct {
	database.Address
	db *sql.DB
	// schema holds taskkit's tables. On PostgreSQL domain holds those of the
	// people, and is new in every run: so an earlier run is in nobody's way.
	schema, domain string
	// queue is that of this run's tasks: its workers leave alone what an earlier
	// run may have left in the same schema.
	queue string
	// dir holds exported files, the workers' logs, and the SQLite file when
	// nobody named one.
	dir string
}

// prepare finds a place and makes its tables.
func prepare(ctx context.Context, o Options) (*place, error) {
	name := "taskkit_dev_" + strings.ToLower(rand.Text()[:8])
	dir, err := os.MkdirTemp("", "taskkit-dev-")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the demonstration: %w", err)
	}
	p := &place{Address: o.At, schema: o.Schema, queue: name, dir: dir}
	if err := p.fill(ctx, name); err != nil {
		return nil, errors.Join(err, p.leave(Options{}, nil))
	}
	return p, nil
}

// fill opens the database and makes the tables; name is for what is new.
func (p *place) fill(ctx context.Context, name string) (err error) {
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
		if err := p.vacant(ctx); err != nil {
			return err
		}
	} else if _, err := p.db.ExecContext(ctx, "CREATE SCHEMA "+pgx.Identifier{p.domain}.Sanitize()); err != nil {
		p.domain = "" // there is nothing to be dropped
		return fmt.Errorf("make a schema for the demonstration: %w", err)
	}
	if err := taskkit.Migrate(ctx, p.db, p.schema); err != nil {
		return err
	}
	return caseload.Create(ctx, p.db)
}

// vacant refuses a file in which people are already: they may be somebody's, and
// the report would count what an earlier run did to them.
func (p *place) vacant(ctx context.Context) error {
	var n int
	err := p.db.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_master WHERE name = 'caseload_person'").Scan(&n)
	if err != nil {
		return fmt.Errorf("look into %s: %w", p, err)
	}
	if n > 0 {
		return fmt.Errorf("%s holds an earlier demonstration: remove the file or name another", p)
	}
	return nil
}

// files is the directory of exported files.
func (p *place) files() string { return filepath.Join(p.dir, "exports") }

// temporary reports whether the tasks disappear with the run.
func (p *place) temporary(o Options) bool {
	return !o.Keep && (o.At.Dialect == "" || p.domain != "" && p.schema == p.domain)
}

// leave removes what the run made by itself: the temporary directory and, on
// PostgreSQL, the run's own schema. After a failure they stay, for whoever looks.
func (p *place) leave(o Options, failed error) error {
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

// String says where the tasks are.
func (p *place) String() string {
	if p.Dialect == dialect.Postgres {
		return fmt.Sprintf("%s, schema %s", p.Address, p.schema)
	}
	return p.Address.String()
}
