package taskhttp_test

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"reflect"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// inQueue makes jobs of a start wait in a queue.
func inQueue(name string) taskhttp.StartOption[workSpec] {
	return withOptions(taskkit.WithQueue(name))
}

func withOptions(opts ...taskkit.SubmitOption) taskhttp.StartOption[workSpec] {
	return taskhttp.Before(optionsOf[workSpec](opts...))
}

// optionsOf returns a function for taskhttp.Before that submits with options.
func optionsOf[Spec any](opts ...taskkit.SubmitOption) func(context.Context, *sql.Tx, taskhttp.Caller, *Spec) ([]taskkit.SubmitOption, error) {
	return func(context.Context, *sql.Tx, taskhttp.Caller, *Spec) ([]taskkit.SubmitOption, error) {
		return opts, nil
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		r := e.do(t, "POST", startPath, `{"mode":"done"}`)
		j := r.job(t)
		if r.status != 202 || r.header.Get("Location") != path(j.ID) || r.header.Get("Retry-After") != "1" ||
			j.Status != taskhttp.Queuing || j.Reason != "worker" || j.Kind != "work" || j.Title != "Work" || j.Done || j.Progress != nil {
			t.Errorf("%d %v %s", r.status, r.header, r.body)
		}
		task, err := e.client.Task(t.Context(), j.ID)
		if err != nil || task.Owner != e.person || task.RunAs != e.person || task.CreatedBy != e.person {
			t.Errorf("stored: %+v, %v", task, err)
		}
	})
}

// The answer to a start is what a watch returns then, whether the job was read for it or not.
func TestStartAnswersAsAWatch(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		taskhttp.Start(e.jobs, "POST /people/later", workKind, withOptions(taskkit.WithDelay(time.Hour)))
		taskhttp.Start(e.jobs, "POST /people/waiting", workKind, withOptions(taskkit.WithApproval()))
		for _, c := range []struct{ path, body string }{
			{startPath, `{"mode":"done"}`},
			{startPath, `{"mode":"done"}`},
			{piecesPath, `{"pieces":["a","b"]}`},
			{"/people/later", `{"mode":"done"}`},
			{"/people/waiting", `{"mode":"done"}`},
		} {
			r := e.do(t, "POST", c.path, c.body)
			if r.status != http.StatusAccepted {
				t.Fatalf("%s: %d %s", c.path, r.status, r.body)
			}
			got := r.job(t)
			want := e.do(t, "GET", path(got.ID), "").job(t)
			if off := want.CreatedAt.Sub(got.CreatedAt).Abs(); off > testdb.Patience(t) {
				t.Errorf("%s: created %v, and read as %v", c.path, got.CreatedAt, want.CreatedAt)
			}
			got.CreatedAt, got.ElapsedMS = want.CreatedAt, want.ElapsedMS
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s:\ngot  %+v\nread %+v", c.path, got, want)
			}
		}
	})
}

// A job is started at the address of its kind, and at no other.
func TestSSP29NoGenericStart(t *testing.T) {
	t.Parallel()
	e := newEnv(t, testdb.SQLite(t))
	for _, address := range []string{"/jobs", "/jobs/", "/jobs/bulk", "/jobs/work", "/jobs/kinds/work", "/bulk", "/people", startPath + "/bulk"} {
		r := e.do(t, "POST", address, `{"kind":"work","spec":{"mode":"done"},"mode":"done"}`)
		if r.status != http.StatusNotFound && r.status != http.StatusMethodNotAllowed {
			t.Errorf("POST %s: %d %s", address, r.status, r.body)
		}
	}
	if n := tasks(t, e); n != 0 {
		t.Errorf("%d tasks were submitted", n)
	}
}

// A client that prefers to wait gets the end of a quick job at once.
func TestStartThatWaits(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		r := e.do(t, "POST", startPath, `{"mode":"done"}`, "Prefer", "wait=60")
		if r.status != 200 || r.job(t).Status != taskhttp.Succeeded || r.header.Get("Preference-Applied") != "wait=60" {
			t.Errorf("%d %v %s", r.status, r.header, r.body)
		}
		if r := e.do(t, "POST", startPath, `{"mode":"hold"}`, "Prefer", "wait=0"); r.status != 202 {
			t.Errorf("%d %s", r.status, r.body)
		}
	})
}

