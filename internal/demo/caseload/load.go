package caseload

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"entgo.io/ent/dialect"
	"github.com/google/uuid"
)

// Person is a person with enrolments, as they are entered in bulk.
type Person struct {
	ID        uuid.UUID
	SchoolID  string
	FirstName string
	LastName  string
	Email     string // "" is none
	Coach     string
	Created   time.Time
	Enrolled  map[string]string // program to status
}

// nameKey is what a search for a name goes by.
func (p Person) nameKey() string { return strings.ToLower(p.LastName + ", " + p.FirstName) }

// load inserts programs and people in one transaction. It uses SQL, since ent's bulk
// insert takes several times as long and a demonstration waits for it.
func load(ctx context.Context, db *sql.DB, programs [][2]string, people iter.Seq[Person]) (err error) {
	name, err := dialectOf(ctx, db)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	l := &loader{
		tx: tx, dialect: name,
		people:     insert{table: "caseload_person", columns: []string{"id", "school_id", "first_name", "last_name", "name_key", "email", "coach", "created_date"}},
		enrolments: insert{table: "caseload_enrolment", columns: []string{"person_id", "program_id", "status"}},
	}
	for _, p := range programs {
		_, err := tx.ExecContext(ctx, "INSERT INTO caseload_program (id, name) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", p[0], p[1])
		if err != nil {
			return err
		}
	}
	for p := range people {
		if err := l.add(ctx, p); err != nil {
			return err
		}
	}
	if err := l.flush(ctx, &l.people, &l.enrolments); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	// Not every planner updates its statistics by itself, or soon.
	for _, table := range []string{l.people.table, l.enrolments.table} {
		if _, err := db.ExecContext(ctx, "ANALYZE "+table); err != nil {
			return err
		}
	}
	return nil
}

// loader collects rows and writes them by the chunk.
type loader struct {
	tx                 *sql.Tx
	dialect            string
	people, enrolments insert
}

// insert is an INSERT of many rows in the making.
type insert struct {
	table   string
	columns []string
	args    []any
	full    string // the statement for a full chunk
}

// add adds a person. People are written before their enrolments.
func (l *loader) add(ctx context.Context, p Person) error {
	var email any
	if p.Email != "" {
		email = p.Email
	}
	l.people.args = append(l.people.args, p.ID.String(), p.SchoolID, p.FirstName, p.LastName, p.nameKey(), email, p.Coach, p.Created)
	for _, program := range slices.Sorted(maps.Keys(p.Enrolled)) {
		l.enrolments.args = append(l.enrolments.args, p.ID.String(), program, p.Enrolled[program])
	}
	if l.people.rows() < chunk {
		return nil
	}
	return l.flush(ctx, &l.people, &l.enrolments)
}

func (i *insert) rows() int { return len(i.args) / len(i.columns) }

// flush writes what was collected.
func (l *loader) flush(ctx context.Context, inserts ...*insert) error {
	for _, i := range inserts {
		for len(i.args) > 0 {
			rows := min(i.rows(), chunk)
			args := i.args[:rows*len(i.columns)]
			if _, err := l.tx.ExecContext(ctx, i.statement(l.dialect, rows), args...); err != nil {
				return fmt.Errorf("insert into %s: %w", i.table, err)
			}
			i.args = i.args[len(args):]
		}
		i.args = nil
	}
	return nil
}

// statement returns the INSERT for a number of rows.
func (i *insert) statement(name string, rows int) string {
	if rows == chunk && i.full != "" {
		return i.full
	}
	var b strings.Builder
	fmt.Fprintf(&b, "INSERT INTO %s (%s) VALUES ", i.table, strings.Join(i.columns, ", "))
	n := 0
	for r := range rows {
		if r > 0 {
			b.WriteByte(',')
		}
		b.WriteByte('(')
		for c := range i.columns {
			if c > 0 {
				b.WriteByte(',')
			}
			if n++; name == dialect.Postgres {
				fmt.Fprintf(&b, "$%d", n)
			} else {
				b.WriteByte('?')
			}
		}
		b.WriteByte(')')
	}
	if rows == chunk {
		i.full = b.String()
	}
	return b.String()
}
