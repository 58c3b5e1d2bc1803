package openapi_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

// The linters of npm, with their rules that count as errors.
var linters = map[string]struct{ pack, ruleset string }{
	"redocly":  {"@redocly/cli@2.77.0", "extends: [recommended]\n"},
	"spectral": {"@stoplight/spectral-cli@6.16.3", "extends: ['spectral:oas']\n"},
}

// Redocly and Spectral report no error in the documents. The test is skipped with -short, without npm, and where its registry
// cannot be reached.
func TestLinters(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it installs packages of npm")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed, so Redocly and Spectral cannot be run")
	}
	var documents []string
	for _, name := range []string{"taskkit/taskhttp/testdata/openapi.json", "docs/testdata/openapi.json", "cmd/taskkit/testdata/openapi.json"} {
		path, err := filepath.Abs("../../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, path)
	}
	for name, linter := range linters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			rules, args := filepath.Join(dir, "rules.yaml"), []string{"lint", "--config", "rules.yaml"}
			if name == "spectral" {
				args = []string{"lint", "--ruleset", "rules.yaml", "--fail-severity", "error"}
			}
			if err := os.WriteFile(rules, []byte(linter.ruleset), 0o600); err != nil {
				t.Fatal(err)
			}
			npm := func(args ...string) (string, error) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*testdb.Patience(t))
				defer cancel()
				c := exec.CommandContext(ctx, "npm", args...)
				c.Dir = dir
				said, err := c.CombinedOutput()
				return string(said), err
			}
			run := append([]string{"exec", "--yes", "--package=" + linter.pack, "--", name}, append(args, documents...)...)
			said, err := npm(run...)
			if err == nil {
				return
			}
			if ping, down := npm("ping", "--fetch-retries=0", "--fetch-timeout=10000"); down != nil && !strings.Contains(ping, "code E4") {
				t.Skipf("the registry of npm cannot be reached: %v\n%s", down, ping)
			}
			t.Errorf("%s: %v\n%s", name, err, said)
		})
	}
}
