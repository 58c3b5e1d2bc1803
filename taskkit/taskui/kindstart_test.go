package taskui_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskui"
)

// A form starts one task with exactly what was entered, of the person, however often it is sent.
func TestFormStartsOneTask(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, e *env) {
		e = e.as(operator)
		page := e.check(t, "enrol", url.Values{
			"f.students": {ada + "\r\n" + grace + "\r\n"}, "f.letter.subject": {"Welcome"}, "f.letter.body": {"Dear <b>all</b>,\r\n\u202ebye"}, "f.limit": {"9007199254740993"},
			"f.from": {"2026-07-01 09:00"}, "f.seats": {"room,seat\r\nA1,7\r\n"},
		}, nil)
		if got := buttons(page.body); page.status != http.StatusOK || got["run"] != "Run on 2 students" || got["preview"] != "Preview on 2 students" {
			t.Fatalf("%d, the buttons are %q\n%s", page.status, got, page.body)
		}
		e.wantTasks(t, 0)
		form := browserForm(page.body)
		form.Set("step", "run")
		form.Set("reason", " new term ")
		form.Set("at", "2027-01-02T03:04:05+01:00")
		var all [4]answer
		var wg sync.WaitGroup
		for i := range all {
			wg.Go(func() { all[i] = e.post(t, "/tasks/kind/enrol", form, nil) })
		}
		wg.Wait()
		task := e.started(t, all[0])
		for _, a := range all[1:] {
			if other := e.started(t, a); other.ID != task.ID {
				t.Errorf("the form has started %s and %s", task.ID, other.ID)
			}
		}
		// Another process, to which a proxy sends the form again, finds the task.
		other := newEnvOf(t, e.db, startKinds()).as(operator)
		maps.Copy(other.people, e.people)
		if again := other.started(t, other.post(t, "/tasks/kind/enrol", form, nil)); again.ID != task.ID {
			t.Errorf("another process has started %s", again.ID)
		}
		e.wantTasks(t, 1)
		want := `{"students":["` + ada + `","` + grace + `"],"letter":{"subject":"Welcome","body":"Dear <b>all</b>,\n` + "\u202e" + `bye"},"limit":9007199254740993,"from":"2026-07-01T09:00:00Z","seats":[{"room":"A1","seat":7}]}`
		if !sameJSON(t, string(task.SpecJSON), want) {
			t.Errorf("the spec is %s, want %s", task.SpecJSON, want)
		}
		me := e.people[operator].ID
		if task.Owner != me || task.RunAs != me || task.CreatedBy != me || task.Reason != "new term" || task.Preview || task.Progress.Total != 2 {
			t.Errorf("the task is %+v", task)
		}
		if at := task.NotBefore.UTC().Format("2006-01-02 15:04:05"); at != "2027-01-02 02:04:05" {
			t.Errorf("it starts at %s", at)
		}
		// The form of another person is another one, even with the same key.
		if admins := e.as(admin).started(t, e.as(admin).post(t, "/tasks/kind/enrol", form, nil)); admins.ID == task.ID {
			t.Error("the key of a person is the key of another")
		}
		// Its preview is a task of its own.
		preview := e.started(t, e.pressStep(t, "enrol", page, "preview", nil))
		if !preview.Preview || preview.ID == task.ID || !sameJSON(t, string(preview.SpecJSON), want) {
			t.Errorf("the preview is %+v", preview)
		}
	})
}

// An unknown person's tasks belong to the application.
func TestTasksOfUnknownPeople(t *testing.T) {
	t.Parallel()
	e := newEnvOf(t, sqlite(t), startKinds())
	e.people["unknown"] = taskui.Person{Level: taskui.Operate}
	task := e.started(t, e.as("unknown").post(t, "/tasks/kind/enrol", url.Values{"f.letter.subject": {"x"}, "step": {"run"}, "key": {"k"}}, nil))
	if task.Owner != taskkit.SystemOwner {
		t.Errorf("the owner is %s", task.Owner)
	}
}

