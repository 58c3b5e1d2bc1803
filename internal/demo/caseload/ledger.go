package caseload

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"

	"entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/touch"
)

// The actions of the ledger. An export leaves none there: its file is audited.
const (
	ActionStatus = "program_status"
	ActionWatch  = "watch"
	ActionAlert  = "early_alert"
	ActionMail   = "send_email"
)

// Findings is what an audit found. Twice, Missed and Outside are zero when every
// person was processed exactly once and nobody else was.
type Findings struct {
	Touched int // different people
	Twice   int // people processed more than once
	Missed  int // people who were not processed although they should
	Outside int // people who were processed although they should not
	// Example is one of these people.
	Example string
}

// Clean reports whether the audit found nothing wrong.
func (f Findings) Clean() bool { return f.Twice == 0 && f.Missed == 0 && f.Outside == 0 }

// String returns "40000 touched, twice: 0, missed: 0, outside: 0".
func (f Findings) String() string {
	s := fmt.Sprintf("%d touched, twice: %d, missed: %d, outside: %d", f.Touched, f.Twice, f.Missed, f.Outside)
	if f.Example != "" {
		s += " (such as " + f.Example + ")"
	}
	return s
}

// Audit compares the ledger's lines of an action and a set of tasks with the people of
// all these tasks. Omit people whom the tasks reported as failed, except for
// [ActionMail], whose outbox has a line for them too.
func Audit(ctx context.Context, c *ent.Client, action string, tasks, people []uuid.UUID) (Findings, error) {
	counts := make(map[string]int, len(people))
	var rows []struct {
		Person uuid.UUID `sql:"person"`
		N      int       `sql:"n"`
	}
	err := c.Touch.Query().Where(touch.Action(action), touch.TaskIn(tasks...)).
		GroupBy(touch.FieldPerson).
		Aggregate(ent.As(func(*sql.Selector) string { return sql.Count("*") }, "n")).
		Scan(ctx, &rows)
	if err != nil {
		return Findings{}, wrap("read the ledger", err)
	}
	for _, r := range rows {
		counts[r.Person.String()] = r.N
	}
	return Compare(counts, idStrings(people)), nil
}

// Compare compares how often each item was processed with the items that should have been.
func Compare(counts map[string]int, want []string) Findings {
	f := Findings{Touched: len(counts)}
	wrong := func(n *int, who string) {
		*n++
		if f.Example == "" || who < f.Example {
			f.Example = who
		}
	}
	expected := make(map[string]bool, len(want))
	for _, w := range want {
		expected[w] = true
	}
	for who, n := range counts {
		if n > 1 {
			wrong(&f.Twice, who)
		}
		if !expected[who] {
			wrong(&f.Outside, who)
		}
	}
	for w := range expected {
		if counts[w] == 0 {
			wrong(&f.Missed, w)
		}
	}
	return f
}

// AuditFile reads an exported file by a function, which calls row with the cells of each line, and
// compares the people in it, by the first column, with those who should be.
func AuditFile(r io.Reader, read func(r io.Reader, row func(cells []string)) error, people []uuid.UUID) (Findings, error) {
	counts := make(map[string]int, len(people))
	line := 0
	err := read(r, func(cells []string) {
		if line++; line > 1 && len(cells) > 0 {
			counts[cells[0]]++
		}
	})
	if err == nil && line == 0 {
		err = errors.New("no header")
	}
	if err != nil {
		return Findings{}, wrap("read the exported file", err)
	}
	return Compare(counts, idStrings(people)), nil
}

// ReadCSV reads a file for [AuditFile].
func ReadCSV(r io.Reader, row func([]string)) error {
	c := csv.NewReader(r)
	c.ReuseRecord = true
	for {
		cells, err := c.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		row([]string{cells[0]}) // the record is used again, a cell is not
	}
}

func idStrings(ids []uuid.UUID) []string {
	s := make([]string, len(ids))
	for i, id := range ids {
		s[i] = id.String()
	}
	return s
}
