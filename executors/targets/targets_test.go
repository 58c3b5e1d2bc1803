package targets_test

import (
	"strings"
	"testing"

	"github.com/go-playground/validator/v10"
	"github.com/google/uuid"

	"taskkit.dev/executors/targets"
	"taskkit.dev/internal/demo/caseload"
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

// TestWalk changes the people while a query is walked: who comes later is not
// met, who leaves ahead of the cursor is not, and nobody is met twice.
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
	if _, err := to.Query.Page(t.Context(), c, targets.Cursor{}, 5); taskkit.Classify(t.Context(), err) != taskkit.ClassPermanent {
		t.Errorf("11 people for a query of at most 10: %v, want a permanent error", err)
	}
	to.Query.Max = 11
	if p, err := to.Query.Page(t.Context(), c, targets.Cursor{}, 5); err != nil || len(p.People) != 5 {
		t.Errorf("11 people for a query of at most 11: %d, %v", len(p.People), err)
	}
}
