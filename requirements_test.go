package style_test

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// families are the designs that taskkit descends from, with the number of their requirements.
var families = []struct {
	prefix string
	last   int
}{{"SSP", 57}, {"MID", 60}, {"PTV", 40}, {"SPR", 28}, {"CER", 26}}

const (
	// fewestShown is how many requirements must be shown once none is open.
	fewestShown = 205
	// maxWords bounds the description of a requirement.
	maxWords = 12
	suiteDir = "internal/testkit/storetest"
)

var (
	requirementRow = regexp.MustCompile(`(?m)^\| ([A-Z]+-\d+) \| (.+?) \| (.+) \|$`)
	quotedName     = regexp.MustCompile("`([^`]+)`")
	testName       = regexp.MustCompile(`^(?:([a-z0-9/]+)\.)?((?:Test|Example)\w*)(?:/(.+))?$`)
)

// TestRequirements checks that docs/requirements.md has each requirement once, with tests that exist.
func TestRequirements(t *testing.T) {
	t.Parallel()
	for _, problem := range wrongRequirements(string(read(t, "docs/requirements.md")), testsOf(goFiles(t))) {
		t.Error("docs/requirements.md: " + problem)
	}
}

// tests are the tests and examples of the repository, by name.
type tests struct {
	byName map[string][]testFile
	suite  map[string]bool // cases that the stores run as subtests
}

// A testFile is a file that declares a test.
type testFile struct {
	dir      string
	literals map[string]bool // its literals, among them the names of subtests
	suite    bool            // it runs the suite of the stores
}

// testsOf finds the tests of all modules, whose files the repository lists together.
func testsOf(files []goFile) tests {
	all := tests{map[string][]testFile{}, map[string]bool{}}
	for _, f := range files {
		dir := path.Dir(f.path)
		if dir == suiteDir {
			for name := range literals(f.ast, true) {
				all.suite[name] = true
			}
		}
		if !f.test() {
			continue
		}
		file := testFile{dir, literals(f.ast, false), slices.ContainsFunc(f.ast.Imports, func(i *ast.ImportSpec) bool {
			return i.Path.Value == strconv.Quote(module+"/"+suiteDir)
		})}
		for _, decl := range f.ast.Decls {
			if d, ok := decl.(*ast.FuncDecl); ok && d.Recv == nil && testName.MatchString(d.Name.Name) {
				all.byName[d.Name.Name] = append(all.byName[d.Name.Name], file)
			}
		}
	}
	return all
}

// literals returns the string literals of a file: all, or those that are keys of a map or table.
func literals(file *ast.File, keys bool) map[string]bool {
	found := map[string]bool{}
	add := func(n ast.Node) {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				found[text] = true
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if kv, ok := n.(*ast.KeyValueExpr); ok && keys {
			add(kv.Key)
		} else if !keys {
			add(n)
		}
		return true
	})
	return found
}

// find describes what is wrong with a name of the page, or returns "".
func (s tests) find(name string) string {
	m := testName.FindStringSubmatch(name)
	if m == nil {
		return fmt.Sprintf("%q is not a name such as TestX, TestX/subtest or dir.TestX", name)
	}
	dir, subtest := m[1], m[3]
	files := slices.DeleteFunc(slices.Clone(s.byName[m[2]]), func(f testFile) bool { return dir != "" && f.dir != dir })
	has := func(is func(testFile) bool) bool { return slices.ContainsFunc(files, is) }
	switch {
	case len(files) == 0:
		return name + " does not exist"
	case s.suite[subtest] && has(func(f testFile) bool { return f.suite }):
		return "" // several packages run it
	case subtest != "" && !has(func(f testFile) bool { return f.literals[subtest] }):
		return name + ": there is no such subtest"
	case has(func(f testFile) bool { return f.dir != files[0].dir }):
		return fmt.Sprintf("%s is in several packages: write %s.%s", name, files[0].dir, name)
	}
	return ""
}

