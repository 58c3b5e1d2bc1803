package taskui_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"html"
	"maps"
	"mime/multipart"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	everyform "taskkit.dev/internal/taskgen/schema/testdata/shown"
	"taskkit.dev/internal/taskgen/schema/testdata/shown/gen/showntask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// enrolSpec is a spec with targets, and with rules that its schema does not have.
type enrolSpec struct {
	Students []uuid.UUID    `json:"students" validate:"max=1000,unique"`
	Coach    uuid.UUID      `json:"coach,omitzero"`
	Urgent   bool           `json:"urgent,omitzero"`
	Day      string         `json:"day,omitzero" validate:"omitempty,datetime=2006-01-02"`
	Rooms    map[string]int `json:"rooms,omitzero"`
	Letter   enrolLetter    `json:"letter"`
	Query    *enrolQuery    `json:"query,omitempty"`
	Limit    uint64         `json:"limit,omitzero"`
	From     *time.Time     `json:"from,omitempty"`
	To       *time.Time     `json:"to,omitempty" validate:"omitempty,gtfield=From"`
	Seats    []enrolSeat    `json:"seats,omitempty" validate:"max=50,dive"`
}

type enrolLetter struct {
	Subject string `json:"subject" validate:"required,max=200"`
	Body    string `json:"body,omitempty"`
}

type enrolQuery struct {
	Program string `json:"program,omitempty"`
}

type enrolSeat struct {
	Room string `json:"room" validate:"required,max=10"`
	Seat int    `json:"seat" validate:"min=1,max=99"`
}

var errSpam = errors.New("the letter is spam")

// Validate refuses what tags cannot say.
func (s enrolSpec) Validate() error {
	if s.Letter.Body == "spam" {
		return errSpam
	}
	return nil
}

const enrolSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","x-taskkit-targets":"students","type":"object","properties":{
"students":{"description":"Students are enrolled.","type":["array","null"],"items":{"type":"string","anyOf":[{"format":"uuid","pattern":"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"},{"pattern":"^[0-9a-fA-F]{32}$"}]},"maxItems":1000,"uniqueItems":true},
"coach":{"type":"string","anyOf":[{"format":"uuid","pattern":"^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$"},{"pattern":"^[0-9a-fA-F]{32}$"}]},
"urgent":{"type":"boolean"},
"day":{"type":"string","anyOf":[{"const":""},{"format":"date"}]},
"rooms":{"type":["object","null"],"additionalProperties":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}},
"letter":{"description":"Letter <b>welcomes</b> them.","type":"object","properties":{"subject":{"type":"string","minLength":1,"maxLength":200},"body":{"type":"string"}},"required":["subject"],"additionalProperties":false},
"query":{"anyOf":[{"type":"object","properties":{"program":{"type":"string"}},"additionalProperties":false},{"type":"null"}]},
"limit":{"type":"integer","minimum":0,"maximum":18446744073709551615},
"from":{"anyOf":[{"type":"string","anyOf":[{"format":"date-time","pattern":"^[0-9]{4}-"},{"pattern":"^never$"}]},{"type":"null"}]},
"to":{"anyOf":[{"type":"string","anyOf":[{"format":"date-time","pattern":"^[0-9]{4}-"},{"pattern":"^never$"}]},{"type":"null"}]},
"seats":{"type":["array","null"],"items":{"type":"object","properties":{"room":{"type":"string","minLength":1,"maxLength":10},"seat":{"type":"integer","minimum":1,"maximum":99}},"required":["room","seat"],"additionalProperties":false},"maxItems":50}
},"required":["letter"],"additionalProperties":false}`

// enrolKind returns the kind enrol with a schema and a revision.
func enrolKind(schema string, revision int) *taskkit.Kind[enrolSpec, struct{}, struct{}] {
	return taskkit.NewKind(taskkind.Definition[enrolSpec, struct{}, struct{}]{
		Name: "enrol", Revision: revision, Preview: true, SpecSchema: []byte(schema), Doc: "Enrol enrols students.\n\nIt writes <i>one</i> row for each.",
		Targets: taskkind.TargetsIn("students", func(s *enrolSpec) *[]uuid.UUID { return &s.Students }),
	})
}

type enrolExecutor struct{}

func (enrolExecutor) Execute(context.Context, *taskkit.Batch[enrolSpec, struct{}]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

// startKinds returns kinds to start.
func startKinds() *taskkit.Registry {
	r := new(taskkit.Registry)
	taskkit.Register(r, enrolKind(enrolSchema, 1), taskkit.Executor[enrolSpec, struct{}](enrolExecutor{}))
	taskkit.Register(r, showntask.Kind, taskkit.Executor[everyform.Spec, everyform.State](everyform.Executor{}))
	return r
}

var (
	inputTag    = regexp.MustCompile(`(?s)<input ([^>]*)>|<textarea ([^>]*)>\n(.*?)</textarea>|<select ([^>]*)>(.*?)</select>`)
	optionTag   = regexp.MustCompile(`<option value="([^"]*)" selected>`)
	attribute   = regexp.MustCompile(`([a-z-]+)="([^"]*)"`)
	buttonTexts = regexp.MustCompile(`<button[^>]*name="step" value="([a-z]+)"[^>]*>([^<]*)</button>`)
)

