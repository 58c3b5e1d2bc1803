package taskui_test

import (
	"net/http"
	"slices"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// The page of a task says who has submitted it, for whom and why, and who has made which request of it.
func TestWhoStartedATask(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		by, of := e.people[operator].ID, e.people[owner].ID
		id := submit(t, e, piecesKind, piecesSpec{}, taskkit.OwnedBy(of), taskkit.WithActor(by), taskkit.WithReason("for the <b>board</b>"))
		e.page(t, path(id), http.StatusOK).wants(t, "<dt>Submitted by</dt><dd><bdi>"+by.String(), "<dt>Owner</dt>", of.String(), "for the &lt;b&gt;board&lt;/b&gt;")
		e.press(t, id, "pause", because).wants(t, "pause requested by Ada Admin: the list was wrong")
	})
}

// A task whose batch does not come to its end pauses for a long time. It can go on meanwhile, and it can be stopped.
func TestTaskThatPausesForever(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		held := e.work(t)
		id := submit(t, e, piecesKind, piecesSpec{Hold: true})
		until(t, held, id)
		e.press(t, id, "pause", nil).wants(t, `class="status pausing"`, `id="do-resume"`, `id="do-stop"`, `no id="do-pause"`)
		e.press(t, id, "resume", nil).wants(t, "The task goes on.", `class="status running"`, `id="do-pause"`)
		e.press(t, id, "pause", nil)
		e.press(t, id, "stop", because).wants(t, "The task ends as soon as possible", "stop requested by Ada Admin", `no id="do-resume"`)
		if task, err := e.client.Task(t.Context(), id); err != nil || task.Control != taskkit.ControlStop {
			t.Errorf("%+v, %v", task, err)
		}
	})
}

// A list is selected by kind, status, queue, owner and more, and by several of them at once.
func TestFiltersOfTheList(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		mine := submit(t, e, piecesKind, piecesSpec{}, taskkit.WithQueue("mail"), taskkit.WithUniqueKey("order 7"))
		theirs := submit(t, e.as(operator), piecesKind, piecesSpec{})
		other := submit(t, e, halvesKind, struct{}{})
		if _, err := e.client.Stop(t.Context(), other); err != nil {
			t.Fatal(err)
		}
		all := []taskkit.ID{mine, theirs, other}
		for query, want := range map[string][]taskkit.ID{
			"kind:pieces":        {mine, theirs},
			"kind:pieces,halves": all,
			"queue:mail":         {mine},
			"status:queued":      {mine, theirs},
			"status:completed":   {other},
			"owner:" + e.people[operator].ID.String(): {theirs},
			"kind:pieces+queue:mail+status:queued":    {mine},
			"kind:halves+queue:mail":                  nil,
			`unique-key:"order+7"`:                    {mine},
			"owner:" + e.people[reader].ID.String():   nil,
		} {
			wanted := make([]string, len(all))
			for i, id := range all {
				if wanted[i] = id.String(); !slices.Contains(want, id) {
					wanted[i] = "no " + wanted[i]
				}
			}
			t.Run(query, func(t *testing.T) {
				t.Parallel()
				e.page(t, "/tasks/list?q="+query, http.StatusOK).wants(t, wanted...)
			})
		}
	})
}