// A key belongs to a person and a kind, and to one body.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		post := func(e *env, body, key string) reply {
			return e.do(t, "POST", startPath, body, "Idempotency-Key", key)
		}
		first := post(e, `{"mode":"done","token":"a"}`, "k1")
		if first.status != 202 || first.header.Get("Idempotent-Replayed") != "" {
			t.Fatalf("%d %s", first.status, first.body)
		}
		for _, again := range []string{`{"mode":"done","token":"a"}`, ` {"token":"a", "mode":"done"}`} {
			r := post(e, again, `"k1"`)
			if r.status != 202 || r.header.Get("Idempotent-Replayed") != "true" || r.job(t).ID != first.job(t).ID {
				t.Errorf("%s: %d %v %s", again, r.status, r.header, r.body)
			}
		}
		check(t, "another body", post(e, `{"mode":"done","token":"b"}`, "k1"), 422, taskhttp.ErrKeyReused)
		if r := post(e.as(uuid.New()), `{"mode":"done","token":"b"}`, "k1"); r.status != 202 || r.header.Get("Idempotent-Replayed") != "" {
			t.Errorf("another person: %d %s", r.status, r.body)
		}
		if r := post(e, `{"mode":"done","token":"b"}`, "k2"); r.status != 202 || r.job(t).ID == first.job(t).ID {
			t.Errorf("another key: %d %s", r.status, r.body)
		}
		if n := tasks(t, e); n != 2 {
			t.Errorf("%d tasks, want 2", n)
		}
	})
}

// tasks counts the tasks of a person.
func tasks(t *testing.T, e *env) int {
	t.Helper()
	found, _, err := e.client.Tasks(t.Context(), taskkit.Filter{Owner: e.person})
	if err != nil {
		t.Fatal(err)
	}
	return len(found)
}

// What a service writes before belongs to the transaction of the task, and a refusal of
// the service is sent.
func TestBefore(t *testing.T) {
	t.Parallel()
	refusal := &taskhttp.Error{Type: "https://example.org/closed", Title: "Closed", Status: http.StatusConflict}
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE orders (person text NOT NULL)"); err != nil {
			t.Fatal(err)
		}
		taskhttp.Start(e.jobs, "POST /orders", workKind, taskhttp.Before(func(ctx context.Context, tx *sql.Tx, c taskhttp.Caller, spec *workSpec) ([]taskkit.SubmitOption, error) {
			if _, err := tx.ExecContext(ctx, "INSERT INTO orders (person) VALUES ($1)", c.Owner.String()); err != nil {
				return nil, err
			}
			switch spec.Mode {
			case fail:
				return nil, refusal
			case hold:
				return nil, taskkit.Permanent("x", errors.New(secretMarker))
			}
			spec.Token = "filled in"
			return []taskkit.SubmitOption{taskkit.WithUniqueKey("orders")}, nil
		}))
		orders := func() (n int) {
			t.Helper()
			if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM orders").Scan(&n); err != nil {
				t.Fatal(err)
			}
			return n
		}
		check(t, "refused", e.do(t, "POST", "/orders", `{"mode":"fail"}`), 409, refusal)
		check(t, "broken", e.do(t, "POST", "/orders", `{"mode":"hold"}`), 500, taskhttp.ErrInternal)
		check(t, "invalid", e.do(t, "POST", "/orders", `{"mode":"done","items":["1","2","3","4"]}`), 422, taskhttp.ErrSpec)
		if n := orders(); n != 0 {
			t.Errorf("%d orders after refusals", n)
		}
		first := e.do(t, "POST", "/orders", `{"mode":"done"}`, "Idempotency-Key", "k")
		again := e.do(t, "POST", "/orders", `{"mode":"done"}`, "Idempotency-Key", "k")
		if first.status != 202 || again.status != 202 || again.job(t).ID != first.job(t).ID || orders() != 1 {
			t.Errorf("%s and %s, %d orders", first.body, again.body, orders())
		}
		// The unique key is taken: the job is named to who may see it.
		mine := e.do(t, "POST", "/orders", `{"mode":"done"}`)
		check(t, "mine", mine, 409, taskhttp.ErrKeyTaken)
		if p := mine.problem(t); p.Job == nil || p.Job.ID != first.job(t).ID {
			t.Errorf("%s does not name the job", mine.body)
		}
		other := e.as(uuid.New()).do(t, "POST", "/orders", `{"mode":"done"}`)
		check(t, "other", other, 409, taskhttp.ErrKeyTaken)
		if other.problem(t).Job != nil || orders() != 1 {
			t.Errorf("%s, %d orders", other.body, orders())
		}
	})
}
