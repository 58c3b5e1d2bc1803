package museum_test

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

	"taskkit.dev/internal/museum"
	"taskkit.dev/internal/prove"
)

// killWithin is how long a test may take to find what a patch has done.
const killWithin = 2 * time.Minute

// TestEveryPatchIsKilled tries every exhibit: on the patched tree its tests must
// fail. When the time is over the rest is left, and said.
func TestEveryPatchIsKilled(t *testing.T) { //nolint:paralleltest // it is alone: a patch at a time, with both processors
	budget, long := prove.Budget(t)
	if !long {
		t.Skip("to try every patch takes minutes: set TASKKIT_PROVE to how many")
	}
	end := time.Now().Add(budget)
	var table []map[string]any
	killed, untried := 0, 0
	exhibits := museum.Exhibits()
	// Where there is not time for all, it is not always the same that are left.
	for _, i := range rand.Perm(len(exhibits)) {
		e := exhibits[i]
		if time.Now().After(end) {
			untried++
			t.Logf("%-34s not tried: the time is over", e.File())
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			l, err := lay(t, e)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			k, err := l.try(t, e)
			took := time.Since(began)
			if err != nil {
				t.Fatalf("%s survives: %v", e.File(), err)
			}
			killed++
			t.Logf("%-34s %5.1f s  %s: %s", e.File(), took.Seconds(), strings.Join(e.Tests, ", "), k)
			table = append(table, map[string]any{
				"patch": e.File(), "tests": e.Tests, "package": e.Package,
				"seconds": float64(took.Round(100*time.Millisecond)) / float64(time.Second), "failure": k,
			})
		})
	}
	t.Logf("%d patches, %d killed, %d not tried", len(exhibits), killed, untried)
	slices.SortFunc(table, func(a, b map[string]any) int { return strings.Compare(fmt.Sprint(a["patch"]), fmt.Sprint(b["patch"])) })
	prove.Record(t, "museum", map[string]any{
		"patches": len(exhibits), "killed": killed, "not tried": untried, "exhibits": table,
		"violations": len(exhibits) - killed - untried,
	})
}

// event is a line of go test -json.
type event struct{ Action, Package, Test, Output, FailedBuild string }

// try runs an exhibit's tests on the patched tree. It returns the first line of
// the failure, or the error that a test has not run or has not failed.
func (l laid) try(t *testing.T, e museum.Exhibit) (failure string, err error) {
	t.Helper()
	cmd := l.command(t, "test", "-json", "-count=1", "-vet=off", "-timeout="+killWithin.String(), "-run="+museum.Pattern(e.Tests), "./"+e.Package)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "TASKKIT_PROVE") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "TASKKIT_TEST_PATIENCE=15s")
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
	for _, test := range e.Tests {
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

// verdict is what a run of go test -json says.
type verdict struct {
	ran, failed []string
	line        string // the first of a failure
	build       string // why it did not build
	timeout     bool
}

var (
	failureLine = regexp.MustCompile(`^\s+\S+\.go:\d+: (.+)`)
	panicLine   = regexp.MustCompile(`^panic: (.+)`)
)

func read(out []byte) verdict {
	var v verdict
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

// short is the beginning of a line.
func short(s string) string {
	const most = 160
	if s = strings.TrimSpace(s); len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// What go test says is understood: a failure, a build that fails, a hang.
func TestRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		out  string
		want verdict
	}{
		"a test fails": {
			`{"Action":"run","Test":"TestA"}
{"Action":"run","Test":"TestA/b"}
{"Action":"output","Test":"TestA/b","Output":"    a_test.go:7: two touches\n"}
{"Action":"fail","Test":"TestA/b"}
{"Action":"fail","Test":"TestA"}
{"Action":"fail"}`,
			verdict{ran: []string{"TestA", "TestA/b"}, failed: []string{"TestA/b", "TestA"}, line: "two touches"},
		},
		"it passes": {`{"Action":"run","Test":"TestA"}
{"Action":"pass","Test":"TestA"}`, verdict{ran: []string{"TestA"}}},
		"it does not build": {
			`{"Action":"build-output","ImportPath":"x","Output":"x.go:1: undefined: y\n"}
{"Action":"build-fail","ImportPath":"x"}
{"Action":"fail","FailedBuild":"x"}`,
			verdict{build: "x.go:1: undefined: y\n"},
		},
		"it hangs": {
			`{"Action":"run","Test":"TestA"}
{"Action":"output","Test":"TestA","Output":"panic: test timed out after 2m0s\n"}
{"Action":"fail","Test":"TestA"}`,
			verdict{ran: []string{"TestA"}, failed: []string{"TestA"}, line: "test timed out after 2m0s", timeout: true},
		},
	} {
		if got := read([]byte(c.out)); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
	}
}
