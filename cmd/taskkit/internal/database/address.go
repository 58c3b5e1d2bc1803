// Package database parses the address of a database and opens it. Only this
// package of the command knows drivers and their settings.
package database

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"taskkit.dev/internal/dialect"
)

// Address names a database. [Parse] returns it.
type Address struct {
	Dialect dialect.Name
	// File is the path of an SQLite file, as it was written; "" on PostgreSQL.
	File string

	dsn   string // what the driver receives; on SQLite the query without its "?"
	shown string // dsn without its password
}

// AddressError reports text that is not the address of a database.
type AddressError struct{ Problem string }

func (e *AddressError) Error() string {
	return e.Problem + ": give a URL like postgres://user@host/database, or the path of an SQLite file"
}

var (
	// scheme matches the start of a URL. A drive letter is not a scheme.
	scheme = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9+.-]+):`)
	// keyword matches the start of a DSN in libpq's key=value form.
	keyword = regexp.MustCompile(`^\s*(host|hostaddr|port|user|password|dbname|database|service|sslmode)\s*=`)
	// secret matches passwords in either form.
	secret = regexp.MustCompile(`(?i)(\b(?:ssl)?password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)`)
)

// hidden replaces a password.
const hidden = "xxxxx"

// Parse reads a PostgreSQL URL, a DSN like "host=localhost dbname=app", the path
// of an SQLite file, or one that begins with "sqlite:" or "file:". It does not
// check whether the database exists. Its errors, *[AddressError], contain no
// password.
func Parse(text string) (Address, error) {
	if strings.TrimSpace(text) == "" {
		return Address{}, &AddressError{"no database given"}
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
		if strings.HasPrefix(path, "//") { // an authority: empty or localhost
			host, _, _ := strings.Cut(path[2:], "/")
			if path = path[2+len(host):]; host != "" && host != "localhost" {
				return Address{}, &AddressError{fmt.Sprintf("an SQLite file must be on this machine, not on %q (an absolute path needs three slashes)", host)}
			}
		}
		path, err := url.PathUnescape(path)
		if err != nil {
			return Address{}, &AddressError{"the path contains an invalid %-escape"}
		}
		return sqliteAddress(path, query)
	default:
		return Address{}, &AddressError{fmt.Sprintf("%s databases are not supported", m[1])}
	}
}

func postgresAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil {
		// The error quotes the URL with its password.
		return Address{}, &AddressError{"the URL is invalid (escape special characters in the password: @ as %40, / as %2F)"}
	}
	shown := secret.ReplaceAllString(u.Redacted(), "${1}"+hidden)
	return Address{Dialect: dialect.Postgres, dsn: text, shown: shown}, nil
}

func sqliteAddress(path, query string) (Address, error) {
	switch {
	case path == "":
		return Address{}, &AddressError{"the path of the SQLite file is empty"}
	case path == ":memory:" || strings.Contains(query, "mode=memory"):
		return Address{}, &AddressError{"a database in memory is visible to one process only"}
	}
	return Address{Dialect: dialect.SQLite, File: path, dsn: query, shown: path}, nil
}

// String returns what -d takes, with a password replaced by xxxxx.
func (a Address) String() string { return a.shown }

// Secret reports whether String omits a password.
func (a Address) Secret() bool {
	return a.Dialect == dialect.Postgres && strings.Contains(a.shown, hidden)
}

// Text returns what -d takes, including the password. It is for child processes
// and must not be printed.
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

// Shell returns String, quoted for a shell if needed.
func (a Address) Shell() string { return Shell(a.shown) }

// Shell returns a text, quoted for a shell if needed.
func Shell(text string) string {
	if !strings.ContainsAny(text, " \t\n'\"\\$`&|;<>()*?[]#~!{}") {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// escapePath escapes the characters that SQLite would not read as part of the
// path.
func escapePath(path string) string {
	return strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23").Replace(path)
}