// wrongRequirements returns what is wrong with the page.
func wrongRequirements(text string, all tests) (problems []string) {
	report := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	rows := map[string]int{}
	shown, open, na := 0, 0, 0
	for _, m := range requirementRow.FindAllStringSubmatch(text, -1) {
		id, what, by := m[1], m[2], m[3]
		rows[id]++
		if n := len(strings.Fields(what)); n > maxWords {
			report("%s has %d words: %d are the most", id, n, maxWords)
		}
		names := quotedName.FindAllStringSubmatch(by, -1)
		switch {
		case regexp.MustCompile(`^open: \S`).MatchString(by):
			open++
		case regexp.MustCompile(`^n/a: \S`).MatchString(by):
			na++
			// Its reason may quote other things than tests.
			names = slices.DeleteFunc(names, func(n []string) bool { return !testName.MatchString(n[1]) })
		case len(names) > 0 && strings.Trim(quotedName.ReplaceAllString(by, ""), ", ") == "":
			shown++
		default:
			report("%s: %q is neither a list of tests nor open or n/a with a reason", id, by)
		}
		for _, name := range names {
			if problem := all.find(name[1]); problem != "" {
				report("%s: %s", id, problem)
			}
		}
	}
	count := 0
	for _, f := range families {
		for n := 1; n <= f.last; n++ {
			id := fmt.Sprintf("%s-%d", f.prefix, n)
			if rows[id] != 1 {
				report("%s has %d rows, want 1", id, rows[id])
			}
			delete(rows, id)
			count++
		}
	}
	for id := range rows {
		report("there is no requirement %s", id)
	}
	if want := fmt.Sprintf("Of %d requirements %d are shown, %d are open and %d do not apply", count, shown, open, na); !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
		report("it does not say %q", want)
	}
	if open == 0 && shown < fewestShown {
		report("%d requirements are shown, want %d", shown, fewestShown)
	}
	return problems
}

// TestRequirementsFindsPlanted checks that a row with a mistake is found.
func TestRequirementsFindsPlanted(t *testing.T) {
	t.Parallel()
	all := tests{map[string][]testFile{
		"TestA":   {{dir: "x", literals: map[string]bool{"one, two": true}}},
		"TestB":   {{dir: "x"}, {dir: "y/z"}},
		"TestC":   {{dir: "x", suite: true}, {dir: "y", suite: true}},
		"Example": {{dir: "x"}},
	}, map[string]bool{"Claim": true}}
	page := func(row string) string {
		var b strings.Builder
		for _, f := range families {
			for n := 1; n <= f.last; n++ {
				fmt.Fprintf(&b, "| %s-%d | what | `TestA` |\n", f.prefix, n)
			}
		}
		first, rest, _ := strings.Cut(b.String(), "\n")
		return "Of 211 requirements 211 are shown, 0 are open and 0 do not apply.\n" + strings.ReplaceAll(row, "FIRST", first) + "\n" + rest
	}
	few := strings.ReplaceAll(page("FIRST"), " | what | `TestA` |", " | what | n/a: x |")
	if got := strings.Join(wrongRequirements(few, all), "\n"); !strings.Contains(got, "0 requirements are shown, want 205") {
		t.Errorf("nothing is shown: got %q", got)
	}
	for row, want := range map[string]string{
		"FIRST": "",
		"| SSP-1 | what | `x.TestA/one, two`, `y/z.TestB`, `TestC/Claim`, `Example` |": "",
		"":                                                    "SSP-1 has 0 rows",
		"FIRST\nFIRST":                                        "SSP-1 has 2 rows",
		"FIRST\n| SSP-58 | a | `TestA` |":                     "no requirement SSP-58",
		"FIRST\n| ABC-1 | a | `TestA` |":                      "no requirement ABC-1",
		"| SSP-1 | what | TestA |":                            "is neither",
		"| SSP-1 | what | `TestA` or so |":                    "is neither",
		"| SSP-1 | what | open |":                             "is neither",
		"| SSP-1 | what | n/a: |":                             "is neither",
		"| SSP-1 | what | open: x |":                          "does not say \"Of 211 requirements 210 are shown, 1 are open",
		"| SSP-1 | what | n/a: x |":                           "does not say \"Of 211 requirements 210 are shown, 0 are open and 1 do",
		"| SSP-1 | what | n/a: x (`sql`, `TestZ`) |":          "TestZ does not exist",
		"| SSP-1 | what | `TestZ` |":                          "TestZ does not exist",
		"| SSP-1 | what | `y.TestA` |":                        "y.TestA does not exist",
		"| SSP-1 | what | `TestA/no` |":                       "no such subtest",
		"| SSP-1 | what | `TestA/Claim` |":                    "no such subtest",
		"| SSP-1 | what | `TestB` |":                          "in several packages",
		"| SSP-1 | what | `check` |":                          "is not a name",
		"| SSP-1 | 1 2 3 4 5 6 7 8 9 10 11 12 13 | `TestA` |": "13 words",
	} {
		got := strings.Join(wrongRequirements(page(row), all), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s\ngot %q, want %q", row, got, want)
		}
	}
}