// The button says on how many targets the task runs, of what was checked; what is sent must be what was checked.
func TestButtonTellsTheTruth(t *testing.T) {
	t.Parallel()
	e := newEnvOf(t, sqlite(t), startKinds())
	for students, want := range map[string]string{
		"":                            "Run",
		"[]":                          "Run",
		ada:                           "Run on 1 students",
		strings.Join(ids(1000), "\n"): "Run on 1,000 students",
	} {
		page := e.check(t, "enrol", url.Values{"f.students": {students}, "f.letter.subject": {"x"}}, nil)
		if got := buttons(page.body)["run"]; got != want {
			t.Errorf("%.50q: the button is %q, want %q", students, got, want)
		}
		if finds := strings.Contains(page.body, "the task finds them when it starts"); finds != (want == "Run") {
			t.Errorf("%.50q: finds %t", students, finds)
		}
	}
	page := e.check(t, "enrol", url.Values{"f.students": {ada}, "f.letter.subject": {"x"}}, nil)
	changed := e.pressStep(t, "enrol", page, "run", url.Values{"f.students": {ada + "\n" + grace}})
	if changed.status != http.StatusConflict || buttons(changed.body)["run"] != "Run on 2 students" || !strings.Contains(changed.body, "not what was checked") {
		t.Errorf("%d\n%s", changed.status, changed.body)
	}
	e.wantTasks(t, 0)
	if spec := e.started(t, e.pressStep(t, "enrol", changed, "run", nil)).SpecJSON; !sameJSON(t, string(spec), `{"students":["`+ada+`","`+grace+`"],"letter":{"subject":"x"}}`) {
		t.Errorf("the spec is %s", spec)
	}
	shown := e.check(t, "shown", shownFields(), nil)
	if got := buttons(shown.body); got["preview"] != "" || got["run"] != "Run" {
		t.Errorf("a kind without previews and targets has the buttons %q", got)
	}
}

// ids returns n ids.
func ids(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("0190b3a1-7c3e-7000-8000-%012x", i))
	}
	return all
}

// shownFields are fields of the kind shown without mistakes and secrets.
func shownFields() url.Values {
	return url.Values{
		"f.people": {ada}, "f.status": {"active"}, "f.home.street": {"Dorset St"}, "f.wait": {"1000000000"}, "f.part.size": {"1"}, "f.login.user": {"ada"},
	}
}

// Secrets are entered last, and no page has them, whatever is wrong with them or the rest.
func TestSecretsAreNeverShown(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, e *env) {
		const marker = "MARKER-SECRET"
		secrets := url.Values{"f.login.password": {marker}, "f.login.keys": {`{"a":{"values":["` + marker + `"]}}`}}
		first := e.page(t, "/tasks/kind/shown", http.StatusOK)
		if strings.Contains(first.body, `name="f.login.password"`) || !strings.Contains(first.body, "Secrets are entered on the next page") {
			t.Errorf("the first page has a secret:\n%s", first.body)
		}
		fields := shownFields()
		maps.Copy(fields, secrets) // as of a hostile page
		page := e.check(t, "shown", fields, nil)
		if !strings.Contains(page.body, `<input type="password" id="f1" name="f.login.password" autocomplete="off"`) || !strings.Contains(page.body, `name="f.login.keys"`) {
			t.Errorf("the second page has no secrets to enter:\n%s", page.body)
		}
		wrong := e.pressStep(t, "shown", page, "run", url.Values{"f.login.password": {"MARKER"}, "f.login.keys": {"MARKER"}})
		if got := errorsBeside(wrong.body); wrong.status != http.StatusUnprocessableEntity || got["f.login.password"] != "must have at least 8 characters; it has 6" || got["f.login.keys"] == "" {
			t.Errorf("%d, errors are %q", wrong.status, got)
		}
		edit := e.pressStep(t, "shown", page, "edit", secrets)
		bad := e.pressStep(t, "shown", page, "run", url.Values{"f.wait": {"x"}, "f.login.password": {marker}})
		missing := e.pressStep(t, "shown", page, "run", url.Values{"f.login.password": {""}})
		if got := errorsBeside(missing.body); got["f.login.password"] != "is required" {
			t.Errorf("errors are %q", got)
		}
		e.wantTasks(t, 0)
		task := e.started(t, e.pressStep(t, "shown", page, "run", secrets))
		if strings.Contains(string(task.SpecJSON), "MARKER") || !strings.Contains(string(task.SpecJSON), `"password":"***"`) {
			t.Errorf("the spec is shown as %s", task.SpecJSON)
		}
		repeat := e.page(t, "/tasks/kind/shown?repeat="+task.ID.String(), http.StatusOK)
		if !strings.Contains(repeat.body, "Secrets are not repeated: login.password, login.keys.") {
			t.Errorf("nothing is said of secrets:\n%s", repeat.body)
		}
		for name, a := range map[string]answer{"first": first, "page": page, "wrong": wrong, "edit": edit, "bad": bad, "missing": missing, "repeat": repeat} {
			if strings.Contains(a.body, "MARKER") || strings.Contains(a.body, "***") {
				t.Errorf("%s has a secret:\n%s", name, a.body)
			}
		}
	})
}

