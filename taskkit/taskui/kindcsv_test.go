package taskui_test

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/testkit/testdb"
)

// A list comes from a file, of any spreadsheet; the task gets what was read, and the page says how it was read.
func TestListFromFile(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, e *env) {
		two := `"students":["` + ada + `","` + grace + `"]`
		for name, c := range map[string]struct{ file, says, spec string }{
			"one column":         {ada + "\n" + grace, "2 rows were read, in UTF-8.", two},
			"BOM and CRLF":       {"\ufeffstudents\r\n" + ada + "\r\n" + grace + "\r\n", `"students", was taken for the names of the columns`, two},
			"semicolons, quotes": {"Name;Student id\r\n\"Lovelace; Ada\";\"" + ada + "\"\r\nHopper;" + grace + "\r\n", "with cells between semicolons", two},
			"Windows-1252":       {"Zo\xeb\t" + ada + "\nM\xfcller\t" + grace + "\n", "with cells between tabs, in Windows-1252.", two},
		} {
			page := e.check(t, "enrol", url.Values{"f.letter.subject": {"x"}}, map[string]string{"file.students": c.file})
			if page.status != http.StatusOK || buttons(page.body)["run"] != "Run on 2 students" || !strings.Contains(strings.ReplaceAll(page.body, "&#34;", `"`), c.says) {
				t.Errorf("%s: %d\n%s", name, page.status, page.body)
				continue
			}
			if spec := e.started(t, e.pressStep(t, "enrol", page, "run", nil)).SpecJSON; !sameJSON(t, string(spec), "{"+c.spec+`,"letter":{"subject":"x"}}`) {
				t.Errorf("%s: the spec is %s", name, spec)
			}
		}
		e.wantTasks(t, 4)
		for name, c := range map[string]struct{ file, want string }{
			"wrong columns": {"name,course\nLovelace,A\n", "the file has 2 columns, and students takes one"},
			"empty":         {"", "the file is empty"},
			"a spreadsheet": {"PK\x03\x04", "the file is a spreadsheet or an archive: save it as CSV"},
			"too many rows": {strings.Join(ids(100_000), "\n"), "the file has 100,000 rows, and the list may have at most 1,000"},
		} {
			a := e.check(t, "enrol", url.Values{"f.letter.subject": {"kept"}}, map[string]string{"file.students": c.file})
			if got := errorsBeside(a.body)["f.students"]; a.status != http.StatusUnprocessableEntity || !strings.HasPrefix(got, c.want) || browserForm(a.body).Get("f.letter.subject") != "kept" {
				t.Errorf("%s: %d, the error is %q", name, a.status, got)
			}
		}
		e.wantTasks(t, 4)
	})
}

// Rows that are wrong are corrected on the page, one by one or all left out, and the rest of the file is not sent again.
func TestRowsAreCorrectedInPlace(t *testing.T) {
	t.Parallel()
	e := newEnvOf(t, sqlite(t), startKinds())
	file := "room;seat\r\nA1;7\r\n<b>much too long;x\r\n=1+1;100\r\nB2;9\r\n;\r\nC3;;extra\r\n"
	first := e.check(t, "enrol", url.Values{"f.letter.subject": {"x"}}, map[string]string{"file.seats": file})
	if first.status != http.StatusUnprocessableEntity || !strings.Contains(first.body, "The list has 4 problems") {
		t.Fatalf("%d\n%s", first.status, first.body)
	}
	got := errorsBeside(first.body)
	for name, want := range map[string]string{
		"fix.seats 3 0": "must have at most 10 characters; it has 16", "fix.seats 3 1": "must be a whole number in digits, such as 1500", "fix.seats 4 1": "must be at most 99",
	} {
		if got[name] != want {
			t.Errorf("beside %s is %q, want %q", name, got[name], want)
		}
	}
	if !strings.Contains(first.body, "has more cells than there are columns") || strings.Contains(first.body, "<b>much") {
		t.Errorf("the page is\n%s", first.body)
	}
	second := e.pressStep(t, "enrol", first, "check", url.Values{"fix.seats 3 0": {"D4"}, "fix.seats 3 1": {"1"}, "fix.seats 4 1": {"0"}, "drop.seats 7": {"yes"}})
	if got := errorsBeside(second.body); second.status != http.StatusUnprocessableEntity || got["fix.seats 4 1"] != "must be at least 1" || len(got) != 2 {
		t.Errorf("%d, errors are %q", second.status, got)
	}
	e.wantTasks(t, 0)
	for name, c := range map[string]struct {
		fields url.Values
		spec   string
	}{
		"corrected": {url.Values{"fix.seats 4 1": {"99"}}, `{"letter":{"subject":"x"},"students":null,"seats":[{"room":"A1","seat":7},{"room":"D4","seat":1},{"room":"=1+1","seat":99},{"room":"B2","seat":9}]}`},
		"left out":  {url.Values{"skip.seats": {"yes"}}, `{"letter":{"subject":"x"},"students":null,"seats":[{"room":"A1","seat":7},{"room":"D4","seat":1},{"room":"B2","seat":9}]}`},
	} {
		page := e.pressStep(t, "enrol", second, "check", c.fields)
		if name == "left out" && !strings.Contains(page.body, "1 rows with problems were left out") {
			t.Errorf("%s: nothing is said of rows that were left out:\n%s", name, page.body)
		}
		if spec := e.started(t, e.pressStep(t, "enrol", page, "run", nil)).SpecJSON; !sameJSON(t, string(spec), c.spec) {
			t.Errorf("%s: the spec is\n%s, want\n%s", name, spec, c.spec)
		}
	}
	another := e.post(t, "/tasks/kind/enrol", browserForm(second.body), map[string]string{"file.seats": "room,seat\nE5,5\n"})
	if spec := e.started(t, e.pressStep(t, "enrol", another, "run", nil)).SpecJSON; !strings.Contains(string(spec), `"seats":[{"room":"E5","seat":5}]`) {
		t.Errorf("another file: the spec is %s", spec)
	}
}

