package main_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
	"taskkit.dev/taskkit/taskhttp"
)

var update = flag.Bool("update", false, "write the golden files")

// causesFile has what an operator sees of a task with each cause.
const causesFile = "testdata/causes.txt"

// Every cause is planted on each database, and the list, show, explain, HTTP and the log of the worker show it. The golden file has
// all of them side by side, and it is the same for both databases.
func TestCauses(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		e := newCauses(t, db)
		var table strings.Builder
		for _, c := range taskcause.All() {
			plant := plants[c]
			if plant == nil {
				t.Errorf("no task is planted with the cause %s", c)
				continue
			}
			t.Run(string(c), func(t *testing.T) {
				s := &scene{T: t, causes: e, queue: "queue-" + string(c)}
				id := plant(s)
				s.until(id, c)
				table.WriteString(s.seen(id, c))
			})
		}
		if t.Failed() {
			return
		}
		got := table.String()
		if *update && db.Short() == "sqlite" {
			if err := os.WriteFile(filepath.FromSlash(causesFile), []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(filepath.FromSlash(causesFile))
		if err != nil {
			t.Fatal(err)
		}
		if gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n"); got != string(want) {
			for i := range min(len(gotLines), len(wantLines)) {
				if gotLines[i] != wantLines[i] {
					t.Errorf("line %d of %s (write it with -update):\n got %s\nwant %s", i+1, causesFile, gotLines[i], wantLines[i])
				}
			}
			if len(gotLines) != len(wantLines) {
				t.Errorf("%d lines, want the %d of %s", len(gotLines), len(wantLines), causesFile)
			}
		}
	})
}

// causes is a database in which causes are planted.
type causes struct {
	*site
	store store.Store
	web   http.Handler
}

func newCauses(t *testing.T, db *testdb.DB) *causes {
	t.Helper()
	e := &causes{site: migrated(t, db)}
	var err error
	if e.store, err = dbstore.Open(t.Context(), db.DB, db.Schema, dbstore.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.store.Release(t.Context()) })
	e.web, err = taskhttp.New(db.DB, taskhttp.Config{
		Schema:    e.schema,
		Caller:    func(*http.Request) (taskhttp.Caller, error) { return taskhttp.Caller{Owner: owner}, nil },
		Authorize: taskhttp.OwnJobs,
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// seen returns what is seen of a task, with the times and names of a run replaced.
func (s *scene) seen(id taskkit.ID, c taskcause.Cause) string {
	s.Helper()
	_, list, _ := ran(s.T, s.args("ls", "--queue", s.queue)...)
	row := line(list, id.String())
	_, shown, _ := ran(s.T, s.args("show", id.String())...)
	_, explained, _ := ran(s.T, s.args("explain", id.String())...)
	explained = strings.TrimSpace(explained)
	if strings.Contains(explained, "\n") {
		s.Errorf("explained in more than one line: %s", explained)
	}
	if status, _, _ := strings.Cut(explained, " for T"); !strings.Contains(shown, "cause") || len(status) == 0 {
		s.Errorf("show does not name the cause:\n%s", shown)
	}
	// Its time may differ from what explain has said a moment later.
	sentence := s.steady(strings.TrimSpace(after(shown, "\ncause", 2)))
	if sentence != s.steady(explained) {
		s.Errorf("shown as    %s\nexplained as %s", sentence, s.steady(explained))
	}
	var asJSON []struct {
		ID    string          `json:"id"`
		Cause taskcause.Cause `json:"cause"`
	}
	_, listed, _ := ran(s.T, s.args("ls", "--queue", s.queue, "-o", "json")...)
	if err := json.Unmarshal([]byte(listed), &asJSON); err != nil {
		s.Fatal(err)
	}
	if !slices.ContainsFunc(asJSON, func(t struct {
		ID    string          `json:"id"`
		Cause taskcause.Cause `json:"cause"`
	},
	) bool {
		return t.ID == id.String() && t.Cause == c
	}) {
		s.Errorf("ls -o json does not give the cause:\n%s", listed)
	}
	answer := httptest.NewRecorder()
	s.web.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/jobs/"+id.String(), nil))
	var job taskhttp.Job
	if err := json.Unmarshal(answer.Body.Bytes(), &job); err != nil {
		s.Fatalf("HTTP: %s: %v", answer.Body, err)
	}
	status := strings.TrimSpace(string(job.Status) + " " + job.Reason)
	if job.Partial {
		status += " partial"
	}
	if job.Error != nil {
		status += " " + job.Error.Code
	}
	return s.steady(fmt.Sprintf("%s\n  ls       %s\n  show     %s, and what explain says\n  explain  %s\n  HTTP     %s\n  log      %s\n\n",
		c, strings.Join(strings.Fields(row), " "), strings.TrimSpace(strings.TrimPrefix(line(shown, "cause"), "cause")), explained, status, s.logged(id)))
}

// logged returns the last line of the log about a task. A worker logs a change after the change can be read, so the line is awaited
// that the golden file has.
func (s *scene) logged(id taskkit.ID) string {
	s.Helper()
	golden, err := os.ReadFile(filepath.FromSlash(causesFile))
	s.must(err)
	for end := time.Now().Add(5 * time.Second); ; {
		last := s.log.of(id)
		if strings.Contains(string(golden), "\n  log      "+s.steady(last)+"\n") || time.Now().After(end) {
			return last
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-s.Context().Done():
		}
	}
}

// line returns the line that contains a text.
func line(text, with string) string {
	for l := range strings.Lines(text) {
		if strings.Contains(l, with) {
			return strings.TrimSpace(l)
		}
	}
	return ""
}

// after returns the line that comes so many lines after the beginning of a text.
func after(text, begin string, lines int) string {
	_, rest, _ := strings.Cut(text, begin)
	for range lines - 1 {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	first, _, _ := strings.Cut(rest, "\n")
	return first
}

var (
	workerText   = regexp.MustCompile(`[\w.-]+-\d{8}T\d{6}\.\d{3}Z-[0-9a-f]+`)
	durationText = regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?(ms|s)\b|\b\d+h\d+m\b`)
	dateText     = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	windowText   = regexp.MustCompile(`\d\d:\d\d-\d\d:\d\d`)
)

// steady replaces what differs between runs.
func (s *scene) steady(text string) string {
	text = strings.ReplaceAll(idText.ReplaceAllString(text, "ID"), s.queue, "QUEUE")
	text = workerText.ReplaceAllString(text, "WORKER")
	text = dateText.ReplaceAllString(text, "DATE")
	text = windowText.ReplaceAllString(text, "WINDOW")
	return durationText.ReplaceAllString(text, "T")
}

// until waits until a task has a cause.
func (s *scene) until(id taskkit.ID, c taskcause.Cause) {
	s.Helper()
	var last *taskkit.Explanation
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		var err error
		if last, err = s.client.Explain(s.Context(), id); err != nil {
			s.Fatal(err)
		}
		if last.Cause == c {
			return
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-s.Context().Done():
		}
	}
	s.Fatalf("the task has the cause %s, not %s: %s", last.Cause, c, last)
}
