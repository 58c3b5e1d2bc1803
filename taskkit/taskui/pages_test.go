package taskui_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// Every page shows every shape of a task: a plain one, a frozen set, buckets, stages, a child, a preview and failures.
func TestPagesOfEachShape(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.page(t, "/tasks/", http.StatusOK).wants(t, "Nothing.")
		e.page(t, "/tasks/list", http.StatusOK).wants(t, "No task matches.")
		held := e.work(t)
		list := []string{"a", "bad1", "odd1", "bad2"}
		plain := submit(t, e, piecesKind, piecesSpec{Pieces: list, Token: secretMarker}, taskkit.WithReason("as planned"))
		frozen := submit(t, e, piecesKind, piecesSpec{}, taskkit.WithTargets(seq(list...)))
		preview := submit(t, e, piecesKind, piecesSpec{Pieces: list}, taskkit.WithPreview())
		failed := submit(t, e, piecesKind, piecesSpec{Pieces: list, Fail: detailMarker})
		buckets := submit(t, e, halvesKind, struct{}{})
		stages := submit(t, e, stagedKind, stagedSpec{Second: detailMarker})
		running := submit(t, e, piecesKind, piecesSpec{Hold: true})
		for _, id := range []taskkit.ID{plain, frozen, preview, failed, buckets, stages} {
			e.ended(t, id)
		}
		until(t, held, running)
		e = newEnv(t, db).with(e.people) // whose counts are not of a moment ago

		e.page(t, path(plain), http.StatusOK).wants(t, "4 of 4 items", "2 failed", "1 skipped", "as planned", stateMarker, "***", "no "+secretMarker, "result of", `data-live="task"`,
			`id="do-retry-failed"`, `id="do-delete"`, "no id=\"do-stop\"", "no id=\"do-retry\"", `class="part-failed"`)
		e.do(t, http.MethodGet, path(plain)+"?live=result", "").wants(t, "result of", "no "+secretMarker)
		e.page(t, path(frozen), http.StatusOK).wants(t, "4 of 4 items", `id="do-retry-failed"`)
		e.page(t, path(preview), http.StatusOK).wants(t, "Preview: nothing of this was written", "noted a", `id="do-apply"`, `class="tag"`)
		e.page(t, path(failed), http.StatusOK).wants(t, "Failed with <code>target_gone</code>", detailMarker, `id="do-retry"`, "no id=\"do-stop\"")
		e.page(t, path(buckets), http.StatusOK).wants(t, "bucket 1", "2 done", `<svg class="heat"`, "no id=\"do-continue\"")
		e.page(t, path(stages), http.StatusOK).wants(t, "stage second", "Failed with")
		e.page(t, path(running), http.StatusOK).wants(t, `class="status running"`, `id="do-stop"`, `id="do-pause"`, `id="do-change"`, "is running on")

		parts := e.page(t, path(buckets)+"/parts", http.StatusOK)
		parts.wants(t, "bucket 2", "buckets.csv", "Buckets of halves")
		e.page(t, path(stages)+"/parts", http.StatusOK).wants(t, "stage first", "Stages of staged")
		e.page(t, path(plain)+"/parts", http.StatusNotFound)
		child := firstOf(t, childLink, parts.body)
		e.page(t, "/tasks/task/"+child, http.StatusOK).wants(t, "Part of", buckets.String())

		for _, outcome := range []string{"failed", "skipped", "succeeded", "deferred", "unprocessed"} {
			e.page(t, path(plain)+"/items?outcome="+outcome, http.StatusOK)
			e.page(t, path(buckets)+"/items?outcome="+outcome, http.StatusOK)
		}
		e.page(t, path(plain)+"/items", http.StatusOK).wants(t, "bad1", detailMarker, "<code>broken</code>", `id="do-retry-failed"`)
		e.page(t, path(plain)+"/items?outcome=skipped", http.StatusOK).wants(t, "odd1", "unwanted", "no bad1")
		e.page(t, path(plain)+"/items?outcome=eaten", http.StatusNotFound)
		e.page(t, path(plain)+"/items?cursor=x", http.StatusUnprocessableEntity)

		e.page(t, "/tasks/", http.StatusOK).wants(t, "failed with target_gone", "failed in 24 h", running.String())
		e.counted(t)
		e.page(t, "/tasks/", http.StatusOK).wants(t, " tasks ended in the last 24 hours", "kept for a time of their own", `<svg class="hours"`, `id="hours"`)
		all := e.page(t, "/tasks/list", http.StatusOK)
		for _, id := range []taskkit.ID{plain, frozen, failed, buckets, stages, running} {
			all.wants(t, id.String())
		}
		e.page(t, "/tasks/list?q=status:failed", http.StatusOK).wants(t, failed.String(), "no "+plain.String(), "Failures by kind and code", "target_gone")
		e.page(t, "/tasks/list?q=is:running", http.StatusOK).wants(t, running.String(), "no "+plain.String())
		e.page(t, "/tasks/list?q=kind:halves", http.StatusOK).wants(t, buckets.String(), "no "+plain.String(), "leave this filter out")
		e.page(t, "/tasks/list?q="+plain.String()[28:], http.StatusOK).wants(t, plain.String(), "no "+failed.String())
		e.page(t, "/tasks/list?q=color:red", http.StatusOK).wants(t, "there is no filter color")
		e.page(t, "/tasks/list?q=worker:w1", http.StatusOK).wants(t, "so the search would read every task")
		e.page(t, "/tasks/list?before=x", http.StatusNotFound)
	})
}

