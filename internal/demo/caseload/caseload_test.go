package caseload_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/enrolment"
	"taskkit.dev/internal/demo/caseload/ent/person"
	"taskkit.dev/internal/testkit/testdb"
)

// fill makes the tables and generates people.
func fill(t *testing.T, db *sql.DB, people int) (*ent.Client, []uuid.UUID) {
	t.Helper()
	c := empty(t, db)
	if _, err := caseload.Generate(t.Context(), db, people, 1); err != nil {
		t.Fatal(err)
	}
	return c, everybody(t, c)
}

func empty(t *testing.T, db *sql.DB) *ent.Client {
	t.Helper()
	if err := caseload.Create(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	c, err := caseload.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func everybody(t *testing.T, c *ent.Client) []uuid.UUID {
	t.Helper()
	ids, err := caseload.People(t.Context(), c, caseload.Query{}, uuid.Nil, uuid.Nil, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func audit(t *testing.T, c *ent.Client, action string, task uuid.UUID, people []uuid.UUID) caseload.Findings {
	t.Helper()
	f, err := caseload.Audit(t.Context(), c, action, []uuid.UUID{task}, people)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestCreateTwice(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		empty(t, db.DB)
		empty(t, db.DB)
	})
}

func TestGenerateIsDeterministic(t *testing.T) {
	t.Parallel()
	// The same on both databases: compared through one map by name of database.
	dump := func(t *testing.T, db *sql.DB, seed uint64) string {
		c := empty(t, db)
		made, err := caseload.Generate(t.Context(), db, 2500, seed)
		if err != nil {
			t.Fatal(err)
		}
		if made.NoAddress == 0 || made.Refused == 0 || made.Coaches != 9 {
			t.Errorf("of 2,500 people: %+v", made)
		}
		s := fmt.Sprintf("%+v\n", made)
		for _, p := range c.Person.Query().WithEnrolments(func(q *ent.EnrolmentQuery) {
			q.Order(ent.Asc(enrolment.FieldProgramID))
		}).Order(ent.Asc(person.FieldID)).AllX(t.Context()) {
			email := ""
			if p.Email != nil {
				email = *p.Email
			}
			s += fmt.Sprint(p.ID, p.SchoolID, p.FirstName, p.LastName, p.NameKey, email, p.Coach, p.CreatedDate.Unix())
			for _, e := range p.Edges.Enrolments {
				s += fmt.Sprint(e.ProgramID, e.Status)
			}
			s += "\n"
		}
		return s
	}
	pg := dump(t, testdb.Postgres(t).DB, 7)
	if lite := dump(t, testdb.SQLite(t).DB, 7); lite != pg {
		t.Error("the same seed makes other people on SQLite than on PostgreSQL")
	}
	if other := dump(t, testdb.SQLite(t).DB, 8); other == pg {
		t.Error("another seed makes the same people")
	}
}

func TestQueryAgreesOnBothDatabases(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		c, all := fill(t, db.DB, 1200)
		coach := c.Person.Query().FirstX(t.Context()).Coach
		every := c.Person.Query().WithEnrolments().Order(ent.Asc(person.FieldID)).AllX(t.Context())
		task := uuid.New()
		if _, err := caseload.RaiseAlerts(t.Context(), c, task, uuid.Nil, caseload.Concern{Category: "grades", Reason: "x"}, all[10:20]); err != nil {
			t.Fatal(err)
		}
		status := func(p *ent.Person, program string) string {
			for _, e := range p.Edges.Enrolments {
				if e.ProgramID == program {
					return e.Status
				}
			}
			return ""
		}
		for name, q := range map[string]struct {
			caseload.Query
			is func(p *ent.Person, i int) bool
		}{
			"everybody":          {caseload.Query{}, func(*ent.Person, int) bool { return true }},
			"program":            {caseload.Query{Program: "honors"}, func(p *ent.Person, _ int) bool { return status(p, "honors") != "" }},
			"program and status": {caseload.Query{Program: "honors", Status: "paused"}, func(p *ent.Person, _ int) bool { return status(p, "honors") == "paused" }},
			"status": {caseload.Query{Status: "exited"}, func(p *ent.Person, _ int) bool {
				for _, e := range p.Edges.Enrolments {
					if e.Status == "exited" {
						return true
					}
				}
				return false
			}},
			"coach":     {caseload.Query{Coach: coach}, func(p *ent.Person, _ int) bool { return p.Coach == coach }},
			"name":      {caseload.Query{Name: "SM"}, func(p *ent.Person, _ int) bool { return p.NameKey[:2] == "sm" }},
			"wild card": {caseload.Query{Name: "%"}, func(*ent.Person, int) bool { return false }},
			"alert":     {caseload.Query{Alert: task}, func(_ *ent.Person, i int) bool { return i >= 10 && i < 20 }},
			"nobody":    {caseload.Query{Coach: "nobody"}, func(*ent.Person, int) bool { return false }},
		} {
			var want []uuid.UUID
			for i, p := range every {
				if q.is(p, i) {
					want = append(want, p.ID)
				}
			}
			n, last, err := caseload.Count(t.Context(), c, q.Query)
			if err != nil || n != len(want) || n > 0 && last != want[n-1] {
				t.Errorf("%s: count %d, last %v, %v; want %d", name, n, last, err, len(want))
			}
			var got []uuid.UUID
			var after uuid.UUID
			for {
				page, err := caseload.People(t.Context(), c, q.Query, after, last, 7)
				if err != nil {
					t.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				got, after = append(got, page...), page[len(page)-1]
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s: pages of 7 give %d people, want %d", name, len(got), len(want))
			}
		}
	})
}

func TestStatusHasHistoryAndLedger(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		c, people := fill(t, db.DB, 1500)
		task, ctx := uuid.New(), t.Context()
		paused := c.Enrolment.Query().Where(enrolment.ProgramID(caseload.Success), enrolment.Status("paused")).CountX(ctx)
		stranger := uuid.New()
		out, err := caseload.SetStatus(ctx, c, task, caseload.Success, "paused", append(slices.Clip(people), stranger))
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Already) != paused || len(out.Missing) != 1 || out.Missing[0] != stranger {
			t.Errorf("outcome %+v, want %d already and one missing", out, paused)
		}
		if n := c.Enrolment.Query().Where(enrolment.ProgramID(caseload.Success), enrolment.Status("paused")).CountX(ctx); n != 1500 {
			t.Errorf("%d are paused, want all 1500", n)
		}
		if n := c.StatusChange.Query().CountX(ctx); n != 1500-paused {
			t.Errorf("%d lines of history, want %d", n, 1500-paused)
		}
		if f := audit(t, c, caseload.ActionStatus, task, people); !f.Clean() || f.Touched != 1500 {
			t.Errorf("ledger: %v", f)
		}
	})
}

