package taskui_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/specform"
)

// wrongTexts returns texts that a field refuses, by what its schema says of it.
func wrongTexts(f *specform.Field) (all []string) {
	add := func(more ...string) { all = append(all, more...) }
	const long = 300
	switch f.Type {
	case specform.Text:
		add("a\x00b", "\xff\xfe")
		if f.MaxLength > 0 {
			add(strings.Repeat("é", f.MaxLength+1))
		}
		if f.MinLength > 1 {
			add("x")
		}
	case specform.Choice:
		add("none of them", "<script>alert(1)</script>", "\u202e", "-1")
	case specform.Integer:
		add("x", "1.5", "1,000", "0x1f", "1e3", "--1", "١", strings.Repeat("9", long), "-"+strings.Repeat("9", long), "1 2", "<b>", "=1+1")
		add(beyond(f)...)
	case specform.Number:
		add("x", "1,5", "NaN", "Infinity", "1e999", "1e999999999", ".5", "0x1p-2", strings.Repeat("9", 500))
		add(beyond(f)...)
	case specform.Boolean:
		add("maybe", "2", "ja")
	case specform.UUID:
		add("x", "0190b3a1-7c3e-7000-8000-00000000000", "0190b3a1-7c3e-7000-8000-00000000000g")
	case specform.Date, specform.Time:
		add("x", "tomorrow", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "01.07.2026", "2026-07-01T25:00:00Z", "09:00")
	case specform.Bytes:
		add("*", "a", "aGVsbG8")
	case specform.JSON:
		add("{", "x", `{"a":1,"a":2}`, "[1,]", "\xff", strings.Repeat("[", long))
	case specform.Map:
		add("no equals sign", `{"a":`, `["a"]`, `{"a":1,"a":1}`)
	case specform.Group:
		add("x", "[]", "{", `{"no such name":1}`)
	case specform.List:
		add(`["a"`, `{"a":1}`, `[{"no such name":1}]`, "[[[]]]")
		if f.Item != nil && f.Item.Type == specform.UUID {
			for _, one := range wrongTexts(f.Item) {
				add(ada + "\n" + one)
			}
			if f.Unique {
				add(ada+"\n"+ada, ada+", "+ada)
			}
			if f.MaxItems > 0 {
				add(strings.Join(ids(f.MaxItems+1), "\n"))
			}
		}
		if f.Item != nil && f.Item.Type == specform.Group {
			add("a;b;c;d;e;f;g;h\n1;2;3\n", "\n\n<b>\n")
		}
	}
	return all
}

// beyond returns numbers beyond the bounds of a field.
func beyond(f *specform.Field) (all []string) {
	if f.Max != "" {
		all = append(all, f.Max+"0")
	}
	if f.Min != "" {
		all = append(all, "-"+strings.TrimPrefix(f.Min, "-")+"0")
	}
	if strings.HasPrefix(f.Min, "1") {
		all = append(all, "0")
	}
	return slices.DeleteFunc(all, func(s string) bool { return s == "-00" })
}

