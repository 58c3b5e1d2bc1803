// Package database reads what a person types for a database and opens it. It is
// the one place of the command that knows drivers and their settings.
package database

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"taskkit.dev/internal/dialect"
)

// Address is where a database is. [Parse] makes it.
type Address struct {
	Dialect dialect.Name
	// File is the path of an SQLite file, as it was written; "" on PostgreSQL.
	File string

	dsn   string // what the driver is given; on SQLite the query without its "?"
	shown string // dsn without its password
}

// AddressError is text that names no database.
type AddressError struct{ Problem string }

func (e *AddressError) Error() string {
	return e.Problem + ": give a URL like postgres://user@host/database, or the path of an SQLite file"
}

var (
	// scheme begins a URL. A drive letter is none.
	scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+):`)
	// keyword begins a DSN of libpq's other form.
	keyword = regexp.MustCompile(`^\s*(host|hostaddr|port|user|password|dbname|database|service|sslmode)\s*=`)
	// secret finds passwords in either form.
	secret = regexp.MustCompile(`(?i)(\b(?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)`)
)

// hidden stands for a password.
const hidden = "xxxxx"

// Parse reads a PostgreSQL URL, a DSN like "host=localhost dbname=app", the path
// of an SQLite file, or one that begins with "sqlite:" or "file:". It does not
// look whether there is anything. Its errors, *[AddressError], hold no password.
func Parse(text string) (Address, error) {
	if strings.TrimSpace(text) == "" {
		return Address{}, &AddressError{"no database is named"}
	}
	if keyword.MatchString(text) {
		return Address{Dialect: dialect.Postgres, dsn: text, shown: secret.ReplaceAllString(text, "${1}"+hidden)}, nil
	}
	m := scheme.FindStringSubmatch(text)
	if m == nil {
		return sqliteAddress(text, "")
	}
	rest := text[len(m[0]):]
	switch strings.ToLower(m[1]) {
	case "postgres", "postgresql":
		return postgresAddress(text)
	case "sqlite", "sqlite3", "file":
		path, query, _ := strings.Cut(rest, "?")
		if strings.HasPrefix(path, "//") { // an authority, which is empty or this machine
			host, _, _ := strings.Cut(path[2:], "/")
			if path = path[2+len(host):]; host != "" && host != "localhost" {
				return Address{}, &AddressError{fmt.Sprintf("an SQLite file is on this machine, not on %q (an absolute path takes three slashes)", host)}
			}
		}
		path, err := url.PathUnescape(path)
		if err != nil {
			return Address{}, &AddressError{"the path has a broken %-escape"}
		}
		return sqliteAddress(path, query)
	default:
		return Address{}, &AddressError{fmt.Sprintf("there is no support for %s databases", m[1])}
	}
}

func postgresAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil {
		// The error quotes the URL with its password.
		return Address{}, &AddressError{"the URL cannot be read (escape special characters in the password: @ is %40, / is %2F)"}
	}
	shown := secret.ReplaceAllString(u.Redacted(), "${1}"+hidden)
	return Address{Dialect: dialect.Postgres, dsn: text, shown: shown}, nil
}

func sqliteAddress(path, query string) (Address, error) {
	switch {
	case path == "":
		return Address{}, &AddressError{"the path of the SQLite file is empty"}
	case path == ":memory:" || strings.Contains(query, "mode=memory"):
		return Address{}, &AddressError{"a database in memory belongs to one process, and others could not see its tasks"}
	}
	return Address{Dialect: dialect.SQLite, File: path, dsn: query, shown: path}, nil
}

// String returns what -d takes, with a password replaced by xxxxx.
func (a Address) String() string { return a.shown }

// Secret reports whether String leaves something out.
func (a Address) Secret() bool {
	return a.Dialect == dialect.Postgres && strings.Contains(a.shown, hidden)
}

// Text returns what -d takes, password and all: for the environment of a child
// process, never for a screen.
func (a Address) Text() string {
	if a.Dialect == dialect.Postgres {
		return a.dsn
	}
	text := "file:" + escapePath(a.File)
	if a.dsn != "" {
		text += "?" + a.dsn
	}
	return text
}

// Shell returns String quoted for a shell, where that is needed.
func (a Address) Shell() string {
	if !strings.ContainsAny(a.shown, " \t\n'\"\\$`&|;<>()*?[]#~!{}") {
		return a.shown
	}
	return "'" + strings.ReplaceAll(a.shown, "'", `'\''`) + "'"
}

// escapePath escapes what SQLite would not take for a part of the path.
func escapePath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23").Replace(path)
}
