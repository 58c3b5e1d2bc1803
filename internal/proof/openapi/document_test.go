package openapi_test

import (
	"bytes"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// document is an OpenAPI document that answers are compared with.
type document struct {
	*openapi3.T
	operations []operation
	compiler   *jsonschema.Compiler
	compiled   map[string]*jsonschema.Schema
}

// operation is a call of the document.
type operation struct {
	method, template string
	*openapi3.Operation
}

const resultTemplate = "/jobs/{id}/result"

// resultTemplates are the paths of results of any kind, and of fuzzKind.
var resultTemplates = []string{resultTemplate, "/jobs/kinds/fuzz/results/{id}"}

const documentURL = "https://example.org/jobs"

// read reads the document of a server.
func read(tb testing.TB, e *env) *document {
	tb.Helper()
	raw, err := e.jobs.OpenAPI()
	if err != nil {
		tb.Fatal(err)
	}
	d := &document{compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}}
	if d.T, err = openapi3.NewLoader().LoadFromData(raw); err != nil {
		tb.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err == nil {
		err = d.compiler.AddResource(documentURL, v)
	}
	if err != nil {
		tb.Fatal(err)
	}
	for _, template := range d.Paths.InMatchingOrder() {
		item := d.Paths.Value(template)
		for method, o := range item.Operations() {
			d.operations = append(d.operations, operation{method, template, o})
		}
	}
	slices.SortFunc(d.operations, func(a, b operation) int {
		return strings.Compare(a.template+a.method, b.template+b.method)
	})
	return d
}

// find returns the operation of a method at a path of the document; nil: there is none.
func (d *document) find(method, template string) *openapi3.Operation {
	if method == http.MethodHead {
		method = http.MethodGet
	}
	for _, o := range d.operations {
		if o.method == method && o.template == template {
			return o.Operation
		}
	}
	return nil
}

// answer is what the server has answered.
type answer struct {
	status int
	header http.Header
	body   string
}

// private are words that no answer may have.
var private = []string{
	stateMarker, detailMarker, secretMarker, stackMarker, "goroutine ", ".go:", "fuzzSpec", "fuzzState", "taskhttp.", "taskkit:", "pgx", "sqlite", "SQLSTATE",
	"SELECT ", "INSERT ", "UPDATE ", "taskkit_queued_task", "/internal/", "runtime error",
}

// lastError is what operators see of an error that a schedule has met.
var lastError = regexp.MustCompile(`"lastError":"(?:[^"\\]|\\.)*"`)

// refusedAnyway are the types of problems that a request of the document may have: a key that was used, and
// what no schema can say of a schedule.
var refusedAnyway = []string{"/key-reused", "/schedule-refused"}

// wrong says what of an answer is not as the document has it; "": nothing.
func (d *document) wrong(r *request, a *answer) string {
	body, private := lastError.ReplaceAllString(a.body, ""), private
	if r.template == "/jobs/operator/jobs/{id}" || r.template == "/jobs/operator/doctor" { // their texts are for operators
		private = []string{secretMarker, stateMarker}
	}
	for _, word := range private {
		if strings.Contains(body, word) {
			return "it has " + word
		}
		for _, lines := range a.header {
			if strings.Contains(strings.Join(lines, "\n"), word) {
				return "a header has " + word
			}
		}
	}
	if a.status >= 500 {
		return "it is a mistake of the server"
	}
	caching := "no-store"
	if r.template == "/jobs/element.js" && a.status < http.StatusBadRequest {
		caching = "no-cache"
	}
	if a.header.Get("Cache-Control") != caching || a.header.Get("X-Content-Type-Options") != "nosniff" {
		return "headers are missing"
	}
	o := d.find(r.method, r.template)
	if r.path != path.Clean(r.path) {
		o = nil // no path of the document has such a segment
	}
	mediaType := a.header.Get("Content-Type")
	if o == nil {
		if a.status < 400 || mediaType != "application/problem+json" {
			return "it is no problem, and the call is not documented"
		}
		if a.status == http.StatusMethodNotAllowed && a.header.Get("Allow") == "" {
			return "a 405 without Allow"
		}
		return d.invalid(r, a, "#/components/schemas/Problem")
	}
	documented := o.Responses.Value(strconv.Itoa(a.status))
	if documented == nil {
		return "the status is not documented"
	}
	// Which fields of a bulk operation need which others is said in its description, and not in its schema.
	bulk := strings.HasSuffix(r.path, "/operator/bulk")
	if r.valid && !bulk && slices.Contains([]int{400, 413, 415, 422}, a.status) &&
		!slices.ContainsFunc(refusedAnyway, func(name string) bool { return strings.Contains(a.body, name) }) {
		return "the document allows the request"
	}
	content := documented.Value.Content
	if len(content) == 0 {
		if a.body != "" {
			return "a body is not documented"
		}
		return ""
	}
	media := content[mediaType]
	if media == nil && slices.Contains(resultTemplates, r.template) {
		media = content["*/*"] // a file
	}
	if media == nil {
		return "the media type is not documented"
	}
	if mediaType == "text/event-stream" {
		return d.wrongEvents(r, a)
	}
	if media.Schema == nil || mediaType != "application/json" && mediaType != "application/problem+json" {
		return ""
	}
	ref := media.Schema.Ref
	if ref == "" && r.template == resultTemplate {
		ref = "#/components/schemas/fuzz_Result"
	}
	if ref == "" {
		return "the schema of the body is not documented"
	}
	return d.invalid(r, a, ref)
}

// wrongEvents says what is wrong with the events of a stream, which may be cut short.
func (d *document) wrongEvents(r *request, a *answer) string {
	events := strings.Split(a.body, "\n\n")
	for _, event := range events[:len(events)-1] {
		_, data, ok := strings.Cut(event, "\ndata: ")
		if strings.HasPrefix(event, ":") {
			continue
		}
		if !ok || !strings.HasPrefix(event, "id: ") {
			return "an event has not the lines id and data"
		}
		if wrong := d.invalid(r, &answer{body: data}, "#/components/schemas/Job"); wrong != "" {
			return wrong
		}
	}
	return ""
}

// invalid says why a body has not a schema.
func (d *document) invalid(r *request, a *answer, ref string) string {
	if r.method == http.MethodHead {
		return ""
	}
	schema := d.compiled[ref]
	if schema == nil {
		var err error
		if schema, err = d.compiler.Compile(documentURL + ref); err != nil {
			return err.Error()
		}
		d.compiled[ref] = schema
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(a.body))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}