// Every field that is wrong in every way that its schema can tell: an error beside the field, what was typed kept, and nothing started.
func TestEveryFieldWrong(t *testing.T) {
	t.Parallel()
	schema, err := os.ReadFile("../../internal/taskgen/schema/testdata/shown/gen/showntask/spec.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	eachDatabase(t, func(t *testing.T, e *env) {
		tried := map[specform.Type]int{}
		for kind, text := range map[string]string{"shown": string(schema), "enrol": enrolSchema} {
			form, err := specform.New([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			valid := url.Values{"f.letter.subject": {"x"}, "step": {"check"}}
			if kind == "shown" {
				valid = shownFields()
				valid.Set("step", "check")
			}
			for f := range form.All() {
				if f.HasSecrets && f.Type != specform.Group {
					continue // TestSecretsAreNeverShown
				}
				name := "f." + f.Name
				wrong := wrongTexts(f)
				if around := form.Within(f.Pointer[:strings.LastIndexByte(f.Pointer, '/')]); f.Required && f.Type != specform.Group && (around == nil || around.Required) {
					wrong = append(wrong, "")
				}
				for _, typed := range wrong {
					tried[f.Type]++
					fields := maps.Clone(valid)
					fields.Set(name, typed)
					a := e.post(t, "/tasks/kind/"+kind, fields, nil)
					beside := errorsBeside(a.body)
					if a.status != http.StatusUnprocessableEntity || (beside[name] == "" && f.Type != specform.Group) || len(beside) == 0 && !strings.Contains(a.body, `role="alert"`) {
						t.Errorf("%s %s=%.40q: %d, errors %.300q", kind, f.Name, typed, a.status, beside)
					}
					kept := browserForm(a.body)
					if got := strings.ReplaceAll(kept.Get(name), "\r\n", "\n"); f.Type != specform.Group && got != strings.ToValidUTF8(strings.ReplaceAll(typed, "\x00", "\uFFFD"), "\uFFFD") && got != typed {
						t.Errorf("%s %s=%.40q: %.60q was kept", kind, f.Name, typed, got)
					}
					for other, given := range valid {
						if other != name && other != "step" && !strings.HasPrefix(other, name+".") && kept.Get(other) != given[0] {
							t.Errorf("%s %s=%.40q: of %s %q was kept", kind, f.Name, typed, other, kept.Get(other))
						}
					}
				}
			}
		}
		e.wantTasks(t, 0)
		for typ := specform.Text; typ <= specform.Map; typ++ {
			if tried[typ] == 0 {
				t.Errorf("no field of the type %d was tried", typ)
			}
		}
	})
}

// Markup, line feeds and marks of direction in every text: they are shown as texts, and stored as they are.
func TestHostileTextsInForms(t *testing.T) {
	t.Parallel()
	all := []string{
		`</textarea><script>alert("MARKER")</script>`, `"><img src=x onerror=alert(1)>`, "{{.Root}}", "a\nb\r\nc", "\n\nleading", "\u202eright to left\u2066", "\u0007bell\u200b", "'; DROP TABLE taskkit.queued_task; --", "𝕌🙂\u00a0 ",
		"=HYPERLINK(\"http://x\")", `\u0041`, "&amp;&lt;", "%s%d", strings.Repeat("long ", 2000),
	}
	eachDatabase(t, func(t *testing.T, e *env) {
		for i, text := range all {
			fields := url.Values{"f.letter.subject": {fmt.Sprintf("%d", i)}, "f.letter.body": {text}, "f.query.program": {text}}
			page := e.check(t, "enrol", fields, nil)
			if page.status != http.StatusOK {
				t.Fatalf("%q: %d\n%s", text, page.status, page.body)
			}
			back := e.pressStep(t, "enrol", page, "edit", nil)
			wrong := e.pressStep(t, "enrol", back, "check", url.Values{"f.limit": {text}})
			for name, a := range map[string]answer{"page": page, "back": back, "wrong": wrong} {
				if strings.Contains(a.body, "<script>alert") || strings.Contains(a.body, "<img") {
					t.Errorf("%q: the %s has markup:\n%s", text, name, a.body)
				}
			}
			task := e.started(t, e.pressStep(t, "enrol", e.pressStep(t, "enrol", back, "check", nil), "run", url.Values{"reason": {clip(text)}}))
			want := strings.ReplaceAll(text, "\r\n", "\n")
			var got enrolSpec
			decode(t, task.SpecJSON, &got)
			if got.Letter.Body != want || got.Query == nil || got.Query.Program != want || got.Letter.Subject != fmt.Sprint(i) {
				t.Errorf("%q is stored as %+v", text, got)
			}
			e.page(t, "/tasks/kind/enrol", http.StatusOK)
		}
	})
}

func clip(s string) string { return strings.TrimSpace(s[:min(len(s), 500)]) }