// TestAuditFindsErrors plants errors in the ledger: for each action one person is
// processed twice, one is missed, one is not a target.
func TestAuditFindsErrors(t *testing.T) {
	t.Parallel()
	type act func(ctx context.Context, c *ent.Client, task uuid.UUID, people []uuid.UUID) error
	actions := map[string]act{
		caseload.ActionStatus: func(ctx context.Context, c *ent.Client, task uuid.UUID, people []uuid.UUID) error {
			_, err := caseload.SetStatus(ctx, c, task, caseload.Success, "exited", people)
			return err
		},
		caseload.ActionWatch: func(ctx context.Context, c *ent.Client, task uuid.UUID, people []uuid.UUID) error {
			_, err := caseload.StartWatching(ctx, c, task, uuid.Nil, people)
			return err
		},
		caseload.ActionAlert: func(ctx context.Context, c *ent.Client, task uuid.UUID, people []uuid.UUID) error {
			_, err := caseload.RaiseAlerts(ctx, c, task, uuid.Nil, caseload.Concern{}, people)
			return err
		},
	}
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		c, people := fill(t, db.DB, 50)
		for action, do := range actions {
			task := uuid.New()
			if err := do(t.Context(), c, task, people[:40]); err != nil {
				t.Fatal(err)
			}
			if f := audit(t, c, action, task, people[:40]); !f.Clean() || f.Touched != 40 {
				t.Errorf("%s, done once: %v", action, f)
			}
			if err := do(t.Context(), c, task, people[:1]); err != nil {
				t.Fatal(err)
			}
			f := audit(t, c, action, task, people[1:41])
			if f != (caseload.Findings{Touched: 40, Twice: 1, Missed: 1, Outside: 1, Example: f.Example}) {
				t.Errorf("%s: %v, want one of each", action, f)
			}
		}
	})
}

