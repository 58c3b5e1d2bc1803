package taskhttp_test

import (
	"context"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskkind"
)

// seatsSpec is the spec of a task that takes seats.
type seatsSpec struct {
	Seats []int  `json:"seats"`
	For   string `json:"for,omitempty"` // set by the service
}

// seatsKind has tasks that can be previews.
var seatsKind = taskkit.NewKind(taskkind.Definition[seatsSpec, workState, workResult]{
	Name: "seats", Preview: true, BatchSize: 2, MaxBatchSize: 2,
	Targets:    taskkind.TargetsIn("seats", func(s *seatsSpec) *[]int { return &s.Seats }),
	SpecSchema: []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"seats":{"type":["array","null"],"items":{"type":"integer"}},"for":{"type":"string"}},"required":["seats"],"additionalProperties":false}`),
})

const seatsPath = "/people/seats"

// seats is the executor of seatsKind. A negative seat is skipped.
type seats struct{}

func (seats) Execute(ctx context.Context, b *taskkit.Batch[seatsSpec, workState]) (taskkit.Next, error) {
	b.State.Note = stateMarker
	items, next := taskkit.Take(b, b.Spec.Seats)
	for _, i := range items {
		if i < 0 {
			b.Skip(i, "no_seat")
			b.Note(i, "there is no such seat")
			continue
		}
		if _, err := b.Tx.ExecContext(ctx, "INSERT INTO seat_marker (n) VALUES ($1)", i); err != nil {
			return next, err
		}
		b.Note(i, "is taken for "+b.Spec.For)
	}
	return next, nil
}

func (seats) Report(_ context.Context, b *taskkit.Batch[seatsSpec, workState]) (workResult, error) {
	return workResult{Items: len(b.Spec.Seats)}, nil
}

// beforeSeats is what the service of the tests does before it starts such a job.
func beforeSeats(ctx context.Context, tx *sql.Tx, who taskhttp.Caller, spec *seatsSpec) ([]taskkit.SubmitOption, error) {
	if len(spec.Seats) == 0 || spec.Seats[0] != 0 { // a spec that begins with 0 is of a service that writes
		return nil, nil
	}
	spec.For = who.Owner.String()
	_, err := tx.ExecContext(ctx, "INSERT INTO seat_marker (n) VALUES (-1)")
	if taskhttp.Previewing(ctx) {
		return nil, err
	}
	return []taskkit.SubmitOption{taskkit.WithCoalescing("seats")}, err // which a preview cannot have
}

// newSeats makes the table of the seats and returns a function that counts its rows.
func newSeats(t *testing.T, e *env) func() int {
	t.Helper()
	if _, err := e.db.ExecContext(t.Context(), "CREATE TABLE seat_marker (n integer NOT NULL)"); err != nil {
		t.Fatal(err)
	}
	return func() (n int) {
		if err := e.db.QueryRowContext(t.Context(), "SELECT count(*) FROM seat_marker").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// A preview changes nothing, of what the service itself writes too, says what would be changed
// without names of tables, and has keys of its own.
func TestPreviewOverHTTP(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		rows := newSeats(t, e)
		e.runWorker(t)
		const body = `{"seats":[0,1,-2,3,4]}`
		start := func(query string) (taskhttp.Job, http.Header) {
			t.Helper()
			r := e.do(t, "POST", seatsPath+query, body, "Idempotency-Key", "once")
			if r.status != http.StatusAccepted && r.status != http.StatusOK {
				t.Fatalf("start%s: %d %s", query, r.status, r.body)
			}
			return r.job(t), r.header
		}
		j, _ := start("?preview=true")
		if !j.Preview || j.Links["preview"].Href != path(j.ID)+"/preview" {
			t.Errorf("%+v, want a preview", j)
		}
		if again, header := start("?preview=true"); again.ID != j.ID || header.Get("Idempotent-Replayed") != "true" || !again.Preview {
			t.Errorf("again: %+v %v, want the same preview", again, header)
		}
		e.reach(t, j.ID, taskhttp.Succeeded)
		var p taskhttp.Preview
		report := e.do(t, "GET", j.Links["preview"].Href, "").body
		decode(t, report, &p)
		if strings.Contains(report, "seat_marker") {
			t.Errorf("a table is named: %s", report)
		}
		want := []taskhttp.RowChanges{{Verb: "insert", Rows: 4}}
		if !p.Complete || p.Job != j.ID || p.Progress.Succeeded != 4 || p.Progress.Skipped != 1 || len(p.Changes) != 1 || p.Changes[0] != want[0] || p.OtherChanges != 0 {
			t.Errorf("%+v", p)
		}
		if len(p.Notes) != 2 || p.Notes[0] != (taskhttp.ItemNote{Note: "is taken for " + e.person.String(), Items: 4}) || len(p.Samples) != 5 ||
			string(p.Samples[2].Item) != "-2" || p.Samples[2].Outcome != taskkit.OutcomeSkipped {
			t.Errorf("%+v %+v", p.Notes, p.Samples)
		}
		if n := rows(); n != 0 {
			t.Errorf("%d rows after a preview", n)
		}
		other, _ := start("?preview=false")
		if other.ID == j.ID || other.Preview || other.Links["preview"].Href != "" {
			t.Errorf("%+v is a preview", other)
		}
		e.reach(t, other.ID, taskhttp.Succeeded)
		if n := rows(); n != 5 { // and that of the service
			t.Errorf("%d rows, want 5", n)
		}
		check(t, "no preview", e.do(t, "GET", path(other.ID)+"/preview", ""), 409, taskhttp.ErrNotPossible)
		check(t, "another's", e.as(uuid.New()).do(t, "GET", path(j.ID)+"/preview", ""), 404, taskhttp.ErrNoSuchJob)
		for _, query := range []string{"?preview=yes", "?preview", "?preview=true&preview=true", "?previews=true"} {
			check(t, query, e.do(t, "POST", seatsPath+query, body), 400, taskhttp.ErrBadParameter)
		}
		if found, err := e.caller().Preview(t.Context(), j.ID); err != nil || !found.Complete {
			t.Errorf("by the client: %+v, %v", found, err)
		}
	})
}

// Which jobs are previews is known in lists, after a restart and to a server that does not know
// the kind.
func TestPreviewsAreMarked(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		want := map[taskkit.ID]bool{}
		for _, query := range []string{"?preview=true", "", "?preview=true"} {
			r := e.do(t, "POST", seatsPath+query, `{"seats":[1]}`)
			want[r.job(t).ID] = query != ""
		}
		want[e.start(t, done).ID] = false
		for id, preview := range want {
			for _, r := range []reply{e.do(t, "PATCH", path(id), `{"priority":1}`), e.do(t, "POST", path(id)+"/pause", "")} {
				if j := r.job(t); j.ID != id || j.Preview != preview {
					t.Errorf("%d %s, want the preview %v", r.status, r.body, preview)
				}
			}
		}
		bare, err := taskhttp.New(db.DB, taskhttp.Config{Caller: callerOf, Authorize: taskhttp.OwnJobs, Schema: e.schema})
		if err != nil {
			t.Fatal(err)
		}
		for name, server := range map[string]http.Handler{"the same": e.jobs, "another": newEnv(t, db).jobs, "one without kinds": bare} {
			var page taskhttp.Page
			decode(t, answerOf(t, server, e.person, "/jobs"), &page)
			if len(page.Jobs) != len(want) {
				t.Fatalf("%s: %d jobs", name, len(page.Jobs))
			}
			for _, j := range page.Jobs {
				var alone taskhttp.Job
				decode(t, answerOf(t, server, e.person, path(j.ID)), &alone)
				if j.Preview != want[j.ID] || alone.Preview != want[j.ID] {
					t.Errorf("%s: %v and %v, want %v", name, j.Preview, alone.Preview, want[j.ID])
				}
			}
		}
	})
}

// answerOf is the body of an answer to a GET.
func answerOf(t *testing.T, h http.Handler, person uuid.UUID, path string) string {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	r.Header.Set("Person", person.String())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		t.Fatalf("GET %s: %d %s", path, w.Code, w.Body)
	}
	return w.Body.String()
}
