package taskdoctor_test

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/taskkit/taskdoctor"
)

// The exit status follows the worst finding, and with strict a warning or an unknown check is an error.
func TestExitStatus(t *testing.T) {
	t.Parallel()
	of := func(severities ...taskdoctor.Severity) (r taskdoctor.Report) {
		for _, s := range severities {
			r.Findings = append(r.Findings, taskdoctor.Finding{Severity: s})
		}
		return r
	}
	blind := of()
	blind.Unknown = []taskdoctor.Unknown{{Check: "dead", Reason: "permission denied"}}
	for name, c := range map[string]struct {
		report         taskdoctor.Report
		status, strict int
	}{
		"nothing":       {of(), 0, 0},
		"information":   {of(taskdoctor.Info), 0, 0},
		"a warning":     {of(taskdoctor.Info, taskdoctor.Warning), 1, 2},
		"an error":      {of(taskdoctor.Error, taskdoctor.Warning), 2, 2},
		"unknown check": {blind, 0, 2},
	} {
		if got, strict := c.report.ExitStatus(false), c.report.ExitStatus(true); got != c.status || strict != c.strict {
			t.Errorf("%s: %d, strictly %d, want %d and %d", name, got, strict, c.status, c.strict)
		}
	}
}

// A report as JSON has these names, by which programs read it.
func TestReportAsJSON(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)
	text, err := json.Marshal(taskdoctor.Report{
		At: at, Dialect: "postgres", Schema: "taskkit", Version: "0.1.0", Checks: []string{"server"},
		Findings: []taskdoctor.Finding{
			{ID: "no_worker", Severity: taskdoctor.Error, Text: "T.", Since: &at, Affected: []string{"a"}, More: 2, Fix: "F.", Command: "taskkit workers", SQL: "SELECT 1", Docs: "https://taskkit.dev/doctor#no_worker"},
			{ID: "own", Severity: taskdoctor.Info, Text: "T.", Fix: "F."},
		},
		Unknown: []taskdoctor.Unknown{{Check: "dead", Reason: "permission denied"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"at":"2026-11-30T14:00:00Z","dialect":"postgres","schema":"taskkit","version":"0.1.0","checks":["server"],"findings":[` +
		`{"id":"no_worker","severity":"error","text":"T.","since":"2026-11-30T14:00:00Z","affected":["a"],"more":2,"fix":"F.","command":"taskkit workers","sql":"SELECT 1","docs":"https://taskkit.dev/doctor#no_worker"},` +
		`{"id":"own","severity":"info","text":"T.","fix":"F."}],"unknown":[{"check":"dead","reason":"permission denied"}]}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
}

// docs/doctor.md has a section for each finding, in the order of the list, with its severity.
func TestFindingsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	var have, want []string
	for _, m := range regexp.MustCompile(`(?m)^### (\w+)\n\n(\w+)\. `).FindAllStringSubmatch(string(page), -1) {
		have = append(have, m[1]+" "+strings.ToLower(m[2]))
	}
	for _, k := range taskdoctor.Findings() {
		want = append(want, k.ID+" "+string(k.Severity))
	}
	if !slices.Equal(have, want) {
		t.Errorf("the page has\n%s\nwant\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}
