package taskui_test

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

const (
	ada   = "0190b3a1-7c3e-7000-8000-000000000001"
	grace = "0190b3a1-7c3e-7000-8000-000000000002"
)

// The page Kinds lists the kinds, and the page of a kind says what it does; who may start tasks gets the form.
func TestKindPages(t *testing.T) {
	t.Parallel()
	e := newEnvOf(t, sqlite(t), startKinds())
	list := e.page(t, "/tasks/kinds", http.StatusOK)
	for _, want := range []string{`<a href="./kind/enrol">enrol</a> <span class="tag">preview</span><br>Enrol enrols students.`, `<a href="./kind/shown">shown</a>`} {
		if !strings.Contains(list.body, want) {
			t.Errorf("no %s in\n%s", want, list.body)
		}
	}
	page := e.page(t, "/tasks/kind/enrol", http.StatusOK)
	for _, want := range []string{
		"Enrol enrols students.", "It writes &lt;i&gt;one&lt;/i&gt; row for each.", "Letter &lt;b&gt;welcomes&lt;/b&gt; them.", "Students are enrolled.",
		"(one for each line; at most 1,000 entries; none twice)", `name="f.letter.subject"`, `name="file.students"`, `with Query, even if all is empty`,
	} {
		if !strings.Contains(page.body, want) {
			t.Errorf("no %s in\n%s", want, page.body)
		}
	}
	for _, path := range []string{"/tasks/kind/unknown", "/tasks/kind/enrol?repeat=x", "/tasks/kind/enrol?repeat=" + uuid.NewString()} {
		e.page(t, path, http.StatusNotFound)
	}
	for person, may := range map[string]bool{admin: true, operator: true, owner: true, stopper: false, reader: false} {
		one := e.as(person)
		if shown := strings.Contains(one.page(t, "/tasks/kind/enrol", http.StatusOK).body, `name="f.letter.subject"`); shown != may {
			t.Errorf("%s: the form is shown: %t, want %t", person, shown, may)
		}
		form := url.Values{"f.letter.subject": {"Welcome"}, "step": {"run"}, "key": {"k"}}
		want := http.StatusForbidden
		if may {
			want = http.StatusSeeOther
		}
		if a := one.post(t, "/tasks/kind/enrol", form, nil); a.status != want {
			t.Errorf("%s: %d, want %d\n%s", person, a.status, want, a.body)
		}
	}
	e.wantTasks(t, 3)
	e.as(nothing).page(t, "/tasks/kinds", http.StatusForbidden)
	newEnvOf(t, sqlite(t), nil).page(t, "/tasks/kinds", http.StatusOK).wants(t, "This program has no kinds")
	form := url.Values{"f.letter.subject": {"Welcome"}, "step": {"run"}, "key": {"k"}}
	for _, site := range []string{"cross-site", "same-site"} {
		a := e.do(t, http.MethodPost, "/tasks/kind/enrol", form.Encode(), "Sec-Fetch-Site", site)
		if a.status != http.StatusForbidden {
			t.Errorf("%s: %d", site, a.status)
		}
	}
	e.wantTasks(t, 3)
}

// Without a schema a spec is entered as JSON; a kind that is retired has no form.
func TestKindsWithoutSchemaAndRetired(t *testing.T) {
	t.Parallel()
	r := new(taskkit.Registry)
	taskkit.Register(r, plainKind(false), taskkit.Executor[plainSpec, struct{}](plainExecutor{}))
	e := newEnvOf(t, sqlite(t), r)
	page := e.check(t, "plain", url.Values{"f.spec": {`{"n": 18446744073709551615}`}}, nil)
	task := e.started(t, e.pressStep(t, "plain", page, "run", nil))
	if got := string(task.SpecJSON); got != `{"n":18446744073709551615}` {
		t.Errorf("the spec is %s", got)
	}
	for text, want := range map[string]string{"{": "must be JSON: it ends too early", `{"m":1}`: "/m", "[]": ""} {
		a := e.check(t, "plain", url.Values{"f.spec": {text}}, nil)
		if a.status == http.StatusOK {
			a = e.pressStep(t, "plain", a, "run", nil)
		}
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, want) || !strings.Contains(browserForm(a.body).Get("f.spec"), text) {
			t.Errorf("%s: %d\n%s", text, a.status, a.body)
		}
	}
	e.wantTasks(t, 1)
	r = new(taskkit.Registry)
	taskkit.Register(r, plainKind(true), taskkit.Executor[plainSpec, struct{}](plainExecutor{}))
	retired := newEnvOf(t, e.db, r)
	if body := retired.page(t, "/tasks/kind/plain", http.StatusOK).body; !strings.Contains(body, "retired and takes no new tasks") || strings.Contains(body, `name="f.spec"`) {
		t.Errorf("the page of a retired kind:\n%s", body)
	}
	if a := retired.post(t, "/tasks/kind/plain", url.Values{"f.spec": {"{}"}, "step": {"run"}, "key": {"k"}}, nil); a.status < 400 {
		t.Errorf("a retired kind was started: %d", a.status)
	}
	e.wantTasks(t, 1)
}