// A form that was opened before a deploy is refused, with what was typed.
func TestFormOfAnotherRevision(t *testing.T) {
	t.Parallel()
	old := newEnvOf(t, sqlite(t), startKinds())
	page := old.check(t, "enrol", url.Values{"f.students": {ada}, "f.letter.subject": {"<b>Welcome"}, "f.letter.body": {"\u202ebody"}}, nil)
	for name, kind := range map[string]*taskkit.Kind[enrolSpec, struct{}, struct{}]{
		"revision": enrolKind(enrolSchema, 2),
		"schema":   enrolKind(strings.Replace(strings.Replace(enrolSchema, `,"body":{"type":"string"}`, "", 1), `"maxLength":200`, `"maxLength":5`, 1), 1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := new(taskkit.Registry)
			taskkit.Register(r, kind, taskkit.Executor[enrolSpec, struct{}](enrolExecutor{}))
			now := newEnvOf(t, old.db, r)
			for _, step := range []string{"run", "preview", "check", "edit"} {
				a := now.pressStep(t, "enrol", answer{body: page.body + `<button name="step" value="check">x</button>`}, step, nil)
				if form := browserForm(a.body); a.status != http.StatusConflict || form.Get("f.letter.subject") != "<b>Welcome" || form.Get("f.students") != ada || form.Get("revision") == browserForm(page.body).Get("revision") {
					t.Errorf("%s: %d, the form is %q", step, a.status, form)
				}
				if name == "schema" && (!strings.Contains(a.body, "The field letter.body is gone. You entered: \uFFFDbody") || errorsBeside(a.body)["f.letter.subject"] != "must have at most 5 characters; it has 10") {
					t.Errorf("what has changed is not said:\n%s", a.body)
				}
			}
			now.wantTasks(t, 0)
			again := now.pressStep(t, "enrol", now.pressStep(t, "enrol", answer{body: page.body}, "run", url.Values{"f.letter.subject": {"short"}}), "check", nil)
			if again.status != http.StatusOK {
				t.Errorf("%d\n%s", again.status, again.body)
			}
		})
	}
}

// What rules refuse that no schema has is beside its field before there is a button, and what was typed is kept.
func TestRulesBesideTheirFields(t *testing.T) {
	t.Parallel()
	e := newEnvOf(t, sqlite(t), startKinds())
	a := e.check(t, "enrol", url.Values{"f.letter.subject": {"x"}, "f.from": {"2026-07-02T00:00:00Z"}, "f.to": {"2026-07-01T00:00:00Z"}}, nil)
	if got := errorsBeside(a.body); a.status != http.StatusUnprocessableEntity || !strings.HasPrefix(got["f.to"], "must be greater than from") || browserForm(a.body).Get("f.to") != "2026-07-01T00:00:00Z" {
		t.Errorf("%d, errors are %q\n%s", a.status, got, a.body)
	}
	a = e.check(t, "enrol", url.Values{"f.letter.subject": {"x"}, "f.letter.body": {"spam"}}, nil)
	if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "the letter is spam") || browserForm(a.body).Get("f.letter.body") != "spam" {
		t.Errorf("%d\n%s", a.status, a.body)
	}
	for _, c := range []struct{ name, value, want string }{
		{"at", "tomorrow", "must be a time, such as 2026-07-01 09:00"},
		{"reason", strings.Repeat("x", 1001), "The reason is too long"},
	} {
		page := e.check(t, "enrol", url.Values{"f.letter.subject": {"x"}}, nil)
		a := e.pressStep(t, "enrol", page, "run", url.Values{c.name: {c.value}})
		if a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, c.want) || browserForm(a.body).Get(c.name) != c.value {
			t.Errorf("%s: %d\n%s", c.name, a.status, a.body)
		}
	}
	page := e.check(t, "enrol", url.Values{"f.letter.subject": {"x"}, "f.letter.body": {"ham"}}, nil)
	edit := e.pressStep(t, "enrol", page, "edit", url.Values{"reason": {"why"}, "at": {"2027-01-01"}})
	if form := browserForm(e.pressStep(t, "enrol", edit, "check", nil).body); form.Get("reason") != "why" || form.Get("at") != "2027-01-01" || form.Get("f.letter.body") != "ham" {
		t.Errorf("after Change the form is %q", form)
	}
	for _, key := range []string{"", strings.Repeat("x", 101)} {
		if a := e.post(t, "/tasks/kind/enrol", url.Values{"f.letter.subject": {"x"}, "step": {"run"}, "key": {key}}, nil); a.status != http.StatusBadRequest {
			t.Errorf("the key %q: %d", key, a.status)
		}
	}
	e.wantTasks(t, 0)
}

