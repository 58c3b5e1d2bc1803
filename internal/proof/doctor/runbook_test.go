package doctor_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/taskkit/taskdoctor"
)

// sections are the sections of the runbook that lead to findings: the commands of each, by the findings in its table.
func sections(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string][]string)
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		var commands []string
		for _, m := range regexp.MustCompile(`(?m)^    (taskkit .+)$`).FindAllStringSubmatch(section, -1) {
			commands = append(commands, m[1])
		}
		for _, m := range regexp.MustCompile(`(?m)^\| \[(\w+)\]\(doctor\.md#(\w+)\) \| \S.* \|$`).FindAllStringSubmatch(section, -1) {
			if m[1] != m[2] || found[m[1]] != nil {
				t.Errorf("%s is linked to %s, or in two tables", m[1], m[2])
			}
			found[m[1]] = commands
		}
	}
	return found
}

// Each finding is in a table of the runbook, whose first command is doctor, and which has at most two.
func TestRunbookLeadsToFindings(t *testing.T) {
	t.Parallel()
	found := sections(t)
	for _, k := range taskdoctor.Findings() {
		if c := found[k.ID]; len(c) == 0 || len(c) > 2 || c[0] != "taskkit doctor" {
			t.Errorf("%s: the commands of the runbook are %v, want taskkit doctor and at most another", k.ID, c)
		}
	}
	for id := range found {
		if !slices.ContainsFunc(taskdoctor.Findings(), func(k taskdoctor.Kind) bool { return k.ID == id }) {
			t.Errorf("%s is no finding", id)
		}
	}
}
