package testdb

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"taskkit.dev/internal/dialect"
)

// roleNames are the roles of docs/operations.md.
var roleNames = []string{"submitter", "reader", "operator", "worker"}

// Roles are PostgreSQL roles that have exactly the rights of a page for the taskkit in a test's schema.
type Roles struct {
	tb     testing.TB
	db     *DB
	blocks []string // of SQL, of the page
}

// NewRoles creates the roles submitter, reader, operator and worker with the rights of the first block of SQL in the section
// "Roles" of a page. They end with the test. The schema has taskkit's tables.
func NewRoles(tb testing.TB, db *DB, page string) *Roles {
	tb.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		tb.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### Roles\n")
	section, _, _ = strings.Cut(section, "\n## ")
	r := &Roles{tb: tb, db: db}
	for _, m := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(section, -1) {
		r.blocks = append(r.blocks, m[1])
	}
	if len(r.blocks) != 2 {
		tb.Fatalf("the section Roles of %s has %d blocks of SQL, want one for all and one for submissions that are merged", page, len(r.blocks))
	}
	for _, role := range roleNames {
		r.exec("CREATE ROLE " + r.Name(role) + " LOGIN")
		tb.Cleanup(func() { r.exec("DROP OWNED BY " + r.Name(role)); r.exec("DROP ROLE " + r.Name(role)) })
	}
	r.grant(r.blocks[0])
	return r
}

// Name returns the name of a role in the database.
func (r *Roles) Name(role string) string { return role + "_" + r.db.Schema }

// GrantMerging gives the submitter the rights of the second block.
func (r *Roles) GrantMerging() { r.grant(r.blocks[1]) }

// As returns the database for a role. Its handle is closed when the test ends.
func (r *Roles) As(role string) *DB {
	r.tb.Helper()
	u, err := url.Parse(r.db.DSN)
	if err != nil {
		r.tb.Fatal(err)
	}
	u.User = url.User(r.Name(role))
	handle, err := sql.Open("pgx", u.String())
	if err != nil {
		r.tb.Fatal(err)
	}
	r.tb.Cleanup(func() { _ = handle.Close() })
	return &DB{DB: handle, Dialect: dialect.Postgres, Schema: r.db.Schema, DSN: u.String(), Direct: u.String()}
}

var (
	pageSchema = regexp.MustCompile(`\btaskkit\.|\bSCHEMA taskkit\b`)
	pageRole   = regexp.MustCompile(`\b(` + strings.Join(roleNames, "|") + `)([,;])`)
)

// grant executes the statements of the page for the test's schema and roles.
func (r *Roles) grant(statements string) {
	r.tb.Helper()
	statements = pageSchema.ReplaceAllStringFunc(statements, func(s string) string { return strings.Replace(s, "taskkit", r.db.Schema, 1) })
	r.exec(pageRole.ReplaceAllString(statements, fmt.Sprintf("${1}_%s$2", r.db.Schema)))
}

// exec executes statements as the superuser.
func (r *Roles) exec(statements string) {
	r.tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), adminTimeout)
	defer cancel()
	if _, err := r.db.ExecContext(ctx, statements); err != nil {
		r.tb.Fatalf("%s: %v", statements, err)
	}
}