// The command and the request that the page shows do the same.
func TestTheSameElsewhere(t *testing.T) {
	t.Parallel()
	e := newEnvOf(t, sqlite(t), startKinds())
	page := e.check(t, "enrol", url.Values{"f.students": {ada}, "f.letter.subject": {"it's"}}, nil)
	for _, want := range []string{
		"taskkit run enrol --students=" + ada + " &#39;--letter.subject=it&#39;\\&#39;&#39;s&#39;<",
		`curl --fail --form-string step=run --form-string &#34;key=$(uuidgen)&#34; --form-string &#39;f..={&#34;students&#34;:[&#34;` + ada + `&#34;],&#34;letter&#34;:{&#34;subject&#34;:&#34;it&#39;\&#39;&#39;s&#34;}}&#39; ` + e.web.URL + "/tasks/kind/enrol<",
	} {
		if !strings.Contains(page.body, want) {
			t.Errorf("no %s in\n%s", want, page.body)
		}
	}
	spec := `{"students":["` + ada + `"],"letter":{"subject":"it's"}}`
	task := e.started(t, e.post(t, "/tasks/kind/enrol", url.Values{"step": {"run"}, "key": {uuid.NewString()}, "f..": {spec}}, nil))
	if !sameJSON(t, string(task.SpecJSON), spec) {
		t.Errorf("the spec is %s, want %s", task.SpecJSON, spec)
	}
	long := e.check(t, "enrol", url.Values{"f.students": {strings.Join(ids(100), "\n")}, "f.letter.subject": {"x"}}, nil)
	var whole enrolSpec
	file := e.pressStep(t, "enrol", long, "spec", nil)
	decode(t, []byte(file.body), &whole)
	if file.status != http.StatusOK || file.header.Get("Content-Disposition") != `attachment; filename="spec.json"` || len(whole.Students) != 100 || whole.Letter.Subject != "x" {
		t.Errorf("spec.json: %d %v\n%s", file.status, file.header, file.body)
	}
	if !strings.Contains(long.body, "taskkit run enrol --file spec.json<") || !strings.Contains(long.body, "--form &#39;f..=&lt;spec.json&#39;") {
		t.Errorf("a long spec is not in a file:\n%s", long.body)
	}
	odd := e.check(t, "enrol", url.Values{"f.letter.subject": {"\u202ex"}}, nil)
	if !strings.Contains(odd.body, `{&#34;letter&#34;:{&#34;subject&#34;:&#34;\u202ex&#34;}}`) || !strings.Contains(odd.body, "taskkit run enrol --file spec.json<") {
		t.Errorf("what cannot be seen is not escaped:\n%s", odd.body)
	}
	secret := e.check(t, "shown", shownFields(), nil)
	if !strings.Contains(secret.body, `--login.password=&#34;$LOGIN_PASSWORD&#34;`) || !strings.Contains(secret.body, `--form-string &#34;f.login.password=$LOGIN_PASSWORD&#34;`) {
		t.Errorf("secrets are no variables:\n%s", secret.body)
	}
}
