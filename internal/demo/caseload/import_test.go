package caseload_test

import (
	"errors"
	"strings"
	"testing"

	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent/enrolment"
	"taskkit.dev/internal/demo/caseload/ent/person"
	"taskkit.dev/internal/testkit/testdb"
)

func TestImport(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		c, ctx := empty(t, db.DB), t.Context()
		const file = "\ufeffCoach, school_id,first_name,last_name,email,program,status\r\n" +
			"r.diaz,A1, Ana ,\"de la Cruz\",ana@example.org,honors,paused\r\n" +
			"r.diaz,A1,Ana,de la Cruz,ana@example.org,success,\r\n" +
			"k.lee,A2,\"Bo \"\"B\"\"\",Østergård,,,\r\n"
		n, err := caseload.Import(ctx, db.DB, strings.NewReader(file))
		if err != nil || n != 2 {
			t.Fatalf("imported %d, %v; want 2", n, err)
		}
		ana := c.Person.Query().Where(person.SchoolID("A1")).WithEnrolments().OnlyX(ctx)
		if ana.FirstName != "Ana" || ana.NameKey != "de la cruz, ana" || len(ana.Edges.Enrolments) != 2 || *ana.Email != "ana@example.org" {
			t.Errorf("A1 is %v with %d enrolments", ana, len(ana.Edges.Enrolments))
		}
		bo := c.Person.Query().Where(person.SchoolID("A2")).OnlyX(ctx)
		if bo.FirstName != `Bo "B"` || bo.Email != nil {
			t.Errorf("A2 is %v", bo)
		}
		if s := c.Enrolment.Query().Where(enrolment.PersonID(bo.ID)).OnlyX(ctx); s.ProgramID != caseload.Success || s.Status != caseload.Active {
			t.Errorf("A2 is enrolled as %v", s)
		}
	})
}

func TestImportRefusesWhole(t *testing.T) {
	t.Parallel()
	const head = "school_id,first_name,last_name,email,coach,program,status\n"
	for name, c := range map[string]struct{ file, want string }{
		"empty file":     {"", "line 1: the file is empty: the first line names the columns"},
		"only a header":  {head, "line 1: the file names columns and nobody"},
		"missing column": {"school_id,first_name,last_name\n", "line 1, coach: this column is missing"},
		"unknown column": {strings.Replace(head, "program", "programme", 1), "line 1, programme: unknown column; there are school_id, first_name, last_name, email, coach, program, status"},
		"column twice":   {"school_id,first_name,last_name,coach,coach\n", "line 1, coach: there twice"},
		"empty field":    {head + "S1,A,B,,k,,\nS2,,B,,k,,\n", "line 3, first_name: empty"},
		"no address":     {head + "S1,A,B,nobody,k,,\n", `line 2, email: "nobody" is no mail address`},
		"status":         {head + "S1,A,B,,k,honors,gone\n", `line 2, status: "gone" is none of active, paused and exited`},
		"same id":        {head + "S1,A,B,,k,,\nS1,C,D,,k,honors,\n", `line 3, school_id: "S1" is somebody else on line 2`},
		"same program":   {head + "S1,A,B,,k,,\nS1,A,B,,k,,\n", `line 3, program: "S1" is in "success" already, on line 2 or below`},
		"too few fields": {head + "S1,A,B,,k,,\nS2,A\nS3,,B,,k,,\n", "line 3: wrong number of fields\n\tline 4, first_name: empty"},
		"after a field of two lines": {
			head + "S1,\"A\nA\",B,,k,,\nS2,,B,,k,,\n",
			"line 4, first_name: empty",
		},
		"bare quote": {head + "S1,A,,,k,,\nS2,A\"A\",B,,k,,\nS3,,B,,k,,\n", "line 2, last_name: empty\n\tline 3: bare \" in non-quoted-field"},
		"not UTF-8":  {head + "S1,A,M\xfcller,,k,,\n", "line 2, last_name: not UTF-8: save the file as UTF-8"},
		"NUL":        {head + "S1,A,B\x00,,k,,\n", "line 2, last_name: not UTF-8: save the file as UTF-8"},
		"too long":   {head + "S1,A," + strings.Repeat("x", 201) + ",,k,,\n", "line 2, last_name: longer than 200 characters"},
		"taken":      {head + "S2,A,B,,k,,\nS0000001,A,B,,k,,\n", `line 3, school_id: "S0000001" is in the database already`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testdb.Each(t, func(t *testing.T, db *testdb.DB) {
				client, _ := fill(t, db.DB, 3)
				n, err := caseload.Import(t.Context(), db.DB, strings.NewReader(c.file))
				var refused *caseload.ImportError
				if !errors.As(err, &refused) || n != 0 {
					t.Fatalf("imported %d, %v; want an *ImportError", n, err)
				}
				if _, got, _ := strings.Cut(err.Error(), "\n\t"); got != c.want {
					t.Errorf("problems:\n\t%s\nwant:\n\t%s", got, c.want)
				}
				if n := client.Person.Query().CountX(t.Context()); n != 3 {
					t.Errorf("%d people afterwards, want the 3 there were", n)
				}
			})
		})
	}
}

func TestImportListsSomeProblems(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	empty(t, db.DB)
	_, err := caseload.Import(t.Context(), db.DB, strings.NewReader("school_id,first_name,last_name,coach\n"+strings.Repeat(",,,\n", 500)))
	var refused *caseload.ImportError
	if !errors.As(err, &refused) || len(refused.Problems) != 100 || refused.More != 1900 {
		t.Fatalf("%d problems and %d more, want 100 and 1900", len(refused.Problems), refused.More)
	}
}
