package main_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/taskcause"
)

// Somebody who has only the runbook finds why a change has not finished, for each cause, by the commands of its section: two.
func TestRunbookLeadsToCauses(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## The change of this afternoon has not finished\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var commands [][]string
	for _, m := range regexp.MustCompile(`(?m)^    taskkit (.+)$`).FindAllStringSubmatch(section, -1) {
		commands = append(commands, strings.Fields(m[1]))
	}
	if len(commands) == 0 || len(commands) > 2 {
		t.Fatalf("%d commands, want one or two", len(commands))
	}
	var rows []taskcause.Cause
	for _, m := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| \\S.* \\|$").FindAllStringSubmatch(section, -1) {
		rows = append(rows, taskcause.Cause(m[1]))
	}
	if !slices.Equal(rows, taskcause.All()) {
		t.Errorf("the table has\n%v, want\n%v", rows, taskcause.All())
	}
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		e := newCauses(t, db)
		for _, c := range taskcause.All() {
			t.Run(string(c), func(t *testing.T) {
				s := &scene{T: t, causes: e, queue: "queue-" + string(c)}
				id := plants[c](s)
				s.until(id, c)
				for i, command := range commands {
					args := slices.Clone(command)
					if n := slices.Index(args, "ID"); n >= 0 {
						args[n] = id.String()
					}
					status, out, errs := ran(t, s.args(args...)...)
					if status != 0 {
						t.Fatalf("taskkit %v: %d %s", args, status, errs)
					}
					if row := line(out, id.String()); i == 0 && row == "" {
						t.Fatalf("taskkit %v does not list the change:\n%s", args, out)
					}
					if i == len(commands)-1 && !strings.Contains(" "+line(out, "cause")+" ", " "+string(c)+" ") {
						t.Errorf("taskkit %v does not name the cause %s:\n%s", args, c, out)
					}
				}
			})
		}
	})
}
