package schema

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/taskgen/model"
)

var updatePage = flag.Bool("update", false, "write the table of mappings into the documentation")

// docsPage is the page that shows the table of mappings.
const docsPage = "../../../docs/json-schema.md"

// TestDocsShowTheMappings: the page is made of the table that schemas are made
// of.
func TestDocsShowTheMappings(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(docsPage)
	if err != nil {
		t.Fatal(err)
	}
	want := string(page)
	for name, text := range map[string]string{"mappings": mappingsTable(), "unmapped": unmappedList()} {
		begin, end := "<!-- "+name+" -->\n", "<!-- /"+name+" -->"
		before, rest, ok := strings.Cut(want, begin)
		_, after, also := strings.Cut(rest, end)
		if !ok || !also {
			t.Fatalf("%s has no place for the %s", docsPage, name)
		}
		want = before + begin + text + end + after
	}
	if *updatePage {
		if err := os.WriteFile(docsPage, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Errorf("%s shows another table than schema_table.go: run go test -update", docsPage)
	}
}

func mappingsTable() string {
	var b strings.Builder
	b.WriteString("\n| rule | of | in the schema | |\n| --- | --- | --- | --- |\n")
	for _, m := range mappings {
		how := "partly"
		if m.exact {
			how = "exactly"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", codes(m.rules), strings.Join(strings.Fields(m.on), ", "), m.keyword, how)
	}
	return b.String() + "\n"
}

func unmappedList() string {
	var b strings.Builder
	b.WriteString("\n")
	for _, u := range unmapped {
		fmt.Fprintf(&b, "- %s: %s\n", codes(u.rules), u.reason)
	}
	return b.String() + "\n"
}

func codes(words string) string {
	all := strings.Fields(words)
	for i, w := range all {
		all[i] = "`" + w + "`"
	}
	return strings.Join(all, ", ")
}

// TestTableHasAllRules: every rule of the validator that is linked is either in
// the table or listed as left out.
func TestTableHasAllRules(t *testing.T) {
	t.Parallel()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/go-playground/validator/v10").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "baked_in.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(source), "bakedInAliases = map[string]string{")
	text, _, ok := strings.Cut(rest, "\n)\n")
	if !ok {
		t.Fatal("validator keeps its rules elsewhere now")
	}
	var known []string
	for _, m := range regexp.MustCompile(`(?m)^\t\t"([a-zA-Z0-9_]+)":`).FindAllStringSubmatch(text, -1) {
		known = append(known, m[1])
	}
	if len(known) < 150 {
		t.Fatalf("found %d rules only", len(known))
	}
	var ours []string
	for _, m := range mappings {
		ours = append(ours, strings.Fields(m.rules)...)
	}
	for _, u := range unmapped {
		ours = append(ours, strings.Fields(u.rules)...)
	}
	for i, name := range ours {
		ours[i], _, _ = strings.Cut(name, "=")
		if !slices.Contains(known, ours[i]) {
			t.Errorf("validator has no rule %s", ours[i])
		}
		if !model.KnownRule(ours[i]) {
			t.Errorf("knownRule does not know %s", ours[i])
		}
	}
	for _, name := range known {
		if !slices.Contains(ours, name) {
			t.Errorf("%s is neither mapped nor listed as left out", name)
		}
	}
}
