package taskkitcli_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/cmd/taskkit/taskkitcli"
)

// What an application says is text, and moves no cursor.
func TestHostileApplication(t *testing.T) {
	t.Parallel()
	const control = `\u001b]0;owned\u0007\u001b[2J\u202e`
	id := uuid.NewString()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "openapi.json") {
			_, _ = w.Write([]byte(`{"paths": {"/x": {"post": {"operationId": "start_odd", "description": "` + control + `"}}, "/y": {"post": {"operationId": "start_o` + control + `"}}},
				"components": {"schemas": {"o` + control + `_Spec": {"type": "object"}, "odd_Spec": {"type": "object", "properties": {"a` + control + `": {"type": "string", "description": "` + control + `"}, "c": {"enum": ["` + control + `"], "type": "string", "default": "` + control + `"}, "l": {"type": "array"}}}}}}`))
			return
		}
		_, _ = w.Write([]byte(`{"id": "` + id + `", "kind": "` + control + `", "status": "` + control + `", "reason": "` + control + `", "done": true, "error": {"code": "` + control + `", "title": "` + control + `"}}`))
	}))
	t.Cleanup(server.Close)
	far := &program{T: t, config: taskkitcli.Config{Name: "tasks"}}
	far.want(2, "the kind odd has no previews", "run", "odd", "--preview", "--url", server.URL)
	for _, args := range [][]string{
		{"run", "odd", "--help"}, {"run", "none"}, {"kinds"}, {"kinds", "-o", "json"}, {"kinds", "show", "odd"}, {"kinds", "show", "none"}, {"run", "odd", "--c", "x"}, {"run", "odd", "--nope"}, {"run", "odd"}, {"run", "odd", "-o", "json"}, {"run", "odd", "-o", "name"}, {"watch", id}, {"watch", id, "-o", "json"},
	} {
		_, out, errs := far.run(append(args, "--url", server.URL)...)
		if out+errs == "" || strings.ContainsAny(out+errs, "\x1b\x07\u202e") {
			t.Errorf("%q: %q%q", args, out, errs)
		}
	}
}

// A document cannot send a spec, and the headers of the command, to another host.
func TestDocumentNamesOtherHost(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the other host gets %s %s with %v", r.Method, r.URL, r.Header)
	}))
	t.Cleanup(other.Close)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"paths": {"@` + strings.TrimPrefix(other.URL, "http://") + `/x": {"post": {"operationId": "start_odd"}}},
			"components": {"schemas": {"odd_Spec": {"type": "object"}}}}`))
	}))
	t.Cleanup(server.Close)
	far := &program{T: t, config: taskkitcli.Config{Name: "tasks"}}
	far.want(1, "which is not one of its paths", "run", "odd", "--url", server.URL, "--header", "X-Person: me")
}
