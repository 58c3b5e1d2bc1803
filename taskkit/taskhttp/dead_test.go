package taskhttp_test

import (
	"slices"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// Dead letters are grouped, listed page by page, retried and dropped, with the person and the reason.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		if r := e.operate(t, "GET", "/dead", ""); r.body != "{\"groups\":[]}\n" {
			t.Errorf("no dead letters: %s", r.body)
		}
		var ids []taskkit.ID
		for range 3 {
			ids = append(ids, e.deadJob(t))
		}
		groups := listed[taskhttp.DeadGroups](t, e.operate(t, "GET", "/dead?kind=work&code=target_gone&queue=default", "")).Groups
		if len(groups) != 1 || groups[0].Kind != "work" || groups[0].Code != "target_gone" || groups[0].Jobs != 3 || groups[0].Example != ids[2] {
			t.Errorf("groups %+v", groups)
		}
		for _, none := range []string{"kind=other", "code=other", "queue=other", "olderThan=1h"} {
			if groups := listed[taskhttp.DeadGroups](t, e.operate(t, "GET", "/dead?"+none, "")).Groups; len(groups) != 0 {
				t.Errorf("%s: %+v", none, groups)
			}
		}
		var all []taskkit.ID
		for next := "/dead/jobs?limit=2"; next != ""; {
			page := listed[taskhttp.DeadPage](t, e.operate(t, "GET", next, ""))
			for _, j := range page.Jobs {
				all = append(all, j.ID)
				if j.Kind != "work" || j.Queue != "default" || j.Code != "target_gone" || j.Owner == uuid.Nil || j.FinishedAt == nil {
					t.Errorf("dead letter %+v", j)
				}
			}
			if next = ""; page.Next != "" {
				next = "/dead/jobs?limit=2&cursor=" + page.Next
			}
		}
		if slices.Reverse(all); !slices.Equal(all, ids) {
			t.Errorf("listed %v, want %v", all, ids)
		}
		retried := listed[taskhttp.DeadReport](t, e.operate(t, "POST", "/dead/retry", `{"kind":"work","reason":"the target is back"}`))
		if retried.Done != 3 || retried.Refused != 0 {
			t.Errorf("retried %+v", retried)
		}
		for _, id := range ids {
			if _, err := e.client.Wait(testdb.Within(t), id, nil); err != nil {
				t.Fatal(err)
			}
			if !e.did(t, id, "retry", "the target is back") {
				t.Errorf("the events of %s do not have the retry", id)
			}
		}
		dropped := listed[taskhttp.DeadReport](t, e.operate(t, "POST", "/dead/drop", `{"all":true,"reason":"they are too old"}`))
		if dropped.Done != 3 || dropped.Refused != 0 {
			t.Errorf("dropped %+v", dropped)
		}
		if left, _, err := e.client.Tasks(t.Context(), taskkit.Filter{}); err != nil || len(left) != 0 {
			t.Errorf("%d tasks are left, %v", len(left), err)
		}
		for _, id := range ids {
			if !e.did(t, id, "delete", "they are too old") {
				t.Errorf("the events of %s do not have the deletion", id)
			}
		}
	})
}

// did reports whether the events of a task have a request of the person.
func (e *env) did(t *testing.T, id taskkit.ID, action, reason string) bool {
	t.Helper()
	events, err := e.client.Events(t.Context(), id, 100)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(events, func(v taskkit.Event) bool {
		return v.Action == action && v.Actor == e.person && v.Reason == reason
	})
}

// A dead letter that cannot be retried is in the report with a problem, and does not keep the others.
func TestRefusedDeadLetters(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		key := taskkit.WithUniqueKey("one")
		refused := e.deadJob(t, key)
		other := e.deadJob(t)
		if _, err := taskkit.Submit(t.Context(), e.db.DB, workKind, workSpec{Mode: done}, key, taskkit.OwnedBy(uuid.New()), taskkit.WithQueue("unserved"), taskkit.WithSchema(e.schema)); err != nil {
			t.Fatal(err)
		}
		report := listed[taskhttp.DeadReport](t, e.operate(t, "POST", "/dead/retry", `{"olderThan":"0s","code":"target_gone"}`))
		if report.Done != 1 || report.Refused != 1 || len(report.Refusals) != 1 || report.Refusals[0].ID != refused || report.Refusals[0].Problem.Type != taskhttp.ErrKeyTaken.Type {
			t.Errorf("the report is %+v", report)
		}
		if !e.did(t, other, "retry", "") {
			t.Error("the other one is not retried")
		}
	})
}
