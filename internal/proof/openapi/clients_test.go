package openapi_test

import (
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

// Clients that oapi-codegen and ogen make of the document run the whole loop, unmodified: start, watch, items, result, retry,
// settings, delete. Their module is testdata/clients, so that no other module needs what they need.
func TestGeneratedClients(t *testing.T) {
	t.Parallel()
	e := newEnv(t, testdb.SQLite(t))
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/clients")); err != nil {
		t.Fatal(err)
	}
	document, err := e.jobs.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "openapi.json"), document, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{"oapi/client", "ogen/client"} {
		if err := os.MkdirAll(filepath.Join(dir, made), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	inDir(t, dir, "go", "tool", "oapi-codegen", "-config", "oapi.yaml", "openapi.json")
	if said := inDir(t, dir, "go", "tool", "ogen", "-target", "ogen/client", "-package", "client", "-clean", "openapi.json"); strings.Contains(said, "not implemented") {
		t.Errorf("ogen leaves something out: %s", said)
	}
	for _, client := range []string{"oapi", "ogen"} {
		inDir(t, dir, "go", "build", "-o", client+".bin", "./"+client)
		inDir(t, dir, filepath.Join(dir, client+".bin"), e.web.URL, e.person.String())
	}
}

// inDir runs a command in a directory, outside of the workspace, and returns what it says.
func inDir(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*testdb.Patience(t))
	defer cancel()
	c := exec.CommandContext(ctx, name, args...)
	c.Dir, c.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	said, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, said)
	}
	return string(said)
}

// personOf returns the text that identifies who makes a request: a header of the tests, or a token.
func personOf(r *http.Request) string {
	if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		return token
	}
	return r.Header.Get(personHeader)
}
