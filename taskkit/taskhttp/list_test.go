package taskhttp_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// listOf returns the jobs of a page.
func listOf(t *testing.T, document *documented, template string, r reply) (ids []taskkit.ID) {
	t.Helper()
	document.conforms(t, "GET", template, r)
	var page struct{ Jobs []struct{ ID taskkit.ID } }
	decode(t, r.body, &page)
	for _, j := range page.Jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

// The lists have the jobs that were started, and their children on request. A job is in the list of those that are
// RUNNING while a child runs.
func TestListsHaveNoChildren(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		document := newDocument(t)
		e.runWorker(t)
		waiting := submit(t, e, workKind, workSpec{Mode: done}, taskkit.WithQueue("unserved"))
		id := submit(t, e, teamKind, teamSpec{Modes: []string{hold, hold}, After: taskkit.FailParent})
		var below []taskkit.ID
		for _, c := range e.children(t, id, 2) {
			e.batch(t, c.ID)
			below = append([]taskkit.ID{c.ID}, below...)
		}
		running := append(slices.Clone(below), id)
		for query, want := range map[string][]taskkit.ID{
			"":                              {id, waiting},
			"?children=false":               {id, waiting},
			"?children=true":                append(slices.Clone(running), waiting),
			"?parent=" + id.String():        below,
			"?kind=work":                    {waiting},
			"?status=RUNNING":               {id},
			"?status=RUNNING&children=true": running,
			"?status=RUNNING&kind=work":     nil,
			"?status=STOPPING":              nil,
		} {
			if got := listOf(t, document, "/jobs", e.do(t, "GET", "/jobs"+query, "")); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", query, got, want)
			}
			if got := listOf(t, document, "/jobs/operator/jobs", e.operate(t, "GET", "/jobs"+query, "")); !slices.Equal(got, want) {
				t.Errorf("%s for operators: %v, want %v", query, got, want)
			}
		}
		if got := listOf(t, document, "/jobs", e.as(uuid.New()).do(t, "GET", "/jobs?parent="+id.String(), "")); len(got) != 0 {
			t.Errorf("the children of the job of another person: %v", got)
		}
		for _, bad := range []string{"?children=yes", "?children=", "?parent=x", "?parent=" + uuid.Nil.String()} {
			check(t, bad, e.do(t, "GET", "/jobs"+bad, ""), 400, taskhttp.ErrBadParameter)
			check(t, bad+" for operators", e.operate(t, "GET", "/jobs"+bad, ""), 400, taskhttp.ErrBadParameter)
		}
		e.do(t, "POST", path(id)+"/stop", "")
		if got := listOf(t, document, "/jobs", e.do(t, "GET", "/jobs?status=RUNNING", "")); len(got) != 0 {
			t.Errorf("%v is STOPPING, and listed as RUNNING", got)
		}
	})
}

// The dead letters are the jobs that were started, and their children on request.
func TestDeadLettersHaveNoChildren(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		document := newDocument(t)
		e.runWorker(t)
		id := submit(t, e, teamKind, teamSpec{Modes: []string{fail}, After: taskkit.FailParent})
		e.reach(t, id, taskhttp.Failed)
		child := e.children(t, id, 1)[0].ID
		for query, want := range map[string][]taskkit.ID{"": {id}, "?children=true": {child, id}, "?code=target_gone": nil, "?code=target_gone&children=true": {child}} {
			if got := listOf(t, document, "/jobs/operator/dead/jobs", e.operate(t, "GET", "/dead/jobs"+query, "")); !slices.Equal(got, want) {
				t.Errorf("%s: %v, want %v", query, got, want)
			}
			if got := listed[taskhttp.DeadGroups](t, e.operate(t, "GET", "/dead"+query, "")).Groups; len(got) != len(want) {
				t.Errorf("%s: groups %+v, want %d", query, got, len(want))
			}
		}
		check(t, "a flag", e.operate(t, "GET", "/dead?children=1", ""), 400, taskhttp.ErrBadParameter)
		check(t, "no selection", e.operate(t, "POST", "/dead/retry", `{"children":true}`), 400, taskhttp.ErrBadParameter)
		// The child cannot be retried alone, and its parent retries it.
		if report := listed[taskhttp.DeadReport](t, e.operate(t, "POST", "/dead/retry", `{"code":"target_gone","children":true}`)); report.Done != 0 || report.Refused != 1 {
			t.Errorf("%+v", report)
		}
		if report := listed[taskhttp.DeadReport](t, e.operate(t, "POST", "/dead/retry", `{"all":true}`)); report.Done != 1 || report.Refused != 0 {
			t.Errorf("%+v", report)
		}
	})
}
