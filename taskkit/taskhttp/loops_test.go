package taskhttp_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

// The loop of the protocol by curl, as the page about the protocol has it (PTV-35).
func TestLoopByCurl(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"curl", "jq"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	const script = `
J=$S$(curl -sf "$S/people/work" -H "Person: $P" -H 'Content-Type: application/json' -H 'Idempotency-Key: 7f3c' -d '{"mode":"done"}' | jq -r .links.self.href)
until curl -s "$J?maximumPollingPeriod=30s" -H "Person: $P" | jq -e .done > /dev/null; do :; done
curl -sf "$J/result" -H "Person: $P"
`
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		c := exec.CommandContext(testdb.Within(t), "sh", "-euc", script)
		c.Env = append(os.Environ(), "S="+e.web.URL, "P="+e.person.String())
		out, err := c.CombinedOutput()
		if err != nil || string(out) != `{"items":4}` {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// The same by the client for TypeScript, under Node, and its element. Its types are those of the document.
func TestLoopByTypeScript(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it installs packages of npm")
	}
	dir := typeScript(t)
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		for program, last := range map[string]string{"loop.js": "the loop is done", "elementLoop.js": "the element is done"} {
			roll := filepath.Join(t.TempDir(), "roll.csv")
			out, err := exec.CommandContext(testdb.Within(t), "node", filepath.Join(dir, "dist", program), e.web.URL, e.person.String(), roll).CombinedOutput()
			if err != nil || !strings.Contains(string(out), last) {
				t.Errorf("%s: %v\n%s", program, err, out)
			}
		}
	})
}

// typeScript builds a copy of the client and returns where it is.
func typeScript(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	const client = "../../clients/typescript"
	dir := t.TempDir()
	sources, err := filepath.Glob(filepath.Join(client, "src", "*.ts"))
	if err != nil || len(sources) == 0 {
		t.Fatal(sources, err)
	}
	names := []string{"package.json", "package-lock.json", "tsconfig.json"}
	for _, source := range sources {
		names = append(names, filepath.Join("src", filepath.Base(source)))
	}
	for _, name := range names {
		raw, err := os.ReadFile(filepath.Join(client, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) ([]byte, error) {
		c := exec.CommandContext(testdb.Within(t), name, args...)
		c.Dir = dir
		return c.CombinedOutput()
	}
	if out, err := run("npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"); err != nil {
		if why := registryDown(t, run); why != nil {
			t.Skipf("the registry of npm cannot be reached: %v\n%s", why, out)
		}
		t.Fatalf("the packages of npm cannot be installed: %v\n%s", err, out)
	}
	document, err := filepath.Abs(golden)
	if err != nil {
		t.Fatal(err)
	}
	same := func(made, kept, command string) {
		t.Helper()
		want, err := os.ReadFile(filepath.Join(dir, made))
		if err != nil {
			t.Fatal(err)
		}
		have, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(want, have) {
			t.Errorf("%s is outdated: run npm run %s in clients/typescript", kept, command)
		}
	}
	if out, err := run("npx", "--no-install", "openapi-typescript", document, "--output", "now.ts"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	same("now.ts", filepath.Join(client, "src", "openapi.ts"), "generate")
	if out, err := run("npm", "run", "bundle", "--", "--outfile=now.js"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	same("now.js", "element.js", "bundle")
	if out, err := run("npx", "--no-install", "tsc", "--strict"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// registryDown returns why the registry of npm does not answer; nil if it does. npm asks,
// since it knows the registry, proxies and certificates that are configured; any answer
// counts, so that a broken lock file is never taken for a lost connection.
func registryDown(t *testing.T, run func(name string, args ...string) ([]byte, error)) error {
	t.Helper()
	out, err := run("npm", "ping", "--fetch-retries=0", "--fetch-timeout=10000")
	if err == nil || regexp.MustCompile(`(?m)code E4\d\d$`).Match(out) { // an answer, such as E404
		return nil
	}
	return fmt.Errorf("npm ping: %w\n%s", err, out)
}
