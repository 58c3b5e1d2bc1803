package taskkit_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskjson"
)

// mailSpec has validate tags and a Validate method.
type mailSpec struct {
	People  []mailPerson `json:"people" validate:"max=3,dive"`
	Subject string       `json:"subject" validate:"required"`
}

type mailPerson struct {
	Mail string `json:"mail" validate:"email"`
}

var errShouting = errors.New("do not shout")

// Validate implements the optional check.
func (s *mailSpec) Validate() error {
	if strings.ToUpper(s.Subject) == s.Subject {
		return errShouting
	}
	return nil
}

// The error of a refused spec has the paths of its fields, and nothing is stored.
func TestSubmitRefusesSpecs(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[mailSpec, struct{}]("mail", 1)
		for name, tc := range map[string]struct {
			spec  mailSpec
			paths []string
			err   error
		}{
			"field":    {mailSpec{}, []string{"/subject required"}, nil},
			"nested":   {mailSpec{Subject: "x", People: []mailPerson{{"a@b.org"}, {"nobody"}}}, []string{"/people/1/mail email"}, nil},
			"several":  {mailSpec{People: make([]mailPerson, 4)}, []string{"/people max=3", "/subject required"}, nil},
			"Validate": {mailSpec{Subject: "HELLO"}, nil, errShouting},
			"NUL":      {mailSpec{Subject: "a\x00b"}, nil, nil},
			"UTF-8":    {mailSpec{Subject: "a\xffb"}, nil, nil},
			"size":     {mailSpec{Subject: strings.Repeat("x", taskjson.MaxSize)}, nil, nil},
		} {
			_, err := taskkit.Submit(t.Context(), db.DB, k, tc.spec, taskkit.WithSchema(schemaOf(db)), taskkit.System())
			var se *taskkit.SpecError
			if !errors.As(err, &se) || se.Kind != "mail" {
				t.Errorf("%s: %v, want *SpecError of mail", name, err)
				continue
			}
			var got []string
			for _, f := range se.Fields {
				got = append(got, f.Pointer+" "+f.Rule)
			}
			if strings.Join(got, ";") != strings.Join(tc.paths, ";") {
				t.Errorf("%s: fields %q, want %q", name, got, tc.paths)
			}
			if tc.err != nil && !errors.Is(err, tc.err) {
				t.Errorf("%s: %v does not wrap %v", name, err, tc.err)
			}
		}
		var size *taskjson.Error
		_, err := taskkit.Submit(t.Context(), db.DB, k, mailSpec{Subject: strings.Repeat("x", taskjson.MaxSize)}, taskkit.WithSchema(schemaOf(db)), taskkit.System())
		if !errors.As(err, &size) || size.Problem != taskjson.TooLarge {
			t.Errorf("too large: %v, want a *taskjson.Error of the problem too_large", err)
		}
		r := registered(k, &funcs[mailSpec, struct{}]{})
		for name, raw := range map[string]string{
			"duplicate name": `{"subject":"a","subject":"b"}`, "unknown name": `{"subject":"a","color":1}`,
			"not JSON": `{"subject"`, "trailing": `{"subject":"a"} x`, "NUL": `{"subject":"a\u0000b"}`,
			"surrogate": `{"subject":"\ud800"}`, "UTF-8": "{\"subject\":\"\xff\"}", "type": `{"subject":7}`,
			"depth": strings.Repeat("[", 200) + strings.Repeat("]", 200),
		} {
			var se *taskkit.SpecError
			if _, err := r.SubmitJSON(t.Context(), db.DB, "mail", []byte(raw), taskkit.WithSchema(schemaOf(db)), taskkit.System()); !errors.As(err, &se) {
				t.Errorf("JSON with %s: %v, want *SpecError", name, err)
			}
		}
		var unknown *taskkit.UsageError
		if _, err := r.SubmitJSON(t.Context(), db.DB, "fax", []byte(`{}`), taskkit.System()); !errors.As(err, &unknown) || unknown.What != `kind "fax"` {
			t.Errorf("unknown kind: %v, want *UsageError", err)
		}
		if _, err := taskkit.Submit[mailSpec, struct{}, struct{}](t.Context(), db.DB, nil, mailSpec{}, taskkit.System()); !errors.As(err, &unknown) {
			t.Errorf("nil kind: %v, want *UsageError", err)
		}
		var option *taskkit.OptionError
		for name, o := range map[string][]taskkit.SubmitOption{
			"priority": {taskkit.WithPriority(9)}, "queue": {taskkit.WithQueue("")}, "NUL": {taskkit.WithUniqueKey("a\x00")},
			"schema": {taskkit.WithSchema("x; DROP TABLE y")}, "delay": {taskkit.WithDelay(-time.Second)},
			"both times": {taskkit.WithDelay(time.Second), taskkit.WithNotBefore(time.Now())}, "total": {taskkit.WithTotal(-1)},
		} {
			if _, err := taskkit.Submit(t.Context(), db.DB, k, mailSpec{Subject: "x"}, append(o, taskkit.System())...); !errors.As(err, &option) {
				t.Errorf("%s: %v, want *OptionError", name, err)
			}
		}
		if tasks, _, err := clientOf(db).Tasks(t.Context(), taskkit.Filter{}); err != nil || len(tasks) != 0 {
			t.Errorf("%d tasks were stored (%v)", len(tasks), err)
		}
	})
}

