package targets_test

import (
	"strings"
	"testing"

	"github.com/go-playground/validator/v10"
	"github.com/google/uuid"

	"taskkit.dev/executors/targets"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent/person"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

func TestValidate(t *testing.T) {
	t.Parallel()
	one := []uuid.UUID{uuid.New()}
	many := make([]uuid.UUID, 100_001)
	for i := range many {
		many[i] = uuid.New()
	}
	for name, c := range map[string]struct {
		targets.Targets
		want string // a part of the error; "" is none
	}{
		"ids":                    {targets.Targets{People: one}, ""},
		"as many as may be":      {targets.Targets{People: many[1:]}, ""},
		"query":                  {targets.Targets{Query: &targets.Query{Coach: "k"}}, ""},
		"everyone":               {targets.Targets{Query: &targets.Query{Everyone: true, Max: 10}}, ""},
		"none":                   {targets.Targets{None: true}, "needs people"},
		"nothing":                {targets.Targets{}, "required_without_all"},
		"an empty list":          {targets.Targets{People: []uuid.UUID{}}, "exactly one"},
		"ids and query":          {targets.Targets{People: one, Query: &targets.Query{Coach: "k"}}, "exactly one"},
		"query and none":         {targets.Targets{Query: &targets.Query{Coach: "k"}, None: true}, "needs people"},
		"empty query":            {targets.Targets{Query: &targets.Query{Max: 5}}, "no criterion"},
		"everyone and a coach":   {targets.Targets{Query: &targets.Query{Everyone: true, Coach: "k"}}, "drop one"},
		"an id twice":            {targets.Targets{People: append(one, one...)}, "unique"},
		"too many ids":           {targets.Targets{People: many}, "max"},
		"no such status":         {targets.Targets{Query: &targets.Query{Status: "gone"}}, "oneof"},
		"more than anybody has":  {targets.Targets{Query: &targets.Query{Everyone: true, Max: 1_000_001}}, "max"},
		"fewer than none at all": {targets.Targets{Query: &targets.Query{Everyone: true, Max: -1}}, "min"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := validator.New(validator.WithRequiredStructEnabled()).Struct(c.Targets)
			if err == nil {
				err = c.ValidateSome()
			}
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if err := (targets.Targets{None: true}).Validate(); err != nil {
		t.Errorf("nobody, where that is allowed: %v", err)
	}
}

// TestWalk changes the people while a query is walked: people who come later or leave
// ahead of the cursor are not processed, and nobody is processed twice.
func TestWalk(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		ctx := t.Context()
		if err := caseload.Create(ctx, db.DB); err != nil {
			t.Fatal(err)
		}
		if _, err := caseload.Generate(ctx, db.DB, 50, 1); err != nil {
			t.Fatal(err)
		}
		c, err := caseload.Open(ctx, db.DB)
		if err != nil {
			t.Fatal(err)
		}
		all, err := caseload.People(ctx, c, caseload.Query{}, uuid.Nil, uuid.Nil, 100)
		if err != nil {
			t.Fatal(err)
		}
		to := targets.Targets{Query: &targets.Query{Everyone: true}}
		first, err := to.Query.Page(ctx, c, targets.Cursor{}, 20)
		if err != nil || len(first.People) != 20 || first.Next != taskkit.More || first.Total != 50 {
			t.Fatalf("first page: %d of %d, %v, %v", len(first.People), first.Total, first.Next, err)
		}
		again, err := to.Query.Page(ctx, c, first.Here, 20)
		if err != nil || again.After != first.After {
			t.Errorf("the same page again ends at %v, %v; want %v", again.After, err, first.After)
		}
		const late = "school_id,first_name,last_name,coach\nL1,Late,Comer,k\n"
		if _, err := caseload.Import(ctx, db.DB, strings.NewReader(late)); err != nil {
			t.Fatal(err)
		}
		c.Person.DeleteOneID(all[30]).ExecX(ctx)
		second, err := to.Query.Page(ctx, c, first.After, 29)
		if err != nil || len(second.People) != 29 || second.Next != taskkit.Done || second.People[0] != all[20] || second.People[28] != all[49] {
			t.Errorf("second page: %d people, %v, %v; want 29 and done", len(second.People), second.Next, err)
		}
	})
}

func TestQueryIsBounded(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	if err := caseload.Create(t.Context(), db.DB); err != nil {
		t.Fatal(err)
	}
	if _, err := caseload.Generate(t.Context(), db.DB, 11, 1); err != nil {
		t.Fatal(err)
	}
	c, err := caseload.Open(t.Context(), db.DB)
	if err != nil {
		t.Fatal(err)
	}
	to := targets.Targets{Query: &targets.Query{Everyone: true, Max: 10}}
	if _, err := to.Query.Page(t.Context(), c, targets.Cursor{}, 5); !taskkit.IsPermanent(t.Context(), err) {
		t.Errorf("11 people for a query of at most 10: %v, want a permanent error", err)
	}
	to.Query.Max = 11
	if p, err := to.Query.Page(t.Context(), c, targets.Cursor{}, 5); err != nil || len(p.People) != 5 {
		t.Errorf("11 people for a query of at most 11: %d, %v", len(p.People), err)
	}
}

// The people of a query are in as many buckets as they fill, each once, and a list is one
// bucket.
func TestSegments(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		ctx := t.Context()
		if err := caseload.Create(ctx, db.DB); err != nil {
			t.Fatal(err)
		}
		if _, err := caseload.Generate(ctx, db.DB, 100, 1); err != nil {
			t.Fatal(err)
		}
		c, err := caseload.Open(ctx, db.DB)
		if err != nil {
			t.Fatal(err)
		}
		everyone := targets.Targets{Query: &targets.Query{Everyone: true}}
		for _, test := range []struct {
			to        targets.Targets
			perBucket int
			want      int
		}{
			{everyone, 0, 1},
			{everyone, 30, 4},
			{everyone, 1, targets.MaxBuckets},
			{targets.Targets{Query: &targets.Query{Coach: "nobody"}}, 1, 1},
			{targets.Targets{People: []uuid.UUID{uuid.New(), uuid.New()}}, 1, 1},
		} {
			plan, err := test.to.Segments(ctx, c, db.DB, test.perBucket)
			if err != nil || plan.Len() != test.want {
				t.Fatalf("%+v by %d: %v, %v; want %d segments", test.to, test.perBucket, plan, err, test.want)
			}
			if err := plan.Verify(string(db.Dialect)); err != nil {
				t.Error(err)
			}
			if test.to.Query == nil || !test.to.Query.Everyone {
				continue
			}
			met := 0
			for _, s := range plan.All() {
				p, err := everyone.Query.Page(ctx, c, targets.Cursor{}, 1000, s.Where(person.FieldID))
				if err != nil || p.Next != taskkit.Done || len(p.People) != p.Total || p.Total > 100/test.want+2 {
					t.Errorf("%s: %d of %d people, %v", s, len(p.People), p.Total, err)
				}
				met += len(p.People)
			}
			if met != 100 {
				t.Errorf("%d people in %d segments, want 100", met, plan.Len())
			}
		}
		everyone.Query.Max = 99
		if _, err := everyone.Segments(ctx, c, db.DB, 30); !taskkit.IsPermanent(ctx, err) {
			t.Errorf("100 people for a query of at most 99: %v, want a permanent error", err)
		}
	})
}
