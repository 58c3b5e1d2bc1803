package main_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// readers are the commands that read a task, each with what it says when the task is of a shape that has nothing for it.
var readers = []struct {
	args []string
	none string
}{
	{args: []string{"show"}},
	{args: []string{"explain"}},
	{args: []string{"watch"}},
	{args: []string{"items"}, none: "no items"},
	{args: []string{"items", "--outcome", "skipped"}, none: "no items"},
	{args: []string{"result"}, none: "no result"},
	{args: []string{"buckets"}, none: "no buckets"},
}

// showShapes checks that each command which reads a task, and each page of the dashboard about one, answers for every shape that the demonstration
// has: plain tasks, buckets, their parents, stages, previews, canaries and retries.
func showShapes(t *testing.T, address, file string) {
	t.Helper()
	status, out, errs := ran(t, "ls", "--children", "--limit", "1000", "-o", "json", "-d", file)
	var found []*taskkit.Task
	if err := json.Unmarshal([]byte(out), &found); status != 0 || err != nil {
		t.Fatalf("status %d, %v\n%s%s", status, err, out, errs)
	}
	shapes := make(map[string]*taskkit.Task)
	for _, task := range found {
		none := taskkit.ID{}
		shape := fmt.Sprint(task.Kind, " part=", task.Parent != none, " parts=", task.Children != nil, " preview=", task.Preview, " follows=", task.Follows != none)
		shapes[shape] = task
	}
	if len(shapes) < 10 {
		t.Errorf("%d shapes: %v", len(shapes), shapes)
	}
	for shape, task := range shapes {
		id := task.ID.String()
		for _, c := range readers {
			for _, format := range []string{"table", "json"} {
				args := append(append(append([]string{}, c.args...), id), "-o", format, "-d", file)
				status, out, errs := ran(t, args...)
				switch {
				case c.none != "" && strings.Contains(errs, c.none):
				case status != 0 || errs != "":
					t.Errorf("%s: taskkit %v: status %d\n%s%s", shape, args, status, out, errs)
				case format == "json" && !json.Valid([]byte(out)) && !validLines(out):
					t.Errorf("%s: taskkit %v: no JSON:\n%s", shape, args, out)
				}
			}
		}
		for _, page := range []string{"", "/items", "/parts"} {
			wantPage(t, shape, address+"/tasks/task/"+id+page, page == "/parts" && task.Children == nil)
		}
		wantPage(t, shape, address+"/tasks/list?q="+id, false)
	}
}

// validLines reports whether each line is JSON.
func validLines(out string) bool {
	for line := range strings.Lines(out) {
		if !json.Valid([]byte(line)) {
			return false
		}
	}
	return true
}

var heading = regexp.MustCompile(`<h1[^>]*>`)

// wantPage reads a page, or the one which says that the task has no parts.
func wantPage(t *testing.T, shape, url string, none bool) {
	t.Helper()
	q, err := http.NewRequestWithContext(testdb.Within(t), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	a, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	want := http.StatusOK
	if none {
		want = http.StatusNotFound
	}
	if a.StatusCode != want || !heading.Match(body) || none != strings.Contains(string(body), "The task has no parts") {
		t.Errorf("%s: GET %s: %d\n%s", shape, url, a.StatusCode, body)
	}
}
