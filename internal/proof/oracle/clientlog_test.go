package oracle_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/testkit/testdb"
)

// What a killed process leaves behind can be read: the last line may be torn,
// and a call without an outcome is neither yes nor no.
func TestTornLogs(t *testing.T) {
	t.Parallel()
	w := newEnv(t, testdb.SQLite(t))
	l := w.log("client")
	w.must(nil, w.must(l.Submit(oracle.Submission{Kind: "played", Key: "a", Set: []oracle.Range{{First: 0, Past: size}}})).Unknown(errPlanned))
	w.must(nil, w.must(l.Submit(oracle.Submission{Kind: "played", Key: "b"})).Refused(errPlanned))
	w.must(nil, w.must(l.Submit(oracle.Submission{Kind: "played", Key: "c"})).Unknown(errPlanned))
	w.must(l.Submit(oracle.Submission{Kind: "played", Key: "d"}))
	w.submit("idempotency_key='a'")
	w.submit("idempotency_key='d'")

	files, err := filepath.Glob(filepath.Join(w.logs, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("logs: %v, %v", files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, content string
		err           string
		submits       int64
	}{
		{"whole", string(whole), "", 4},
		{"torn at the end", string(whole) + `{"call":5,"at":1,"op":"sub`, "", 4},
		{"torn in an outcome", string(whole[:len(whole)-1]), "", 3},
		{"torn in the middle", strings.Replace(string(whole), "\n", "{\n", 1), "line 1", 0},
		{"an outcome of nothing", string(whole) + `{"call":9,"outcome":"ok"}` + "\n", "which has not begun", 0},
		{"an outcome that is none", string(whole) + `{"call":4,"outcome":"maybe"}` + "\n", "no outcome that a log can hold", 0},
	} {
		if err := os.WriteFile(files[0], []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := w.o.Check(t.Context(), w.db.DB, oracle.Options{Logs: w.logs})
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: error %v, want %q", c.name, err, c.err)
			}
		case err != nil:
			t.Errorf("%s: %v", c.name, err)
		case !r.OK() || r.Counts.Submits != c.submits || r.Counts.Logs != 1:
			t.Errorf("%s: read %+v, found %v", c.name, r.Counts, r.Violations)
		}
	}
}

// A process that begins again does not write into what it left.
func TestLogsAreOneAProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 3 {
		l, err := oracle.OpenLog(dir, "same")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Drain(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 {
		t.Errorf("%d files, want 3: %v", len(files), err)
	}
}
