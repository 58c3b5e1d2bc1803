// Package prove is what the long forms of tests have in common: how long they
// may run, and where they write what they have counted.
//
// A test with a long form calls [Budget]. Everyday runs have none; `make prove`
// gives each its share, in the environment. At its end the test calls [Record]
// with its counts, which `make prove` prints as a table. docs/reliability.md has
// the table of the last whole run.
package prove

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

const (
	// BudgetEnv switches the long forms on: a duration, as 20m.
	BudgetEnv = "TASKKIT_PROVE"
	// OutEnv names the directory for the counts; without it they are only
	// logged.
	OutEnv = "TASKKIT_PROVE_OUT"
)

// TB is what of a *testing.T is used here, so that this package does not bring
// testing along.
type TB interface {
	Helper()
	Name() string
	Failed() bool
	Fatalf(format string, args ...any)
	Errorf(format string, args ...any)
	Logf(format string, args ...any)
}

// Budget returns how long a test may run, and whether it is to run its long form
// at all.
func Budget(t TB) (time.Duration, bool) {
	t.Helper()
	s := os.Getenv(BudgetEnv)
	if s == "" {
		return 0, false
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		t.Fatalf("read %s, which must be a duration as 20m: %q, %v", BudgetEnv, s, err)
	}
	return d, true
}

// Counts is what a test has recorded.
type Counts struct {
	Name   string         `json:"name"`
	Test   string         `json:"test"`
	Date   time.Time      `json:"date"`
	Failed bool           `json:"failed"` // as far as was known
	Counts map[string]any `json:"counts"`
}

// name is what a record may be called: it is a file's name too.
var name = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]*$`)

// Record logs the counts of a run and, if [OutEnv] names a directory, writes
// them to NAME.json there, in the place of those that were there before. A count
// called "violations" is added up by `make prove`, which fails unless all are 0.
func Record(t TB, as string, counts map[string]any) {
	t.Helper()
	text, err := json.MarshalIndent(Counts{Name: as, Test: t.Name(), Date: time.Now().UTC().Truncate(time.Second), Failed: t.Failed(), Counts: counts}, "", "\t")
	if err != nil || !name.MatchString(as) {
		t.Errorf("record %q, whose name must be of the form %s: %v", as, name, err)
		return
	}
	t.Logf("%s", text)
	dir := os.Getenv(OutEnv)
	if dir == "" {
		return
	}
	if err = os.MkdirAll(dir, 0o750); err == nil {
		err = os.WriteFile(filepath.Join(dir, as+".json"), append(text, '\n'), 0o600)
	}
	if err != nil {
		t.Errorf("write down what was counted: %v", err)
	}
}

// Read returns what was recorded in a directory, by name.
func Read(dir string) (map[string]Counts, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	out := make(map[string]Counts)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var c Counts
		if err := json.Unmarshal(text, &c); err != nil {
			return nil, &os.PathError{Op: "read the counts in", Path: file, Err: err}
		}
		out[c.Name] = c
	}
	return out, nil
}
