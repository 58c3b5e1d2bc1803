package browser_test

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/taskkit"
)

// traps are what users of other dashboards miss most, with the tests that show that it is here: of this package, or of the directory before the name.
var traps = map[string][]string{
	"act on all that match, not on one page":    {"TestBulk", "../../../taskkit/taskui TestBulkFromASearch"},
	"see how many match before all are retried": {"TestManyTasks", "TestDeadLetters"},
	"filter by kind, status, queue and owner":   {"../../../taskkit/taskui TestFiltersOfTheList"},
	"sign in":                                          {"../../../taskkit/taskui TestAccessIsRefused", "../../../taskkit/taskui TestOnlyThisMachineWithoutAccess"},
	"people who may only read":                         {"TestReadOnly", "../../../taskkit/taskui TestEachVerbIsRefused"},
	"owners see their own":                             {"../../../taskkit/taskui TestOwnersSeeTheirOwn"},
	"a strict policy for content":                      {"TestPages", "TestMarkupIsText"},
	"forms that a link fills in":                       {"../../../taskkit/taskui TestFormsThatAreFilledIn"},
	"who has started it":                               {"../../../taskkit/taskui TestWhoStartedATask"},
	"a way out of a pause that does not come":          {"../../../taskkit/taskui TestTaskThatPausesForever"},
	"what runs is on the front page":                   {"../../../taskkit/taskui TestPagesOfEachShape"},
	"a file of what has failed":                        {"TestJourney", "TestOddNames", "../../../taskkit/taskui TestFiles"},
	"progress that survives an outage":                 {"TestLiveGoesOnAfterAnOutage"},
	"counts that do not time out":                      {"TestManyTasks", "../../../taskkit/taskui TestDeadlineOfPages"},
	"confirm before something is deleted":              {"TestDeleteIsConfirmed", "TestDeadLetters"},
	"failures stay until their time is over":           {"../../../taskkit TestTasksAreRemoved"},
	"a notification when the attempts are used up":     {"../../../taskkit/tasknotify TestMID59Events"},
	"a refresh that does not swallow what is typed":    {"TestLive", "TestLiveKeepsADialog", "TestLiveKeepsAForm"},
	"a refresh that keeps the focus":                   {"TestLiveKeepsFocus", "TestKeyboard"},
	"a double click, and two people at once":           {"TestStaleFormAndDoubleClick", "TestTwoPeoplePressAtOnce", "../../../taskkit/taskui TestDoubleClickOnTwoProcesses"},
	"numbers that JavaScript does not have":            {"TestRepeatKeepsValues"},
	"names that are markup, paths or formulas":         {"TestOddNames", "../../../taskkit/taskui TestHostileTexts"},
	"requests of other sites":                          {"../../../taskkit/taskui TestFormsAreChecked"},
	"a form that was opened before a deploy":           {"../../../taskkit/taskui TestFormOfAnotherRevision"},
	"an approval of what was seen and of nothing else": {"../../../taskkit/taskui TestApprovalOfWhatWasSeen"},
}

// Each trap has tests, which are there under their names.
func TestTrapsHaveTests(t *testing.T) {
	t.Parallel()
	for trap, tests := range traps {
		for _, test := range tests {
			dir, name, elsewhere := strings.Cut(test, " ")
			if !elsewhere {
				dir, name = ".", test
			}
			files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(files, func(file string) bool {
				source, err := os.ReadFile(file)
				return err == nil && strings.Contains(string(source), "\nfunc "+name+"(t *testing.T) {")
			}) {
				t.Errorf("%s: there is no test %s in %s", trap, name, dir)
			}
		}
	}
}

// What a person repeats has the values of the task, also numbers that JavaScript does not have, lists that are empty and not missing, and lists that are
// missing and not empty.
func TestRepeatKeepsValues(t *testing.T) {
	t.Parallel()
	s := newSite(t, migrated(t), kinds())
	for name, spec := range map[string]enrolSpec{
		"big":   {Students: students(2), Program: "chess", Number: 18446744073709551615, Tags: []string{"a, b", "", " c "}},
		"empty": {Students: students(1), Program: "a\n\"b\"", Number: 9007199254740993, Tags: []string{}},
		"null":  {Students: students(1), Program: "chess"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := submit(t, s, enrolKind, admin, spec, taskkit.WithDelay(time.Hour))
			tab := s.tab(t, usual)
			tab.open(prefix + "task/" + id.String())
			tab.see(mustJSON(t, spec.Number))
			tab.open(prefix + "kind/enrol?repeat=" + id.String())
			tab.follow("Check")
			tab.leads(func() { tab.press(`sending("Run")`) })
			tab.see("The task was submitted.")
			again := must[string](tab, `location.pathname.split("/").pop()`)
			task, err := s.client.Task(t.Context(), parseID(t, again))
			if err != nil {
				t.Fatal(err)
			}
			var got enrolSpec
			if err := json.Unmarshal(task.SpecJSON, &got); err != nil || !reflect.DeepEqual(got, spec) {
				t.Errorf("repeated as %s, want %s: %v", task.SpecJSON, mustJSON(t, spec), err)
			}
		})
	}
}

// A dashboard at the root of a host has no link to another host, and paths that begin with two slashes lead nowhere.
func TestRoot(t *testing.T) {
	t.Parallel()
	s := newSiteAt(t, migrated(t), kinds(), "/")
	tab := s.tab(t, usual)
	for _, p := range []string{"/", "/list", "/kinds", "/kind/enrol"} {
		tab.open(p)
		for _, link := range must[[]string](tab, `[...document.querySelectorAll("[href], [src], [action]")].map(e => e.href || e.src || e.action)`) {
			if !strings.HasPrefix(link, s.url+"/") || strings.HasPrefix(link, s.url+"//") {
				t.Errorf("%s links to %s", p, link)
			}
		}
	}
	for _, p := range []string{"//list", "//elsewhere.example/tasks", "/%2F%2Felsewhere.example"} {
		tab.openWith(p, http.StatusNotFound)
		if at := must[string](tab, "location.href"); !strings.HasPrefix(at, s.url+"/") {
			t.Errorf("%s leads to %s", p, at)
		}
	}
}

// Items whose names have slashes, spaces, markup and what spreadsheets compute are shown, written to files and repeated like others.
func TestOddNames(t *testing.T) {
	t.Parallel()
	s := newSite(t, migrated(t), kinds())
	s.work(t)
	names := []string{"bad/../x y", "bad?a=1&b#<b>", "bad%2F\"quoted\",", "bad\u202eover", "good/one"}
	id := submit(t, s, parcelKind, admin, parcelSpec{Parcels: names})
	s.ended(t, id)
	tab := s.tab(t, usual)
	tab.open(prefix + "task/" + id.String())
	tab.follow("4 failed")
	for _, name := range names[:3] {
		tab.see(name)
	}
	tab.axe("odd names", "")
	_, content := tab.download("All of them as CSV")
	rows, err := csv.NewReader(strings.NewReader(content)).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%q: %v", content, err)
	}
	for i, name := range names[:4] {
		if rows[i+1][0] != name {
			t.Errorf("the file has %q, want %q", rows[i+1][0], name)
		}
	}
	tab.does("Retry failed items", "", false)
	tab.see("4 of 4 items")
}

// mustJSON returns a value as JSON.
func mustJSON(tb testing.TB, v any) string {
	tb.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return string(raw)
}

// parseID parses the id of a task.
func parseID(tb testing.TB, text string) (id taskkit.ID) {
	tb.Helper()
	if err := id.UnmarshalText([]byte(text)); err != nil {
		tb.Fatal(err)
	}
	return id
}
