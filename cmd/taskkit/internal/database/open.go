package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"taskkit.dev/internal/dialect"
)

// connectTimeout bounds a connection attempt unless the address sets a bound: that
// of the operating system is minutes.
const connectTimeout = 10 * time.Second

// Options say how to open a database. The zero Options suit a command that makes a
// few queries and ends.
type Options struct {
	// Create creates a missing SQLite file. Otherwise a missing file is an error:
	// a mistyped path must not look like an empty database.
	Create bool
	// Conns bounds the pool. Defaults to 4.
	Conns int
	// SearchPath is the PostgreSQL schema in which unqualified names are found.
	// Defaults to the server's default.
	SearchPath string
	// Application names the program to PostgreSQL. Defaults to "taskkit".
	Application string
	// Prepare lets pgx cache prepared statements, which is faster but does not
	// work with PgBouncer in transaction mode. A setting in the address takes
	// precedence.
	Prepare bool
}

// ReachError reports a database that does not respond. Its text is one line.
type ReachError struct {
	At  Address
	Err error
}

func (e *ReachError) Error() string {
	// pgx reports each address that it tried on a line of its own, some twice.
	var told []string
	for line := range strings.Lines(e.Err.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(told, line) {
			told = append(told, line)
		}
	}
	return fmt.Sprintf("cannot reach %s: %s", e.At, strings.Join(told, " "))
}

// Unwrap returns the error of the driver.
func (e *ReachError) Unwrap() error { return e.Err }

// Open opens a database and checks that it responds.
func (a Address) Open(ctx context.Context, o Options) (*sql.DB, error) {
	open := a.openSQLite
	if a.Dialect == dialect.Postgres {
		open = a.openPostgres
	}
	db, err := open(o)
	if err != nil {
		return nil, err
	}
	if o.Conns == 0 {
		o.Conns = 4
	}
	db.SetMaxOpenConns(o.Conns)
	db.SetMaxIdleConns(o.Conns)
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close() // the ping has the error to report
		return nil, &ReachError{a, err}
	}
	return db, nil
}

func (a Address) openPostgres(o Options) (*sql.DB, error) {
	c, err := pgx.ParseConfig(a.dsn)
	if err != nil {
		return nil, &AddressError{fmt.Sprintf("cannot use %s (%s)", a, plain(err))}
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = connectTimeout
	}
	if !o.Prepare && !strings.Contains(a.dsn, "default_query_exec_mode") {
		c.DefaultQueryExecMode = pgx.QueryExecModeExec
	}
	if o.SearchPath != "" {
		c.RuntimeParams["search_path"] = pgx.Identifier{o.SearchPath}.Sanitize()
	}
	if c.RuntimeParams["application_name"] == "" || o.Application != "" {
		c.RuntimeParams["application_name"] = cmp.Or(o.Application, "taskkit")
	}
	return stdlib.OpenDB(*c), nil
}

// plain returns the text of an error without the address, which pgx includes.
func plain(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return secret.ReplaceAllString(err.Error(), "${1}"+hidden)
}

// settings are the pragmas that taskkit needs on SQLite, see docs/operations.md. A
// setting in the address takes precedence.
var settings = [][2]string{
	{"busy_timeout", "10000"}, // first, because switching to WAL takes a lock too
	{"journal_mode", "WAL"},
	{"foreign_keys", "ON"},
	{"synchronous", "FULL"},
}

func (a Address) openSQLite(o Options) (*sql.DB, error) {
	if _, err := os.Stat(a.File); err != nil && (!errors.Is(err, fs.ErrNotExist) || !o.Create) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("SQLite file %s does not exist: check the path, or create it with `taskkit migrate`", a)
		}
		return nil, fmt.Errorf("cannot open %s: %w", a, err)
	}
	given, err := url.ParseQuery(a.dsn)
	if err != nil {
		return nil, &AddressError{fmt.Sprintf("the query part of %s, after the ?, is invalid", a)}
	}
	var params []string
	if !given.Has("_txlock") {
		params = append(params, "_txlock=immediate")
	}
	for _, s := range settings {
		if !sets(given["_pragma"], s[0]) {
			params = append(params, "_pragma="+s[0]+"("+s[1]+")")
		}
	}
	if a.dsn != "" {
		params = append(params, a.dsn)
	}
	return sql.Open("sqlite", "file:"+escapePath(a.File)+"?"+strings.Join(params, "&"))
}

// sets reports whether one of the pragmas sets a setting.
func sets(pragmas []string, setting string) bool {
	for _, p := range pragmas {
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(p)), setting) {
			return true
		}
	}
	return false
}