// Of a list of hundreds of ids that is pasted, the lines that are wrong are shown, and a page has no more inputs than a form may.
func TestManyLinesArePasted(t *testing.T) {
	t.Parallel()
	e := newEnvOf(t, sqlite(t), startKinds())
	lines := ids(500)
	lines[321] = "0190b3a1"
	a := e.check(t, "enrol", url.Values{"f.letter.subject": {"x"}, "f.students": {strings.Join(lines, "\r\n")}}, nil)
	if got := errorsBeside(a.body)["fix.students 322 0"]; a.status != http.StatusUnprocessableEntity || !strings.HasPrefix(got, "must be a UUID") {
		t.Fatalf("%d, the error is %q", a.status, got)
	}
	page := e.pressStep(t, "enrol", a, "check", url.Values{"fix.students 322 0": {ids(1000)[999]}})
	if got := buttons(page.body)["run"]; got != "Run on 500 students" {
		t.Errorf("%d, the button is %q\n%.2000s", page.status, got, page.body)
	}
	var wrong []string
	for i := range 900 {
		wrong = append(wrong, fmt.Sprintf("%d,%d", i, i))
	}
	many := e.check(t, "enrol", url.Values{"f.letter.subject": {"x"}, "f.seats": {"room,seat\n" + strings.Join(wrong, "\n")}}, nil)
	if n := len(browserForm(many.body)); many.status != http.StatusUnprocessableEntity || n > 700 {
		t.Errorf("%d, %d inputs", many.status, n)
	}
	if again := e.pressStep(t, "enrol", many, "check", url.Values{"skip.seats": {"yes"}}); again.status != http.StatusUnprocessableEntity && again.status != http.StatusOK {
		t.Errorf("%d\n%.1000s", again.status, again.body)
	}
	e.wantTasks(t, 0)
}

// A form that is larger than allowed is refused with what to do.
func TestFormTooLarge(t *testing.T) {
	t.Parallel()
	e := newEnvOf(t, sqlite(t), startKinds())
	a := e.check(t, "enrol", nil, map[string]string{"file.students": strings.Repeat("x", 65<<20)})
	if a.status != http.StatusRequestEntityTooLarge || !strings.Contains(a.body, "64.0 MiB") {
		t.Errorf("%d\n%s", a.status, a.body)
	}
	e.wantTasks(t, 0)
}

// What the server keeps of a file on its disk is removed with the answer.
func TestFilesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	e := newEnvOf(t, sqlite(t), startKinds())
	a := e.check(t, "enrol", url.Values{"f.letter.subject": {"x"}}, map[string]string{"file.students": strings.Join(ids(100_000), "\n")})
	if got := errorsBeside(a.body)["f.students"]; !strings.HasPrefix(got, "the file has 100,000 rows") {
		t.Errorf("%d, the error is %q", a.status, got)
	}
	for within := testdb.Within(t); ; {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			return
		}
		select {
		case <-within.Done():
			t.Fatalf("there are %d files, the first is %s", len(entries), entries[0].Name())
		case <-time.After(time.Millisecond):
		}
	}
}
