package taskkit_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// A submission without an owner, or with the zero UUID as a person, is refused
// and stores nothing.
func TestSubmitNeedsOwner(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		person := uuid.New()
		r := registered(countKind, counting("w"))
		for name, c := range map[string]struct {
			opts   []taskkit.SubmitOption
			option string
		}{
			"no owner":       {nil, "Submit"},
			"run-as only":    {[]taskkit.SubmitOption{taskkit.RunAs(person)}, "Submit"},
			"actor only":     {[]taskkit.SubmitOption{taskkit.WithActor(person)}, "Submit"},
			"zero owner":     {[]taskkit.SubmitOption{taskkit.OwnedBy(uuid.Nil)}, "OwnedBy"},
			"zero run-as":    {[]taskkit.SubmitOption{taskkit.System(), taskkit.RunAs(uuid.Nil)}, "RunAs"},
			"zero submitter": {[]taskkit.SubmitOption{taskkit.System(), taskkit.WithActor(uuid.Nil)}, "WithActor"},
		} {
			opts := slices.Concat(c.opts, []taskkit.SubmitOption{taskkit.WithSchema(schemaOf(db))})
			_, one := taskkit.Submit(t.Context(), db.DB, countKind, countSpec{}, opts...)
			_, many := taskkit.SubmitMany(t.Context(), db.DB, countKind, make([]countSpec, 2), opts...)
			_, text := r.SubmitJSON(t.Context(), db.DB, "count", []byte(`{"items":1}`), opts...)
			for call, err := range map[string]error{"Submit": one, "SubmitMany": many, "SubmitJSON": text} {
				if option, ok := errors.AsType[*taskkit.OptionError](err); !ok || option.Option != c.option {
					t.Errorf("%s, %s: got %v, want an *OptionError of %s", name, call, err, c.option)
				}
			}
		}
		if tasks, _, err := clientOf(db).Tasks(t.Context(), taskkit.Filter{}); err != nil || len(tasks) != 0 {
			t.Errorf("stored %d tasks, %v", len(tasks), err)
		}
	})
}

// The owner, the person as whom a task runs and the one who submitted it are
// stored as given, and have defaults.
func TestSubmitPeople(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		owner, runAs, actor := uuid.New(), uuid.New(), uuid.New()
		for name, c := range map[string]struct {
			opts []taskkit.SubmitOption
			want [3]uuid.UUID
		}{
			"system":          {[]taskkit.SubmitOption{taskkit.System()}, [3]uuid.UUID{taskkit.SystemOwner, taskkit.SystemOwner, taskkit.SystemOwner}},
			"owner":           {[]taskkit.SubmitOption{taskkit.OwnedBy(owner)}, [3]uuid.UUID{owner, owner, owner}},
			"owner and actor": {[]taskkit.SubmitOption{taskkit.OwnedBy(owner), taskkit.WithActor(actor)}, [3]uuid.UUID{owner, owner, actor}},
			"all three": {
				[]taskkit.SubmitOption{taskkit.OwnedBy(owner), taskkit.RunAs(runAs), taskkit.WithActor(actor)},
				[3]uuid.UUID{owner, runAs, actor},
			},
		} {
			id := submitted(t, db, countKind, countSpec{}, c.opts...)
			got, err := clientOf(db).Task(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if have := [3]uuid.UUID{got.Owner, got.RunAs, got.CreatedBy}; have != c.want {
				t.Errorf("%s: owner, run-as and creator %v, want %v", name, have, c.want)
			}
		}
		ids, err := taskkit.SubmitMany(t.Context(), db.DB, countKind, []countSpec{{Items: 1}, {Items: 2}},
			taskkit.OwnedBy(owner), taskkit.WithActor(actor), taskkit.WithSchema(schemaOf(db)))
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if got, err := clientOf(db).Task(t.Context(), id); err != nil || got.Owner != owner || got.CreatedBy != actor {
				t.Errorf("of many: %+v, %v", got, err)
			}
		}
		if want := "00000000-0000-8000-8000-73797374656d"; taskkit.SystemOwner.String() != want {
			t.Errorf("SystemOwner is %s, want %s", taskkit.SystemOwner, want)
		}
	})
}
