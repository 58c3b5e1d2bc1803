package taskhttp_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskkind"
)

// document is what the tests read of a document.
type apiDocument struct {
	Servers  []struct{ URL string }
	Security []map[string][]string
	Paths    map[string]map[string]any
	// Components are decoded apart where numbers matter.
	Components struct {
		SecuritySchemes map[string]map[string]string
		Schemas         map[string]map[string]any
	}
}

func documentOf(t *testing.T, s *taskhttp.Server) (d apiDocument, raw string) {
	t.Helper()
	body, err := s.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	decode(t, string(body), &d)
	return d, string(body)
}

// Operations have ids of their own, also the starts of one kind at paths of which names are made alike.
func TestOperationIDsAreUnique(t *testing.T) {
	t.Parallel()
	e := newEnv(t, testdb.SQLite(t))
	for _, more := range []string{"/again", "/other/work", "/other-work", "/other_work"} {
		taskhttp.Start(e.jobs, "POST "+more, workKind)
	}
	d, _ := documentOf(t, e.jobs)
	seen := map[string]string{}
	for path, item := range d.Paths {
		for method, o := range item {
			operation, ok := o.(map[string]any)
			if !ok {
				continue // parameters of all
			}
			id, _ := operation["operationId"].(string)
			if other := seen[id]; id == "" || other != "" {
				t.Errorf("%s %s and %s have the id %q", method, path, other, id)
			}
			seen[id] = method + " " + path
		}
	}
	if seen["start_work"] != "post "+startPath || seen["start_work_again"] != "post /again" {
		t.Errorf("ids %v", seen)
	}
}

// Numbers of a schema stay as they are written, and definitions whose names become the same stay apart.
func TestSchemasAreHoistedExactly(t *testing.T) {
	t.Parallel()
	e := newEnv(t, testdb.SQLite(t))
	kind := taskkit.NewKind(taskkind.Definition[workSpec, workState, workResult]{
		Name: "exact",
		SpecSchema: []byte(`{"type":"object","properties":{
			"n":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807},"u":{"type":"integer","maximum":18446744073709551615},"f":{"type":"number","minimum":1.10},
			"r":{"$ref":"#/$defs/Result"},"a":{"$ref":"#/$defs/x.y"},"b":{"$ref":"#/$defs/x y"},"c":{"$ref":"#/$defs/x~1y"}},
			"$defs":{"Result":{"type":"boolean"},"Spec":{"type":"null"},"x y":{"type":"string"},"x/y":{"type":"integer"},"x.y":{"type":"array"}}}`),
		ResultSchema: []byte(`{"type":"object","properties":{"items":{"type":"integer","maximum":9007199254740993}}}`),
	})
	taskhttp.Start(e.jobs, "POST /exact", kind)
	d, raw := documentOf(t, e.jobs)
	for _, number := range []string{"-9223372036854775808", "9223372036854775807", "18446744073709551615", "1.10", "9007199254740993"} {
		if !strings.Contains(raw, number) {
			t.Errorf("%s is not in the document", number)
		}
	}
	types := map[string]any{"r": "boolean", "a": "array", "b": "string", "c": "integer"}
	properties, _ := d.Components.Schemas["exact_Spec"]["properties"].(map[string]any)
	for name, want := range types {
		property, _ := properties[name].(map[string]any)
		ref, _ := property["$ref"].(string)
		if got := d.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]["type"]; got != want {
			t.Errorf("%s refers to %s, which is %v, want %v", name, ref, got, want)
		}
	}
	if d.Components.Schemas["exact_Result"]["type"] != "object" {
		t.Error("the result has lost its schema")
	}
}

// A fetch of a kind has the schema of its result, and returns results of that kind alone.
func TestFetchOfAKind(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		j := e.reach(t, e.start(t, done).ID, taskhttp.Succeeded)
		if r := e.do(t, "GET", "/jobs/kinds/work/results/"+j.ID.String(), ""); r.status != http.StatusOK || r.body != `{"items":4}` {
			t.Errorf("%d %s", r.status, r.body)
		}
		check(t, "another kind", e.do(t, "GET", "/jobs/kinds/pieces/results/"+j.ID.String(), ""), 404, taskhttp.ErrNoSuchJob)
		d, _ := documentOf(t, e.jobs)
		get, _ := d.Paths["/jobs/kinds/work/results/{id}"]["get"].(map[string]any)
		answers, _ := get["responses"].(map[string]any)
		ok, _ := answers["200"].(map[string]any)
		content, _ := ok["content"].(map[string]any)
		media, _ := content["application/json"].(map[string]any)
		schema, _ := media["schema"].(map[string]any)
		if get["operationId"] != "fetch_work" || schema["$ref"] != "#/components/schemas/work_Result" {
			t.Errorf("the fetch of a kind is %v", get)
		}
	})
}

