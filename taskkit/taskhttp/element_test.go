package taskhttp_test

import (
	"os"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/taskhttp"
)

// The server serves the custom element itself, to anybody. A test of the client for TypeScript runs it.
func TestElement(t *testing.T) {
	t.Parallel()
	want, err := os.ReadFile("element.js")
	if err != nil {
		t.Fatal(err)
	}
	e := newEnv(t, testdb.SQLite(t))
	r := e.request(t, "GET", "/jobs/element.js", "", "Person", "")
	if r.status != 200 || r.body != string(want) || r.header.Get("Content-Type") != "text/javascript; charset=utf-8" || r.header.Get("Cache-Control") != "no-cache" {
		t.Errorf("%d %v, %d bytes", r.status, r.header, len(r.body))
	}
	if again := e.request(t, "GET", "/jobs/element.js", "", "If-None-Match", r.header.Get("ETag")); again.status != 304 || again.body != "" {
		t.Errorf("with the tag: %d", again.status)
	}
	check(t, "a parameter", e.request(t, "GET", "/jobs/element.js?x=1", ""), 400, taskhttp.ErrBadParameter)
	check(t, "DELETE", e.do(t, "DELETE", "/jobs/element.js", ""), 405, taskhttp.ErrMethod)
}
