// Package typescript lets tests build and run the client for TypeScript, whose types are generated from
// the OpenAPI document of a server.
package typescript

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

// Client is a copy of the client for TypeScript, with its packages of npm.
type Client struct {
	dir string
}

// New copies the client and gives it its packages of npm, which are installed once for all tests with the same lock file.
// The test is skipped with -short, without Node, and where the registry of npm cannot be reached.
func New(t *testing.T) *Client {
	t.Helper()
	if testing.Short() {
		t.Skip("it installs packages of npm")
	}
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	c := &Client{dir: t.TempDir()}
	if err := os.CopyFS(filepath.Join(c.dir, "src"), os.DirFS(filepath.Join(Source(t), "src"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"package.json", "package-lock.json", "tsconfig.json"} {
		c.write(t, name, read(t, filepath.Join(Source(t), name)))
	}
	if err := os.Symlink(c.modules(t), filepath.Join(c.dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return c
}

// modules returns the directory of the installed packages, in the user's cache. Its name says what it was installed from, and it is
// moved there when it is complete, so that tests that install at once do not disturb each other.
func (c *Client) modules(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	hash, files := sha256.New(), []string{"package.json", "package-lock.json"}
	for _, name := range files {
		hash.Write(read(t, filepath.Join(c.dir, name)))
	}
	all := filepath.Join(cache, "taskkit.dev")
	installed := filepath.Join(all, fmt.Sprintf("npm-%x", hash.Sum(nil)[:8]))
	modules := filepath.Join(installed, "node_modules")
	if _, err := os.Stat(modules); err == nil {
		return modules
	}
	if err := os.MkdirAll(all, 0o700); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp(all, "installing-") //nolint:usetesting // it is renamed, so it must be on the same file system
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	part := &Client{dir}
	for _, name := range files {
		part.write(t, name, read(t, filepath.Join(c.dir, name)))
	}
	if out, err := part.run(t, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline"); err != nil {
		if why := part.registryDown(t); why != nil {
			t.Skipf("the registry of npm cannot be reached: %v\n%s", why, out)
		}
		t.Fatalf("the packages of npm cannot be installed: %v\n%s", err, out)
	}
	if err := os.Rename(dir, installed); err != nil {
		if _, serr := os.Stat(modules); serr != nil { // no other test was faster
			t.Fatal(err)
		}
	}
	return modules
}

// Source is the directory of the client in the repository, which is in a directory above the test's.
func Source(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		client := filepath.Join(dir, "clients", "typescript")
		if _, err := os.Stat(filepath.Join(client, "package.json")); err == nil {
			return client
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			t.Fatal("clients/typescript is in no directory above that of the test")
		}
		dir = parent
	}
}

// updateEnv makes Loop write the document that a server has sent.
const updateEnv = "TASKKIT_UPDATE_OPENAPI"

// Loop runs the program testdata/loop.ts against the jobs of a server, by the client with types of the server's own
// document, and returns its output. The document must equal testdata/openapi.json, which two validators check, in
// packages taskhttp and internal/proof/openapi. TASKKIT_UPDATE_OPENAPI=1 updates the file.
func Loop(t *testing.T, url string) string {
	t.Helper()
	const golden = "testdata/openapi.json"
	document := get(t, url+"/jobs/openapi.json")
	if os.Getenv(updateEnv) != "" {
		if err := os.WriteFile(golden, document, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(read(t, golden), document) {
		t.Fatalf("the document of the server is not that of %s: run the test with %s=1 if that is intended", golden, updateEnv)
	}
	c := New(t)
	c.write(t, "src/openapi.ts", c.Types(t, golden))
	c.write(t, "src/loop.ts", read(t, "testdata/loop.ts"))
	// The other program is for the tests' own server.
	if err := os.Remove(filepath.Join(c.dir, "src", "elementLoop.ts")); err != nil {
		t.Fatal(err)
	}
	c.Compile(t)
	return c.Run(t, "loop.js", url)
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	r, err := http.NewRequestWithContext(testdb.Within(t), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s, %v\n%s", url, resp.Status, err, body)
	}
	return body
}

// Types generates the types of an OpenAPI document, a file, and returns them.
func (c *Client) Types(t *testing.T, document string) []byte {
	t.Helper()
	document, err := filepath.Abs(document)
	if err != nil {
		t.Fatal(err)
	}
	c.must(t, tool("openapi-typescript"), document, "--output", "types.ts")
	return read(t, filepath.Join(c.dir, "types.ts"))
}

// Bundle makes the script of the custom element, and returns it.
func (c *Client) Bundle(t *testing.T) []byte {
	t.Helper()
	c.must(t, "npm", "run", "bundle", "--", "--outfile=bundle.js")
	return read(t, filepath.Join(c.dir, "bundle.js"))
}

// Compile compiles the client strictly.
func (c *Client) Compile(t *testing.T) {
	t.Helper()
	c.must(t, tool("tsc"), "--strict")
}

// Run runs a compiled program, such as loop.js, and returns what it prints.
func (c *Client) Run(t *testing.T, program string, args ...string) string {
	t.Helper()
	return c.must(t, "node", append([]string{filepath.Join("dist", program)}, args...)...)
}

// tool is a program of an installed package.
func tool(name string) string { return filepath.Join("node_modules", ".bin", name) }

func (c *Client) must(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := c.run(t, name, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

func (c *Client) run(t *testing.T, name string, args ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(testdb.Within(t), name, args...)
	cmd.Dir = c.dir
	return cmd.CombinedOutput()
}

func (c *Client) write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// registryDown returns why the registry of npm does not answer; nil if it does. npm asks,
// since it knows the registry, proxies and certificates that are configured; any answer
// counts, so that a broken lock file is never taken for a lost connection.
func (c *Client) registryDown(t *testing.T) error {
	t.Helper()
	out, err := c.run(t, "npm", "ping", "--fetch-retries=0", "--fetch-timeout=10000")
	if err == nil || regexp.MustCompile(`(?m)code E4\d\d$`).Match(out) { // an answer, such as E404
		return nil
	}
	return fmt.Errorf("npm ping: %w\n%s", err, out)
}