// The document names servers and security schemes, by default those that follow from the configuration.
func TestDocumentOfAService(t *testing.T) {
	t.Parallel()
	db := testdb.SQLite(t)
	for name, c := range map[string]struct {
		configure func(*taskhttp.Config)
		servers   []string
		schemes   map[string]map[string]string
	}{
		"default":  {func(*taskhttp.Config) {}, []string{"/"}, map[string]map[string]string{"caller": {"type": "http", "scheme": "bearer"}}},
		"external": {func(c *taskhttp.Config) { c.External = "/api" }, []string{"/api"}, map[string]map[string]string{"caller": {"type": "http", "scheme": "bearer"}}},
		"basic":    {func(c *taskhttp.Config) { c.Challenge = `Basic realm="x"` }, []string{"/"}, map[string]map[string]string{"caller": {"type": "http", "scheme": "basic"}}},
		"given": {func(c *taskhttp.Config) {
			c.Document = taskhttp.Document{Servers: []string{"https://a.example", "https://b.example"}, Security: map[string]any{
				"key": map[string]string{"type": "apiKey", "in": "header", "name": "X-Key"}, "token": map[string]string{"type": "http", "scheme": "bearer"},
			}}
		}, []string{"https://a.example", "https://b.example"}, map[string]map[string]string{
			"key": {"type": "apiKey", "in": "header", "name": "X-Key"}, "token": {"type": "http", "scheme": "bearer"},
		}},
	} {
		d, raw := documentOf(t, newEnv(t, db, c.configure).jobs)
		var servers []string
		for _, s := range d.Servers {
			servers = append(servers, s.URL)
		}
		if !slices.Equal(servers, c.servers) || len(d.Security) != len(c.schemes) {
			t.Errorf("%s: %s", name, raw[max(len(raw)-500, 0):])
		}
		for scheme, want := range c.schemes {
			for field, value := range want {
				if d.Components.SecuritySchemes[scheme][field] != value {
					t.Errorf("%s: schemes %v", name, d.Components.SecuritySchemes)
				}
			}
		}
	}
}

// Behind a proxy that strips a prefix, locations, links and next pages begin with it and can be followed.
func TestExternalBase(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db, func(c *taskhttp.Config) { c.External = "/shop/api" })
		e.web.Config.Handler = http.StripPrefix("/shop/api", e.jobs)
		r := e.do(t, "POST", "/shop/api"+startPath, `{"mode":"done"}`)
		j := r.job(t)
		if want := "/shop/api" + path(j.ID); r.header.Get("Location") != want || j.Links["self"].Href != want || j.Links["pause"].Href != want+"/pause" {
			t.Errorf("%v %+v", r.header, j.Links)
		}
		check(t, "link", e.do(t, "POST", j.Links["pause"].Href, ""), 202, nil)
		e.do(t, "POST", "/shop/api"+startPath, `{"mode":"done"}`)
		next := e.do(t, "GET", "/shop/api/jobs?limit=1", "").header.Get("Link")
		address, _, _ := strings.Cut(strings.TrimPrefix(next, "<"), ">")
		var page taskhttp.Page
		decode(t, e.do(t, "GET", address, "").body, &page)
		if len(page.Jobs) != 1 || page.Jobs[0].ID != j.ID {
			t.Errorf("the next page is %s: %+v", next, page)
		}
	})
	for _, bad := range []string{"api", "/", "/api/", "ftp://x", "https://x/?a=b", "https://x/#f", "/a b", "//x", "https://"} {
		if _, err := taskhttp.New(testdb.SQLite(t).DB, taskhttp.Config{Caller: callerOf, Authorize: taskhttp.OwnJobs, External: bad}); !isOption(err) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
