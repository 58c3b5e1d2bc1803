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

// connectTimeout bounds a connection attempt where the address names no other
// bound: the operating system's is minutes.
const connectTimeout = 10 * time.Second

// Options say how to open a database. The zero Options are for a command that
// asks a little and ends.
type Options struct {
	// Create makes an SQLite file that is missing. Otherwise that is an error:
	// a typing mistake must not look like an empty database.
	Create bool
	// Conns bounds the pool. Defaults to 4.
	Conns int
	// SearchPath is the PostgreSQL schema in which unqualified names are found.
	// Defaults to what the server says.
	SearchPath string
	// Application names the program to PostgreSQL. Defaults to "taskkit".
	Application string
	// Prepare lets pgx keep prepared statements, which is faster and which
	// PgBouncer in transaction mode does not allow. What the address says
	// about it comes first.
	Prepare bool
}

// ReachError is a database that does not answer. Its text is one line.
type ReachError struct {
	At  Address
	Err error
}

func (e *ReachError) Error() string {
	// pgx tells each address it tried on a line of its own, and some twice.
	var told []string
	for line := range strings.Lines(e.Err.Error()) {
		if line = strings.TrimSpace(line); !slices.Contains(told, line) {
			told = append(told, line)
		}
	}
	return fmt.Sprintf("cannot reach %s: %s", e.At, strings.Join(told, " "))
}

// Unwrap returns what the driver said.
func (e *ReachError) Unwrap() error { return e.Err }

// Open opens a database and sees that it answers.
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
		_ = db.Close() // the ping says what is wrong
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

// plain returns what is wrong with an address without the address, which pgx
// puts into its text.
func plain(err error) string {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return secret.ReplaceAllString(err.Error(), "${1}"+hidden)
}

// settings are what taskkit needs of SQLite, see the documentation of
// operations. Those that the address sets are left as they are.
var settings = [][2]string{
	{"busy_timeout", "10000"}, // first, since to switch to WAL takes a lock too
	{"journal_mode", "WAL"},
	{"foreign_keys", "ON"},
	{"synchronous", "FULL"},
}

func (a Address) openSQLite(o Options) (*sql.DB, error) {
	if _, err := os.Stat(a.File); err != nil && (!errors.Is(err, fs.ErrNotExist) || !o.Create) {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("there is no SQLite file %s: name one that exists, or create it with `taskkit migrate`", a)
		}
		return nil, fmt.Errorf("cannot open %s: %w", a, err)
	}
	given, err := url.ParseQuery(a.dsn)
	if err != nil {
		return nil, &AddressError{fmt.Sprintf("the part of %s behind the ? cannot be read", a)}
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

// sets reports whether one of the pragmas is about a setting.
func sets(pragmas []string, setting string) bool {
	for _, p := range pragmas {
		if strings.HasPrefix(strings.ToLower(strings.TrimSpace(p)), setting) {
			return true
		}
	}
	return false
}
