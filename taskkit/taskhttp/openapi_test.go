package taskhttp_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/taskhttp"
)

var update = flag.Bool("update", false, "write the golden files")

// The document of the tests' server, which a second validator checks in internal/proof/openapi.
const golden = "testdata/openapi.json"

func TestOpenAPI(t *testing.T) {
	t.Parallel()
	e := newEnv(t, testdb.SQLite(t))
	r := e.do(t, "GET", "/jobs/openapi.json", "")
	if r.status != 200 || r.header.Get("Content-Type") != "application/vnd.oai.openapi+json;version=3.1" {
		t.Fatalf("%d %v %s", r.status, r.header, r.body)
	}
	if again := e.do(t, "GET", "/jobs/openapi.json", "", "If-None-Match", r.header.Get("ETag")); again.status != 304 {
		t.Errorf("with the tag: %d", again.status)
	}
	if *update {
		if err := os.WriteFile(golden, []byte(r.body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != r.body {
		t.Errorf("the document is not that of %s: run the test with -update if that is intended\n%s", golden, r.body)
	}
	schema := e.do(t, "GET", "/jobs/kinds/work/schema", "")
	spec, _ := workKind.Schemas()
	if schema.status != 200 || schema.body != string(spec) || schema.header.Get("Content-Type") != "application/schema+json" {
		t.Errorf("schema: %d %v %s", schema.status, schema.header, schema.body)
	}
	check(t, "schema of no kind", e.do(t, "GET", "/jobs/kinds/none/schema", ""), 404, taskhttp.ErrNoSuchPath)
}

// The documents of this server, of the quickstart and of the demonstration are ones of OpenAPI 3.1 by the schema
// of its authors, and their own schemas are JSON Schemas of 2020-12 without open references.
func TestOpenAPIIsValid(t *testing.T) {
	t.Parallel()
	for _, file := range []string{golden, "../../docs/testdata/openapi.json", "../../cmd/taskkit/testdata/openapi.json"} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			validOpenAPI(t, file)
		})
	}
}

func validOpenAPI(t *testing.T, file string) {
	t.Helper()
	c := jsonschema.NewCompiler()
	document := decoded(t, file)
	const openAPI = "https://spec.openapis.org/oas/3.1/schema/2026-08-03"
	for name, file := range map[string]string{openAPI: "testdata/oas-3.1-schema.json", "https://example.org/jobs": file} {
		if err := c.AddResource(name, decoded(t, file)); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := c.Compile(openAPI)
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(document); err != nil {
		t.Error(err)
	}
	root, _ := document.(map[string]any)
	components, _ := root["components"].(map[string]any)
	schemas, _ := components["schemas"].(map[string]any)
	if len(schemas) < 8 {
		t.Errorf("%d schemas", len(schemas))
	}
	for name := range schemas {
		if _, err := c.Compile("https://example.org/jobs#/components/schemas/" + name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func decoded(t *testing.T, file string) any {
	t.Helper()
	raw, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// documented is what tests read of the document of their server.
type documented struct {
	Paths map[string]map[string]json.RawMessage `json:"paths"`

	schemas *jsonschema.Compiler
}

func newDocument(t *testing.T) *documented {
	t.Helper()
	d := &documented{schemas: jsonschema.NewCompiler()}
	if err := d.schemas.AddResource("https://example.org/jobs", decoded(t, golden)); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	decode(t, string(raw), d)
	return d
}

// conforms checks that the document has an answer: its status, and a body of its schema.
func (d *documented) conforms(t *testing.T, method, template string, r reply) {
	t.Helper()
	var operation struct {
		Responses map[string]struct {
			Content map[string]struct {
				Schema struct {
					Ref string `json:"$ref"`
				} `json:"schema"`
			} `json:"content"`
		} `json:"responses"`
	}
	decode(t, string(d.Paths[template][strings.ToLower(method)]), &operation)
	answer, ok := operation.Responses[itoa(r.status)]
	if !ok {
		t.Errorf("%s %s: %d is not documented: %s", method, template, r.status, r.body)
		return
	}
	ref := answer.Content[r.header.Get("Content-Type")].Schema.Ref
	if r.body == "" || ref == "" && template == "/jobs/{id}/result" {
		return
	}
	schema, err := d.schemas.Compile("https://example.org/jobs" + ref)
	if err != nil {
		t.Fatalf("%s %s: %q: %v", method, template, ref, err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(r.body))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		t.Errorf("%s %s: %s: %v", method, template, r.body, err)
	}
}

// Each answer of the server is in its document: the status, and a body of its schema.
func TestAnswersAreDocumented(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		conforms := newDocument(t).conforms
		for _, body := range []string{`{"mode":"done"}`, `{"mode":"x"}`, `{`, ``} {
			conforms(t, "POST", startPath, e.do(t, "POST", startPath, body))
		}
		conforms(t, "GET", "/jobs", e.do(t, "GET", "/jobs", ""))
		ids := []taskhttp.Job{
			e.held(t, hold), e.reach(t, e.start(t, done).ID, taskhttp.Succeeded), e.reach(t, e.start(t, fail).ID, taskhttp.Failed),
			{}, // unknown
		}
		for _, j := range ids {
			for _, c := range calls {
				below, _, _ := strings.Cut(c.below, "?")
				if c.method == "GET" || c.method == "POST" || c.method == "PATCH" || c.method == "DELETE" {
					conforms(t, c.method, "/jobs/{id}"+below, e.do(t, c.method, path(j.ID)+c.below, c.body))
				}
			}
		}
	})
}

func itoa(n int) string {
	raw, err := json.Marshal(n)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// Each problem is on the page about the protocol, with its status.
func TestProblemsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/http-protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range taskhttp.Problems() {
		name := p.Type[strings.LastIndex(p.Type, "/")+1:]
		if !strings.Contains(string(page), "| `"+name+"` | "+itoa(p.Status)+" |") {
			t.Errorf("%s (%d) is not documented", name, p.Status)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	if len(slices.Compact(names)) != len(taskhttp.Problems()) {
		t.Error("two problems have the same type")
	}
}
