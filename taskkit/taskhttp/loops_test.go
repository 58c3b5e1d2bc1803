package taskhttp_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/typescript"
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
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
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

// The same by the client for TypeScript, under Node, and its element. Its types are those of the document,
// and the script that the server sends is that of the element.
func TestLoopByTypeScript(t *testing.T) {
	t.Parallel()
	c := typescript.New(t)
	for kept, made := range map[string][]byte{
		filepath.Join(typescript.Source(t), "src", "openapi.ts"): c.Types(t, golden), "element.js": c.Bundle(t),
	} {
		have, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(made, have) {
			t.Errorf("%s is outdated: run npm ci, npm run generate and npm run bundle in clients/typescript", kept)
		}
	}
	c.Compile(t)
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		e := newEnv(t, db)
		e.runWorker(t)
		for program, last := range map[string]string{"loop.js": "the loop is done", "elementLoop.js": "the element is done"} {
			if out := c.Run(t, program, e.web.URL, e.person.String(), filepath.Join(t.TempDir(), "roll.csv")); !strings.Contains(out, last) {
				t.Errorf("%s: %s", program, out)
			}
		}
	})
}
