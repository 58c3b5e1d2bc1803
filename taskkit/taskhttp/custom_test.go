package taskhttp_test

import (
	"context"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskkind"
)

type wordsSpec struct {
	Words []string `json:"words"`
}

type wordsState struct {
	Letters int    `json:"letters"`
	Key     string `json:"key"`
}

// wordsProgress is the type of the progress of wordsKind.
type wordsProgress struct {
	Mean float64 `json:"mean"` // letters of a word; not a number, which JSON has not, before the first word
	Left int64   `json:"left"`
	Key  string  `json:"key"`
}

func (s wordsState) Progress(p taskkit.Progress) wordsProgress {
	return wordsProgress{Mean: float64(s.Letters) / float64(p.Processed()), Left: p.Total - p.Processed(), Key: s.Key}
}

var wordsKind = taskkit.NewKind(taskkind.Definition[wordsSpec, wordsState, struct{}]{
	Name: "words", BatchSize: 1, MaxBatchSize: 1, Secrets: []string{"/state/key"},
	Targets: taskkind.TargetsIn("words", func(s *wordsSpec) *[]string { return &s.Words }),
})

// words is the executor of wordsKind. It holds each word.
type words struct{ work *work }

func (x words) Execute(ctx context.Context, b *taskkit.Batch[wordsSpec, wordsState]) (taskkit.Next, error) {
	if err := x.work.held(ctx, b.Task); err != nil {
		return taskkit.More, err
	}
	list, next := taskkit.Take(b, b.Spec.Words)
	for _, w := range list {
		b.State.Letters += len(w)
	}
	b.State.Key = secretMarker
	return next, nil
}

// The progress of a kind's own is in the answers to watches and in events, in its own type and with secrets masked. A job is
// answered without where it cannot be made. Lists and jobs of other kinds do not have it.
func TestPTV38TypedProgress(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		document := newDocument(t)
		taskhttp.Start(e.jobs, "POST /people/words", wordsKind)
		e.runWorker(t)
		id := e.do(t, "POST", "/people/words", `{"words":["a","word"]}`).job(t).ID
		custom := func(what, raw string, want wordsProgress) {
			t.Helper()
			var got wordsProgress
			decode(t, raw, &got)
			if got != want || strings.Contains(raw, secretMarker) {
				t.Errorf("%s: %s, want %+v", what, raw, want)
			}
		}
		e.batch(t, id)
		r := e.do(t, "GET", path(id), "")
		if j := r.job(t); r.status != 200 || j.Progress == nil || j.Progress.Custom != nil {
			t.Errorf("before the first word: %d %s", r.status, r.body)
		}
		e.work.next <- struct{}{}
		e.batch(t, id)
		want := wordsProgress{Mean: 1, Left: 1, Key: "***"}
		r = e.do(t, "GET", path(id), "")
		document.conforms(t, "GET", "/jobs/{id}", r)
		custom("at once", string(r.job(t).Progress.Custom), want)
		custom("an event", string(e.events(t, path(id)+"/events").job(t).Progress.Custom), want)
		for _, list := range []reply{e.do(t, "GET", "/jobs", ""), e.operate(t, "GET", "/jobs", "")} {
			if list.status != 200 || strings.Contains(list.body, "custom") || !strings.Contains(list.body, id.String()) {
				t.Errorf("a list: %d %s", list.status, list.body)
			}
		}
		e.work.next <- struct{}{}
		j := e.reach(t, id, taskhttp.Succeeded) // by watches that wait
		custom("in the end", string(j.Progress.Custom), wordsProgress{Mean: 2.5, Key: "***"})
		if r := e.do(t, "GET", path(e.start(t, done).ID), ""); r.status != 200 || strings.Contains(r.body, "custom") {
			t.Errorf("a kind without: %d %s", r.status, r.body)
		}
	})
}