// counted waits until Home has the tasks that have ended, which are counted beside it.
func (e *env) counted(tb testing.TB) {
	tb.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for within := testdb.Within(tb); !strings.Contains(e.page(tb, "/tasks/", http.StatusOK).body, `id="throughput"`); {
		select {
		case <-again.C:
		case <-within.Done():
			tb.Fatal("the ended tasks have not been counted")
		}
	}
}

// A list has pages, which begin before the last task of the one before.
func TestListHasPages(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t))
	first := submit(t, e, piecesKind, piecesSpec{})
	for range 60 {
		submit(t, e, piecesKind, piecesSpec{})
	}
	newest := e.page(t, "/tasks/list?q=kind:pieces", http.StatusOK)
	newest.wants(t, "no "+first.String(), `data-live="list"`)
	older := e.page(t, "/tasks/"+strings.ReplaceAll(firstOf(t, olderLink, newest.body), "&amp;", "&"), http.StatusOK)
	older.wants(t, first.String(), "no Older", "Newest", "no data-live")
	if n := strings.Count(newest.body, "<tr>") + strings.Count(older.body, "<tr>"); n != 61+2 {
		t.Errorf("%d rows on two pages, want 61 and 2 heads", n)
	}
}

// Items and buckets are files, whose cells no spreadsheet takes for formulas.
func TestFiles(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.work(t)
		id := submit(t, e, piecesKind, piecesSpec{Pieces: []string{"bad", "=1+2", "odd"}})
		buckets := submit(t, e, halvesKind, struct{}{})
		e.ended(t, id)
		e.ended(t, buckets)
		for file, want := range map[string]string{
			path(id) + "/items.csv?outcome=failed":    "item,outcome,code,detail,position,attempt,time,stage,task,source,corrected\nbad,failed,broken,",
			path(id) + "/items.csv?outcome=succeeded": "item,outcome,code,detail,position,attempt,time,stage,task,source\n'=1+2,succeeded,,,2,",
			path(id) + "/items.csv?outcome=deferred":  "item,outcome,code,detail,position,attempt,time,stage,task,source\n",
			path(buckets) + "/buckets.csv":            "bucket,task,segment,status,",
		} {
			a := e.do(t, http.MethodGet, file, "")
			if a.status != http.StatusOK || !strings.HasPrefix(a.body, want) || a.header.Get("Content-Type") != "text/csv; charset=utf-8" ||
				!strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment; filename=") || a.header.Get("Content-Security-Policy") != wantPolicy {
				t.Errorf("GET %s: %d %v\n%s", file, a.status, a.header, a.body)
			}
		}
		e.page(t, path(id)+"/buckets.csv", http.StatusUnprocessableEntity)
		e.page(t, path(id)+"/items.csv?outcome=x", http.StatusNotFound)
	})
}

