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
	const evil = `\u001b]0;owned\u0007\u001b[2J\u202e`
	id := uuid.NewString()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "openapi.json") {
			_, _ = w.Write([]byte(`{"paths": {"/x": {"post": {"operationId": "start_odd", "description": "` + evil + `"}}, "/y": {"post": {"operationId": "start_o` + evil + `"}}},
				"components": {"schemas": {"o` + evil + `_Spec": {"type": "object"}, "odd_Spec": {"type": "object", "properties": {"a` + evil + `": {"type": "string", "description": "` + evil + `"}, "c": {"enum": ["` + evil + `"], "type": "string", "default": "` + evil + `"}}}}}}`))
			return
		}
		_, _ = w.Write([]byte(`{"id": "` + id + `", "kind": "` + evil + `", "status": "` + evil + `", "reason": "` + evil + `", "done": true, "error": {"code": "` + evil + `", "title": "` + evil + `"}}`))
	}))
	t.Cleanup(server.Close)
	far := &program{T: t, config: taskkitcli.Config{Name: "tasks"}}
	for _, args := range [][]string{
		{"run", "odd", "--help"}, {"run", "none"}, {"run", "odd", "--c", "x"}, {"run", "odd", "--nope"}, {"run", "odd"}, {"run", "odd", "-o", "json"}, {"run", "odd", "-o", "name"}, {"watch", id}, {"watch", id, "-o", "json"},
	} {
		_, out, errs := far.run(append(args, "--url", server.URL)...)
		if out+errs == "" || strings.ContainsAny(out+errs, "\x1b\x07\u202e") {
			t.Errorf("%q: %q%q", args, out, errs)
		}
	}
}