// A link fills the form in, and so does a task that is repeated; secrets are in neither.
func TestFormsThatAreFilledIn(t *testing.T) {
	t.Parallel()
	e := newEnvOf(t, sqlite(t), startKinds())
	body := e.page(t, "/tasks/kind/enrol?f.letter.subject=%3Cb%3E%E2%80%AEHi&f.students="+ada+"&f.gone=1&f.query.program=x", http.StatusOK).body
	form := browserForm(body)
	if form.Get("f.letter.subject") != "<b>\u202eHi" || form.Get("f.students") != ada || form.Get("f.query.program") != "x" {
		t.Errorf("the form is %q", form)
	}
	if !strings.Contains(body, "fields that this kind does not have: gone") {
		t.Errorf("nothing of a field that is unknown in\n%s", body)
	}
	secret := e.page(t, "/tasks/kind/shown?f.login.password=MARKER-SECRET", http.StatusOK).body
	if strings.Contains(secret, "MARKER") || !strings.Contains(secret, "Secrets are not taken from links: login.password.") {
		t.Errorf("a secret of a link is shown, or nothing is said:\n%s", secret)
	}
	page := e.check(t, "enrol", url.Values{"f.letter.subject": {"Hi 'there'"}, "f.students": {ada + "\n" + grace}, "f.limit": {"18446744073709551615"}, "f.query": {"{}"}}, nil)
	task := e.started(t, e.pressStep(t, "enrol", page, "run", url.Values{"reason": {"<i>why</i>"}}))
	kind := e.page(t, "/tasks/kind/enrol", http.StatusOK).body
	if !strings.Contains(kind, `<a href="../kind/enrol?repeat=`+task.ID.String()+`">Repeat`) || !strings.Contains(kind, "&lt;i&gt;why&lt;/i&gt;") {
		t.Errorf("the task is not offered to be repeated:\n%s", kind)
	}
	again := e.check(t, "enrol?repeat="+task.ID.String(), nil, nil)
	repeated := e.started(t, e.pressStep(t, "enrol", again, "run", nil))
	if !sameJSON(t, string(repeated.SpecJSON), string(task.SpecJSON)) {
		t.Errorf("the task is repeated with\n%s, want\n%s", repeated.SpecJSON, task.SpecJSON)
	}
	link := firstOf(t, htmlLink, page.body)
	linked := e.check(t, strings.TrimPrefix(html.UnescapeString(link), "../kind/"), nil, nil)
	if spec := e.started(t, e.pressStep(t, "enrol", linked, "run", nil)).SpecJSON; !sameJSON(t, string(spec), string(task.SpecJSON)) {
		t.Errorf("the link leads to\n%s, want\n%s", spec, task.SpecJSON)
	}
	// Another's task is not repeated by a person who sees its own only, nor is the spec of its own.
	e.as(owner).page(t, "/tasks/kind/enrol?repeat="+task.ID.String(), http.StatusNotFound)
	if body := e.as(owner).page(t, "/tasks/kind/enrol", http.StatusOK).body; strings.Contains(body, "Repeat") {
		t.Errorf("others' tasks are offered:\n%s", body)
	}
	e.page(t, "/tasks/kind/shown?repeat="+task.ID.String(), http.StatusNotFound)
	over, err := taskkit.Submit(t.Context(), e.db.DB, enrolKind(enrolSchema, 1), enrolSpec{Letter: enrolLetter{Subject: "x"}}, taskkit.System(), taskkit.WithTargets(slices.Values([]uuid.UUID{uuid.New(), uuid.New()})))
	if err != nil {
		t.Fatal(err)
	}
	if body := e.page(t, "/tasks/kind/enrol?repeat="+over.String(), http.StatusOK).body; !strings.Contains(body, "The targets of the task are not in its spec and are not repeated: it had 2.") {
		t.Errorf("nothing is said of a frozen set of targets:\n%s", body)
	}
}

// idle is an executor that does nothing.
type idle[Spec any] struct{}

// Execute implements [taskkit.Executor].
func (idle[Spec]) Execute(context.Context, *taskkit.Batch[Spec, struct{}]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

// A list that is null is repeated as null, which a rule may allow where it refuses an empty list; a list that is empty stays so.
func TestRepeatKeepsNull(t *testing.T) {
	t.Parallel()
	type spec struct {
		Tags  []string       `json:"tags" validate:"omitempty,min=1"`
		Rooms map[string]int `json:"rooms"`
		Ids   []int          `json:"ids"`
	}
	k := taskkit.NewKind(taskkind.Definition[spec, struct{}, struct{}]{Name: "optional", SpecSchema: []byte(`{"type":"object","properties":{
"tags":{"anyOf":[{"type":"null"},{"type":"array","items":{"type":"string"},"minItems":1}]},
"rooms":{"type":["object","null"],"additionalProperties":{"type":"integer"}},"ids":{"type":["array","null"],"items":{"type":"integer"}}},"additionalProperties":false}`)})
	r := new(taskkit.Registry)
	taskkit.Register(r, k, taskkit.Executor[spec, struct{}](idle[spec]{}))
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnvOf(t, db, r)
		for want, s := range map[string]spec{
			`{"tags":null,"rooms":null,"ids":null}`:       {},
			`{"tags":["a"],"rooms":{},"ids":[]}`:          {[]string{"a"}, map[string]int{}, []int{}},
			`{"tags":["null"],"rooms":{"a":0},"ids":[0]}`: {[]string{"null"}, map[string]int{"a": 0}, []int{0}},
		} {
			id := submit(t, e, k, s)
			repeat := e.page(t, "/tasks/kind/optional?repeat="+id.String(), http.StatusOK)
			checked := e.pressStep(t, "optional", repeat, "check", nil)
			if again := e.started(t, e.pressStep(t, "optional", checked, "run", nil)); string(again.SpecJSON) != want {
				t.Errorf("%s is repeated as %s", want, again.SpecJSON)
			}
		}
	})
}