// The rates that were measured of a task are a picture with its text; one rate is none.
func TestSparkline(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		for history, want := range map[string]string{
			`{"all":{"n":30,"t":10000000000},"samples":[{"n":20,"t":5000000000},{"n":10,"t":5000000000}]}`: `<polyline points="0.0,0.0 120.0,12.0"/>`,
			`{"all":{"n":20,"t":5000000000},"samples":[{"n":20,"t":5000000000}]}`:                          "no <polyline",
		} {
			id := submit(t, e, piecesKind, piecesSpec{Pieces: []string{"a"}})
			if _, err := db.ExecContext(t.Context(), "INSERT INTO taskkit_task_rate (id, task_id, execution_component_name, history) VALUES ($1, $2, 'pieces', $3)", uuid.New().String(), id.String(), history); err != nil {
				t.Fatal(err)
			}
			a := e.page(t, path(id), http.StatusOK)
			a.wants(t, want)
			if strings.Contains(a.body, "<polyline") {
				a.wants(t, "The last 2 measured rates, the newest 2.0/s: between 2.0/s and 4.0/s")
			}
		}
	})
}

// A part of a page has an ETag, which is the same as long as nothing has changed though the keys of forms are new.
func TestPartsAreLive(t *testing.T) {
	t.Parallel()
	e := newEnv(t, sqlite(t))
	id := submit(t, e, piecesKind, piecesSpec{Pieces: []string{"a"}})
	e.counted(t)
	for _, page := range []string{"/tasks/?live=home", "/tasks/list?live=list", path(id) + "?live=task", path(id) + "?live=facts", path(id) + "?live=result"} {
		first := e.do(t, http.MethodGet, page, "")
		tag := first.header.Get("Etag")
		if first.status != http.StatusOK || tag == "" || strings.Contains(first.body, "<main") {
			t.Fatalf("GET %s: %d %v\n%s", page, first.status, first.header, first.body)
		}
		if again := e.do(t, http.MethodGet, page, "", "If-None-Match", tag); again.status != http.StatusNotModified || again.body != "" {
			t.Errorf("GET %s again: %d\n%s", page, again.status, again.body)
		}
	}
	e.do(t, http.MethodGet, path(id)+"?live=result", "").wants(t, "There is no result.")
	facts := e.do(t, http.MethodGet, path(id)+"?live=facts", "")
	facts.wants(t, "<dt>Priority</dt><dd><bdi>2</bdi>", "no <dialog", "no <section")
	if _, err := e.client.Change(t.Context(), id, taskkit.Settings{Priority: taskkit.PriorityIdle}); err != nil {
		t.Fatal(err)
	}
	e.do(t, http.MethodGet, path(id)+"?live=facts", "", "If-None-Match", facts.header.Get("Etag")).wants(t, "<dt>Priority</dt><dd><bdi>4</bdi>")
	tag := e.do(t, http.MethodGet, path(id)+"?live=task", "").header.Get("Etag")
	if _, err := e.client.Pause(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	changed := e.do(t, http.MethodGet, path(id)+"?live=task", "", "If-None-Match", tag)
	if changed.status != http.StatusOK || !strings.Contains(changed.body, "do-resume") {
		t.Errorf("after a pause: %d\n%s", changed.status, changed.body)
	}
	e.page(t, path(id)+"?live=nothing", http.StatusNotFound)
	if style := e.page(t, path(id)+"?refresh=5", http.StatusOK); !strings.Contains(style.body, `<noscript><meta http-equiv="refresh" content="5"></noscript>`) {
		t.Error("no refresh without a script")
	}
}