// A task submitted in a transaction exists if the transaction commits.
func TestSubmitInTransaction(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		in := taskkit.WithSchema(schemaOf(db))
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		rolledBack, err := taskkit.Submit(t.Context(), tx, countKind, countSpec{}, in, taskkit.System())
		if err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if tx, err = db.BeginTx(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		owner, runAs := uuid.New(), uuid.New()
		committed, err := taskkit.Submit(t.Context(), tx, countKind, countSpec{Items: 7}, in, taskkit.OwnedBy(owner),
			taskkit.RunAs(runAs), taskkit.WithPriority(taskkit.PriorityHigh), taskkit.WithQueue("night"),
			taskkit.WithReason("a test"), taskkit.WithUniqueKey("k"), taskkit.WithDelay(time.Hour), taskkit.WithTotal(7))
		if err != nil {
			t.Fatal(err)
		}
		// A duplicate is reported, and the transaction stays usable.
		var dup *taskkit.DuplicateError
		if _, err := taskkit.Submit(t.Context(), tx, countKind, countSpec{}, in, taskkit.WithUniqueKey("k"), taskkit.System()); !errors.As(err, &dup) || dup.ID != committed || dup.By != "unique key" {
			t.Errorf("second task with the key: %v, want *DuplicateError of the unique key with %s", err, committed)
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
		c := clientOf(db)
		if _, err := c.Task(t.Context(), rolledBack); !errors.Is(err, taskkit.ErrNotFound) {
			t.Errorf("task of a transaction that was rolled back: %v", err)
		}
		task, err := taskkit.Get(t.Context(), c, countKind, committed)
		if err != nil {
			t.Fatal(err)
		}
		if task.Spec.Items != 7 || task.Task.Owner != owner || task.Task.RunAs != runAs || task.Task.Priority != taskkit.PriorityHigh ||
			task.Task.Queue != "night" || task.Task.Reason != "a test" || task.Task.UniqueKey != "k" || task.Task.Status != taskkit.StatusQueued ||
			task.Task.Progress.Total != 7 || task.Task.Wait < 59*time.Minute {
			t.Errorf("stored %+v", task)
		}
	})
}

// SubmitMany stores many specs in few statements, or none of them.
func TestSubmitMany(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		in := taskkit.WithSchema(schemaOf(db))
		ids, err := taskkit.SubmitMany(t.Context(), db.DB, countKind, make([]countSpec, 10_000), in, taskkit.System())
		if err != nil || len(ids) != 10_000 {
			t.Fatalf("%d ids, %v", len(ids), err)
		}
		counts, exact, err := clientOf(db).Counts(t.Context(), "")
		if err != nil || !exact || counts[taskkit.StatusQueued] != 10_000 {
			t.Errorf("counts %v, %v", counts, err)
		}
		var se *taskkit.SpecError
		if _, err := taskkit.SubmitMany(t.Context(), db.DB, countKind, []countSpec{{1}, {-1}}, in, taskkit.System()); !errors.As(err, &se) || se.Index != 1 {
			t.Errorf("one bad spec: %v, want *SpecError with index 1", err)
		}
		var option *taskkit.OptionError
		if _, err := taskkit.SubmitMany(t.Context(), db.DB, countKind, make([]countSpec, 2), in, taskkit.WithUniqueKey("k"), taskkit.System()); !errors.As(err, &option) {
			t.Errorf("a key for two: %v, want *OptionError", err)
		}
		if ids, err := taskkit.SubmitMany(t.Context(), db.DB, countKind, nil, in, taskkit.System()); err != nil || len(ids) != 0 {
			t.Errorf("nothing to submit: %v, %v", ids, err)
		}
	})
}
