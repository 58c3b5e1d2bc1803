package mutants_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/proof/mutants"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb"
)

// killWithin is how long a test may take to detect a mutant.
const killWithin = 2 * time.Minute

// TestMutantsAreKilled tries every mutant: on the patched tree its tests must
// fail. When the time is over the rest is counted as not tried.
func TestMutantsAreKilled(t *testing.T) { //nolint:paralleltest // one mutant at a time, with all processors
	budget, long := prove.Budget(t)
	if !long {
		t.Skip("trying every mutant takes minutes: set TASKKIT_PROVE to a duration")
	}
	end := time.Now().Add(budget)
	killed, tried, untried := 0, 0, 0
	ms := all(t)
	// In random order, so that a short budget does not always leave out the same.
	for _, i := range rand.Perm(len(ms)) {
		m := ms[i]
		if time.Now().After(end) {
			untried++
			t.Logf("%-34s not tried: the time is over", m.File())
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			tried++
			o, err := newOverlay(t, m)
			if err != nil {
				t.Fatalf("%s: %v", m.File(), err)
			}
			began := time.Now()
			k, err := o.try(t, m)
			took := time.Since(began)
			if err != nil {
				t.Fatalf("%s survives: %v", m.File(), err)
			}
			killed++
			t.Logf("%-34s %5.1f s  %s: %s", m.File(), took.Seconds(), strings.Join(m.Tests, ", "), k)
		})
	}
	t.Logf("%d mutants, %d killed, %d not tried", len(ms), killed, untried)
	prove.Record(t, "mutants", map[string]any{
		"patches": len(ms), "killed": killed, "not tried": untried,
		"violations": tried - killed,
	})
}

// event is a line of go test -json.
type event struct{ Action, Package, Test, Output, FailedBuild string }

// try runs the tests of a mutant on the patched tree. It returns the first line
// of the failure, or an error if a test did not run or did not fail.
func (o overlay) try(t *testing.T, m mutants.Mutant) (failure string, err error) {
	t.Helper()
	cmd := o.command(t, "test", "-json", "-count=1", "-vet=off", "-timeout="+killWithin.String(), "-run="+mutants.Pattern(m.Tests), "./"+m.Package)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TASKKIT_PROVE") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, testdb.PatienceEnv+"=15s")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, runErr := cmd.Output()
	v := read(out)
	switch {
	case v.build != "":
		return "", fmt.Errorf("the patched tree does not build:\n%s%s", v.build, stderr.String())
	case v.timeout:
		return "", fmt.Errorf("it hangs: no test had failed after %v", killWithin)
	}
	for _, test := range m.Tests {
		name := strings.ReplaceAll(test, " ", "_")
		switch {
		case !slices.Contains(v.ran, name):
			err = errors.Join(err, fmt.Errorf("%s has not run (%w)\n%s", test, runErr, stderr.String()))
		case !slices.Contains(v.failed, name):
			err = errors.Join(err, fmt.Errorf("%s passes", test))
		}
	}
	if err != nil {
		return "", err
	}
	return v.line, nil
}

// testRun is the result of a run of go test -json.
type testRun struct {
	ran, failed []string
	line        string // the first line of a failure
	build       string // why it did not build
	timeout     bool
}

var (
	failureLine = regexp.MustCompile(`^\s+\S+\.go:\d+: (.+)`)
	panicLine   = regexp.MustCompile(`^panic: (.+)`)
)

func read(out []byte) testRun {
	var v testRun
	logs := make(map[string]string) // by test, the first line of what it says
	for line := range bytes.Lines(out) {
		var e event
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		switch e.Action {
		case "run":
			v.ran = append(v.ran, e.Test)
		case "fail":
			if e.Test != "" {
				v.failed = append(v.failed, e.Test)
				if v.line == "" {
					v.line = logs[e.Test]
				}
			}
			if e.FailedBuild != "" && v.build == "" {
				v.build = e.FailedBuild
			}
		case "build-output":
			v.build += e.Output
		case "output":
			v.timeout = v.timeout || strings.HasPrefix(e.Output, "panic: test timed out")
			for _, re := range []*regexp.Regexp{failureLine, panicLine} {
				if m := re.FindStringSubmatch(e.Output); m != nil && logs[e.Test] == "" {
					logs[e.Test] = short(m[1])
				}
			}
		}
	}
	return v
}

// short truncates a line.
func short(s string) string {
	const most = 160
	if s = strings.TrimSpace(s); len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// The output of go test is read: a failure, a build error, a timeout.
func TestRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		out  string
		want testRun
	}{
		"a test fails": {
			`{"Action":"run","Test":"TestA"}
{"Action":"run","Test":"TestA/b"}
{"Action":"output","Test":"TestA/b","Output":"    a_test.go:7: two touches\n"}
{"Action":"fail","Test":"TestA/b"}
{"Action":"fail","Test":"TestA"}
{"Action":"fail"}`,
			testRun{ran: []string{"TestA", "TestA/b"}, failed: []string{"TestA/b", "TestA"}, line: "two touches"},
		},
		"it passes": {`{"Action":"run","Test":"TestA"}
{"Action":"pass","Test":"TestA"}`, testRun{ran: []string{"TestA"}}},
		"it does not build": {
			`{"Action":"build-output","ImportPath":"x","Output":"x.go:1: undefined: y\n"}
{"Action":"build-fail","ImportPath":"x"}
{"Action":"fail","FailedBuild":"x"}`,
			testRun{build: "x.go:1: undefined: y\n"},
		},
		"it hangs": {
			`{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"panic: test timed out after 2m0s\n"}
{"Action":"fail","Test":"TestA"}`,
			testRun{ran: []string{"TestA"}, failed: []string{"TestA"}, line: "test timed out after 2m0s", timeout: true},
		},
	} {
		if got := read([]byte(c.out)); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