func TestWatching(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		c, people := fill(t, db.DB, 30)
		ctx, me := t.Context(), uuid.New()
		do := func(f func(context.Context, *ent.Client, uuid.UUID, uuid.UUID, []uuid.UUID) (caseload.Outcome, error), people []uuid.UUID) caseload.Outcome {
			t.Helper()
			out, err := f(ctx, c, uuid.New(), me, people)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		if out := do(caseload.StartWatching, append([]uuid.UUID{uuid.New()}, people[:20]...)); len(out.Already) != 0 || len(out.Missing) != 1 {
			t.Errorf("watch 20 and a stranger: %+v", out)
		}
		if out := do(caseload.StartWatching, people[:25]); len(out.Already) != 20 || len(out.Missing) != 0 {
			t.Errorf("watch 25 of whom 20 are watched: %+v", out)
		}
		if out := do(caseload.StopWatching, people); len(out.Already) != 0 || len(out.Missing) != 5 {
			t.Errorf("stop watching 30 of whom 25 are watched: %+v", out)
		}
		if out := do(caseload.StopWatching, people); len(out.Already) != 25 || len(out.Missing) != 5 {
			t.Errorf("stop watching again: %+v", out)
		}
	})
}

func TestOutboxHasOneLineForEach(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		c, people := fill(t, db.DB, 10)
		ctx, task := t.Context(), uuid.New()
		letters := []caseload.Letter{{Person: people[0], Address: "a@example.org", MessageID: "x"}, {Person: people[1], Refused: "no mail address"}}
		if err := caseload.Record(ctx, c, task, letters); err != nil {
			t.Fatal(err)
		}
		settled, err := caseload.Settled(ctx, c, task, people)
		if err != nil || len(settled) != 2 || !settled[people[0]] || !settled[people[1]] {
			t.Errorf("settled: %v, %v", settled, err)
		}
		if other, err := caseload.Settled(ctx, c, uuid.New(), people); err != nil || len(other) != 0 {
			t.Errorf("of another task: %v, %v", other, err)
		}
		if err := caseload.Record(ctx, c, task, letters[:1]); !ent.IsConstraintError(err) {
			t.Errorf("a second line for the same person and task: %v, want a constraint error", err)
		}
		if f := audit(t, c, caseload.ActionMail, task, people[:2]); !f.Clean() {
			t.Errorf("ledger: %v", f)
		}
	})
}

func TestPartsReplaceThemselves(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		c, people := fill(t, db.DB, 10)
		ctx, task := t.Context(), uuid.New()
		rows, missing, err := caseload.ExportRows(ctx, c, append(people[:2:2], uuid.New()))
		if err != nil || len(rows) != 2 || len(missing) != 1 || rows[0][0] != people[0].String() {
			t.Fatalf("rows %v, missing %v, %v", rows, missing, err)
		}
		later := people[1]
		for _, p := range []caseload.Part{
			{First: later, Number: 1, Data: []byte("three")},
			{Number: 1, Data: []byte("old")},
			{Number: 2, Data: []byte("two")},
			{Number: 1, Data: []byte("one")},
			{First: people[0], Number: 1, Data: []byte("before")},
			{First: later, Number: 2, Data: []byte("four")},
		} {
			if err := caseload.PutPart(ctx, c, task, p); err != nil {
				t.Fatal(err)
			}
		}
		read := func() (all string) {
			err := caseload.EachPart(ctx, c, task, func(_ int, data []byte) error { all += string(data) + ";"; return nil })
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		if got := read(); got != "one;two;before;three;four;" {
			t.Errorf("parts %q, want one;two;before;three;four;", got)
		}
		if err := caseload.DropParts(ctx, c, task); err != nil || read() != "" {
			t.Errorf("after dropping: %q, %v", read(), err)
		}
	})
}