// browserForm returns what a browser would send of the form of a page: line ends of texts are CRLF.
func browserForm(body string) url.Values {
	_, body, _ = strings.Cut(body, "<main")
	form := url.Values{}
	for _, m := range inputTag.FindAllStringSubmatch(body, -1) {
		attributes := map[string]string{}
		for _, a := range attribute.FindAllStringSubmatch(m[1]+m[2]+m[4], -1) {
			attributes[a[1]] = html.UnescapeString(a[2])
		}
		name, value := attributes["name"], attributes["value"]
		switch {
		case m[2] != "":
			value = html.UnescapeString(m[3])
		case m[4] != "":
			value = ""
			if chosen := optionTag.FindStringSubmatch(m[5]); chosen != nil {
				value = html.UnescapeString(chosen[1])
			}
		case attributes["type"] == "file", attributes["type"] == "checkbox" && !strings.HasSuffix(m[1], " checked") && !strings.Contains(m[1], " checked "):
			continue
		}
		if name != "" {
			form.Add(name, strings.ReplaceAll(strings.ReplaceAll(value, "\r\n", "\n"), "\n", "\r\n"))
		}
	}
	return form
}

// post sends a form with files, by the names of their inputs.
func (e *env) post(tb testing.TB, path string, form url.Values, files map[string]string) answer {
	tb.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, name := range slices.Sorted(maps.Keys(form)) {
		for _, value := range form[name] {
			if err := w.WriteField(name, value); err != nil {
				tb.Fatal(err)
			}
		}
	}
	for name, content := range files {
		part, err := w.CreateFormFile(name, "file.csv")
		if err == nil {
			_, err = part.Write([]byte(content))
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	a := e.do(tb, http.MethodPost, path, b.String(), "Content-Type", w.FormDataContentType())
	if a.status != http.StatusSeeOther && a.header.Get("Content-Disposition") == "" {
		checkPage(tb, path, a)
	}
	return a
}

// check fills in the form of a kind and sends it.
func (e *env) check(tb testing.TB, kind string, fields url.Values, files map[string]string) answer {
	tb.Helper()
	form := browserForm(e.page(tb, "/tasks/kind/"+kind, http.StatusOK).body)
	maps.Copy(form, fields)
	form.Set("step", "check")
	return e.post(tb, "/tasks/kind/"+kind, form, files)
}

// pressStep sends the form of a page with one of its buttons.
func (e *env) pressStep(tb testing.TB, kind string, page answer, step string, fields url.Values) answer {
	tb.Helper()
	if buttons(page.body)[step] == "" {
		tb.Fatalf("%d: the page has no button %s:\n%s", page.status, step, page.body)
	}
	form := browserForm(page.body)
	maps.Copy(form, fields)
	form.Set("step", step)
	return e.post(tb, "/tasks/kind/"+kind, form, nil)
}

// buttons returns the texts of the buttons of a page, by their values.
func buttons(body string) map[string]string {
	all := map[string]string{}
	for _, m := range buttonTexts.FindAllStringSubmatch(body, -1) {
		all[m[1]] = html.UnescapeString(m[2])
	}
	return all
}

// started returns the task to which an answer leads.
func (e *env) started(tb testing.TB, a answer) *taskkit.Task {
	tb.Helper()
	to := a.header.Get("Location")
	m := regexp.MustCompile(`^\.\./task/([0-9a-f-]{36})(\?said=started)?$`).FindStringSubmatch(to)
	if a.status != http.StatusSeeOther || m == nil {
		tb.Fatalf("%d, to %q\n%s", a.status, to, a.body)
	}
	t, err := e.client.Task(tb.Context(), uuid.MustParse(m[1]))
	if err != nil {
		tb.Fatal(err)
	}
	return t
}

// wantTasks checks how many tasks there are.
func (e *env) wantTasks(tb testing.TB, want int) {
	tb.Helper()
	found, _, err := e.client.Tasks(tb.Context(), taskkit.Filter{})
	if err != nil {
		tb.Fatal(err)
	}
	if len(found) != want {
		tb.Fatalf("there are %d tasks, want %d", len(found), want)
	}
}

// errorsBeside returns the errors that a page has beside its fields, by their names.
func errorsBeside(body string) map[string]string {
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`id="(f[0-9]+)-error" class="error">(.*?)</(?:div|p)>`).FindAllStringSubmatch(body, -1) {
		input := regexp.MustCompile(`<(?:input|textarea|select)[^>]* id="` + m[1] + `"[^>]*>|<fieldset id="` + m[1] + `"`).FindString(body)
		name := regexp.MustCompile(` name="([^"]*)"`).FindStringSubmatch(input)
		if name == nil {
			name = []string{"", m[1]}
		}
		found[html.UnescapeString(name[1])] = html.UnescapeString(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m[2], ""))
	}
	return found
}

// sameJSON reports whether two documents have the same values.
func sameJSON(tb testing.TB, a, b string) bool {
	tb.Helper()
	var x, y any
	for text, to := range map[string]*any{a: &x, b: &y} {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(to); err != nil {
			tb.Fatalf("%s: %v", text, err)
		}
	}
	if a == b {
		return true
	}
	return reflect.DeepEqual(x, y)
}

// eachDatabase runs a test over a dashboard on each kind of database.
func eachDatabase(t *testing.T, f func(t *testing.T, e *env)) {
	t.Helper()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		t.Helper()
		f(t, newEnvOf(t, db, startKinds()))
	})
}

var htmlLink = regexp.MustCompile(`<a href="([^"]*)">A link that fills this form in</a>`)

// plainSpec is the spec of a kind without a schema.
type plainSpec struct {
	N uint64 `json:"n"`
}

type plainExecutor struct{}

func (plainExecutor) Execute(context.Context, *taskkit.Batch[plainSpec, struct{}]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

func plainKind(retired bool) *taskkit.Kind[plainSpec, struct{}, struct{}] {
	return taskkit.NewKind(taskkind.Definition[plainSpec, struct{}, struct{}]{Name: "plain", Retired: retired})
}

// decode reads JSON.
func decode(tb testing.TB, text []byte, to any) {
	tb.Helper()
	if err := json.Unmarshal(text, to); err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
}
