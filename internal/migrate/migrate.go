package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/migrations"
)

// tries bounds the repetitions of a step that failed because another process was
// migrating.
const tries = 20

// errDuplicates: rows are in the way of a unique index. Under the lock of a session no other migrator can be the cause.
var errDuplicates = errors.New("rows are in the way of a unique index")

// SchemaError reports a database whose schema is not the one this version needs.
type SchemaError struct {
	Schema string // empty on SQLite
	Have   int64  // 0: there are no taskkit tables; -1: unknown, but not Want
	Want   int64
}

// Behind reports whether migrating helps; otherwise the program is too old.
func (e *SchemaError) Behind() bool { return e.Have < e.Want }

func (e *SchemaError) Error() string {
	where := "the database"
	if e.Schema != "" {
		where = fmt.Sprintf("schema %q", e.Schema)
	}
	switch {
	case e.Have < 0:
		return fmt.Sprintf("%s does not have the tables of version %d, which this program needs: run `%s`", where, e.Want, e.command())
	case e.Have == 0:
		return fmt.Sprintf("%s has no taskkit tables: run `%s`", where, e.command())
	case e.Have < e.Want:
		return fmt.Sprintf("%s is at version %d and this program needs %d: run `%s`", where, e.Have, e.Want, e.command())
	default:
		return fmt.Sprintf("%s is at version %d, newer than the %d this program knows: update the program, `taskkit migrate` cannot go back", where, e.Have, e.Want)
	}
}

// command returns the command line that migrates, with a placeholder for the
// address, which may contain a password.
func (e *SchemaError) command() string {
	switch e.Schema {
	case "":
		return "taskkit migrate -d FILE"
	case dialect.DefaultSchema:
		return "taskkit migrate -d URL"
	default:
		return "taskkit migrate -d URL --schema " + e.Schema
	}
}

// Migrate applies the migrations that are missing. Any number of processes may
// call it at once; each file is applied once. It needs one connection.
func Migrate(ctx context.Context, db *sql.DB, schema string) error {
	return Apply(ctx, db, schema, migrations.FS)
}

// Apply is [Migrate] with other files, in directories with the same names as in [migrations.FS].
func Apply(ctx context.Context, db *sql.DB, schema string, files fs.FS) error {
	d, err := dialect.Detect(ctx, db)
	if err != nil {
		return err
	}
	if schema, err = dialect.Schema(d, schema); err != nil {
		return err
	}
	want, err := latest(files, d)
	if err != nil {
		return err
	}
	have := int64(-1)
	for try := 1; ; try++ {
		err := up(ctx, db, d, schema, files)
		if err == nil {
			return nil
		}
		now, verr := version(ctx, db, d, schema)
		switch {
		case verr == nil && now >= want:
			return nil // another migrator did it
		case try == tries || ctx.Err() != nil || errors.Is(err, errDuplicates) || verr == nil && now == have && !classify.ConcurrentMigration(err):
			return fmt.Errorf("migrate %s to version %d: %w", d, want, err)
		case verr == nil:
			have = now
		}
		// Another process holds a lock that this step needs, or is one step ahead.
		pause := time.NewTimer(time.Duration(try)*50*time.Millisecond + rand.N(50*time.Millisecond))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

// Check returns nil when the schema is the one this version needs, and
// otherwise a *SchemaError.
func Check(ctx context.Context, db dialect.Querier, schema string) error {
	d, err := dialect.Detect(ctx, db)
	if err != nil {
		return err
	}
	if schema, err = dialect.Schema(d, schema); err != nil {
		return err
	}
	want, err := latest(migrations.FS, d)
	if err != nil {
		return err
	}
	have, err := version(ctx, db, d, schema)
	if err != nil {
		return err
	}
	if have != want {
		return &SchemaError{Schema: schema, Have: have, Want: want}
	}
	return nil
}

// up runs goose once.
func up(ctx context.Context, db *sql.DB, d dialect.Name, schema string, all fs.FS) error {
	have, err := version(ctx, db, d, schema)
	if err != nil {
		return err
	}
	files, err := directory(all, d, schema, have == 0)
	if err != nil {
		return err
	}
	options := []goose.ProviderOption{
		goose.WithStore(versions{d, schema}),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()),
	}
	locked := false
	if d == dialect.Postgres && have > 0 {
		var indexes []string
		if indexes, locked, err = pendingIndexes(files, have); err != nil {
			return err
		}
		if locked {
			options = append(options, goose.WithSessionLocker(&session{schema: schema, indexes: indexes}))
		}
	}
	p, err := goose.NewProvider("", db, files, options...)
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	if locked && classify.UniqueViolation(err) {
		return fmt.Errorf("%w: %w", errDuplicates, err)
	}
	return err
}

// latest returns the version of the newest file.
func latest(files fs.FS, d dialect.Name) (int64, error) {
	found, err := fs.Glob(files, folder(d)+"/*.sql")
	if err != nil || len(found) == 0 {
		return 0, fmt.Errorf("no migrations for %s: %w", d, err)
	}
	return numberOf(found[len(found)-1])
}

// numberOf returns the version of a file.
func numberOf(name string) (int64, error) {
	number, _, _ := strings.Cut(path.Base(name), "_")
	return strconv.ParseInt(number, 10, 64)
}

// folder returns the directory that holds a dialect's files.
func folder(d dialect.Name) string {
	if d == dialect.SQLite {
		return "sqlite"
	}
	return "postgres"
}
