package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/migrations"
)

// DefaultSchema is the PostgreSQL schema of a taskkit that names none.
const DefaultSchema = "taskkit"

// tries bounds how often a step is tried again that others were in the way of.
const tries = 20

// SchemaError is a database whose schema is not the one this version needs.
type SchemaError struct {
	Schema string // empty on SQLite
	Have   int64  // 0: there are no taskkit tables
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
	case e.Have == 0:
		return fmt.Sprintf("%s has no taskkit tables: run `taskkit migrate`", where)
	case e.Have < e.Want:
		return fmt.Sprintf("%s is at version %d and this program needs %d: run `taskkit migrate`", where, e.Have, e.Want)
	default:
		return fmt.Sprintf("%s is at version %d, newer than the %d this program knows: update the program, `taskkit migrate` cannot go back", where, e.Have, e.Want)
	}
}

// name is what a schema may be called. With taskkit_ before it, it is the name
// of a notification channel, which is why it ends at 55.
var name = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,54}$`)

// Schema returns the schema to use on a dialect: the default for "", nothing
// on SQLite, and an error for a name that cannot be used.
func Schema(d dialect.Name, schema string) (string, error) {
	if d == dialect.SQLite {
		return "", nil
	}
	if schema == "" {
		return DefaultSchema, nil
	}
	if !name.MatchString(schema) || strings.HasPrefix(schema, "pg_") {
		return "", fmt.Errorf("schema name %q: use at most 55 lower case letters, digits and underscores, not beginning with a digit or pg_", schema)
	}
	return schema, nil
}

// Migrate applies the migrations that are missing. Any number of processes may
// call it at once; each file is applied once. It needs one connection.
func Migrate(ctx context.Context, db *sql.DB, schema string) error {
	d, err := dialect.Detect(ctx, db)
	if err != nil {
		return err
	}
	if schema, err = Schema(d, schema); err != nil {
		return err
	}
	want, err := latest(d)
	if err != nil {
		return err
	}
	have := int64(-1)
	for try := 1; ; try++ {
		err := up(ctx, db, d, schema)
		if err == nil {
			return nil
		}
		now, verr := version(ctx, db, d, schema)
		switch {
		case verr == nil && now >= want:
			return nil // another migrator did it
		case try == tries || ctx.Err() != nil || verr == nil && now == have && !inTheWay(err):
			return fmt.Errorf("migrate %s to version %d: %w", d, want, err)
		case verr == nil:
			have = now
		}
		// Others hold what this step needs, or are one step ahead.
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
	if schema, err = Schema(d, schema); err != nil {
		return err
	}
	want, err := latest(d)
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
func up(ctx context.Context, db *sql.DB, d dialect.Name, schema string) error {
	files, err := directory(d, schema)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider("", db, files, goose.WithStore(versions{d, schema}),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// latest returns the version of the newest file.
func latest(d dialect.Name) (int64, error) {
	files, err := fs.Glob(migrations.FS, folder(d)+"/*.sql")
	if err != nil || len(files) == 0 {
		return 0, fmt.Errorf("no migrations for %s: %w", d, err)
	}
	number, _, _ := strings.Cut(path.Base(files[len(files)-1]), "_")
	return strconv.ParseInt(number, 10, 64)
}

// folder returns the directory of a dialect's files.
func folder(d dialect.Name) string {
	if d == dialect.SQLite {
		return "sqlite"
	}
	return "postgres"
}

// inTheWay reports whether err says that somebody else is at work, so that the
// same step may succeed later.
func inTheWay(err error) bool {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		switch state.SQLState() {
		case "55P03", "40P01", "40001", // lock timeout, deadlock, serialization
			"23505", "42P06", "42P07", "42710": // created by another a moment ago
			return true
		}
	}
	var code interface{ Code() int }
	if errors.As(err, &code) {
		switch code.Code() & 0xff {
		case 5, 6: // SQLITE_BUSY, SQLITE_LOCKED
			return true
		}
	}
	return false
}
