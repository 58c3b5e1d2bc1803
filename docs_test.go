package style_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	// fence begins or ends a block of code.
	fence = regexp.MustCompile("^\\s*(?:```|~~~)\\s*(\\w*)")
	// link is an inline link or image, without its title; reference is the
	// second half of a link by reference.
	link      = regexp.MustCompile(`\]\(<?([^)\s>]+)>?(?:\s+"[^"]*")?\)`)
	reference = regexp.MustCompile(`^\[[^\]]+\]:\s*(\S+)`)
	heading   = regexp.MustCompile(`^#{1,6}\s+(.*?)\s*#*$`)
	anchor    = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	inline    = regexp.MustCompile("`[^`]*`")
)

// elision is the line by which a piece of code in the docs leaves something
// out.
const elision = "// ..."

// A page is a Markdown file, taken apart.
type page struct {
	name    string
	links   []passage
	blocks  []passage // Go code
	anchors map[string]bool
}

// A passage is some text and the line where it begins.
type passage struct {
	line int
	text string
}

func TestLinksResolve(t *testing.T) {
	t.Parallel()
	pages := map[string]page{}
	for _, name := range tracked(t) {
		if strings.HasSuffix(name, ".md") {
			pages[name] = parsePage(name, string(read(t, name)))
		}
	}
	for _, p := range pages {
		for _, l := range p.links {
			if problem := resolve(p, l.text, pages); problem != "" {
				t.Errorf("%s:%d: the link %s %s", p.name, l.line, l.text, problem)
			}
		}
	}
}

// resolve describes what is wrong with a link within the repository, or returns "".
func resolve(from page, target string, pages map[string]page) string {
	u, err := url.Parse(target)
	if err != nil {
		return "is not an address: " + err.Error()
	}
	if u.Scheme != "" || u.Host != "" {
		return "" // elsewhere: not ours to hold
	}
	name := from.name
	if u.Path != "" {
		name = path.Join(path.Dir(from.name), u.Path)
		if _, err := os.Stat(filepath.FromSlash(name)); err != nil || strings.HasPrefix(name, "..") || path.IsAbs(u.Path) {
			return "leads to no file of the repository"
		}
	}
	if p, ok := pages[name]; ok && u.Fragment != "" && !p.anchors[u.Fragment] {
		return "leads to no heading of " + name
	}
	return ""
}

// TestGoInDocsCompiles compares every block of Go in a Markdown file with compiled code.
// There are two ways to write one:
//
//   - A piece of a Go file of this repository, word for word but for white
//     space: of an Example, of an executor, of a program in docs. A line
//     "// ..." stands for anything left out.
//   - A complete file of its own, which begins with "package" and is compiled
//     here as it stands.
func TestGoInDocsCompiles(t *testing.T) {
	t.Parallel()
	var sources []string
	for _, name := range tracked(t) {
		if strings.HasSuffix(name, ".go") {
			sources = append(sources, squeeze(string(read(t, name))))
		}
	}
	var complete []passage // with the page's name in front of the line
	names := map[int]string{}
	for _, name := range tracked(t) {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		for _, block := range parsePage(name, string(read(t, name))).blocks {
			switch {
			case quotes(sources, block.text):
			case strings.HasPrefix(strings.TrimSpace(block.text), "package "):
				names[len(complete)] = fmt.Sprintf("%s:%d", name, block.line)
				complete = append(complete, block)
			default:
				t.Errorf("%s:%d: this Go code is in no Go file of the repository: take it word for word from code that is compiled, such as an Example (a line %q may leave something out)", name, block.line, elision)
			}
		}
	}
	for i, block := range complete {
		compile(t, i, names[i], block.text)
	}
}

// quotes reports whether one of the sources contains all pieces of the text, in
// order.
func quotes(sources []string, text string) bool {
	var pieces []string
	var piece strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) == elision {
			pieces = append(pieces, squeeze(piece.String()))
			piece.Reset()
			continue
		}
		piece.WriteString(line)
	}
	pieces = append(pieces, squeeze(piece.String()))

	for _, source := range sources {
		found := true
		for _, p := range pieces {
			var ok bool
			if _, source, ok = strings.Cut(source, p); !ok {
				found = false
				break
			}
		}
		if found {
			return true
		}
	}
	return false
}

// squeeze removes all white space, since a piece in a page has another indentation.
func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// compile builds a file as a package of this module that exists in an overlay
// only, so that nothing is written into the tree.
func compile(t *testing.T, n int, where, src string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "page.go")
	if err := os.WriteFile(file, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	pkg := fmt.Sprintf("compiledfromdocs%d", n)
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(root, pkg, "page.go"): file,
	}})
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Log("compile", where)
	run(t, "go", "build", "-overlay", overlayFile, "-o", os.DevNull, "./"+pkg)
}

// parsePage takes a Markdown file apart. Links in code are not links.
func parsePage(name, src string) page {
	p := page{name: name, anchors: map[string]bool{}}
	var block *passage // the block of code that the line is in
	language := ""
	for i, line := range strings.Split(src, "\n") {
		if m := fence.FindStringSubmatch(line); m != nil {
			if block == nil {
				block, language = &passage{line: i + 2}, m[1]
				continue
			}
			if language == "go" {
				p.blocks = append(p.blocks, *block)
			}
			block = nil
			continue
		}
		if block != nil {
			block.text += line + "\n"
			continue
		}
		if m := heading.FindStringSubmatch(line); m != nil {
			p.addAnchor(slug(m[1]))
		}
		for _, m := range anchor.FindAllStringSubmatch(line, -1) {
			p.anchors[m[1]] = true
		}
		text := inline.ReplaceAllString(line, "")
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			p.links = append(p.links, passage{i + 1, m[1]})
		}
		if m := reference.FindStringSubmatch(text); m != nil {
			p.links = append(p.links, passage{i + 1, m[1]})
		}
	}
	return p
}

// addAnchor adds the anchor of a heading. The second of the same name gets -1.
func (p page) addAnchor(name string) {
	unique := name
	for n := 1; p.anchors[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", name, n)
	}
	p.anchors[unique] = true
}

// slug is the anchor that GitHub makes from a heading.
func slug(heading string) string {
	// A link in a heading counts with its text only.
	heading = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading, "$1")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, heading)
}

func TestParsePage(t *testing.T) {
	t.Parallel()
	p := parsePage("docs/a.md", strings.Join([]string{
		"# The `first` [word](b.md#x)!",
		"See [b](<b.md> \"title\") and `[no](link)`.",
		"# Twice", "# Twice",
		"```go", "x := 1", "```",
		"```sh", "[no](link)", "```",
		"[ref]: ../README.md",
	}, "\n"))
	for _, want := range []string{"the-first-word", "twice", "twice-1"} {
		if !p.anchors[want] {
			t.Errorf("no anchor %q among %v", want, p.anchors)
		}
	}
	if got, want := fmt.Sprint(p.links), "[{1 b.md#x} {2 b.md} {11 ../README.md}]"; got != want {
		t.Errorf("links are %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(p.blocks), "[{6 x := 1\n}]"; got != want {
		t.Errorf("blocks are %q, want %q", got, want)
	}
}

func TestQuotes(t *testing.T) {
	t.Parallel()
	sources := []string{squeeze("package a\n\nfunc f() {\n\tone()\n\ttwo()\n\tthree()\n}\n")}
	for text, want := range map[string]bool{
		"one()\ntwo()\n":                        true,
		"    one()\n    // ...\n    three()\n":  true,
		"three()\n// ...\none()\n":              false,
		"four()\n":                              false,
		"package a\n// ...\nfunc f() {\n one()": true,
	} {
		if got := quotes(sources, text); got != want {
			t.Errorf("quotes(%q) is %t, want %t", text, got, want)
		}
	}
}

// TestArchitectureListsPackages checks that docs/architecture.md lists every
// package of the repository, except generated packages and executors, which
// it lists as a group.
func TestArchitectureListsPackages(t *testing.T) {
	t.Parallel()
	text := string(read(t, "docs/architecture.md"))
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z][a-z0-9/]*)`").FindAllStringSubmatch(text, -1) {
		listed[m[1]] = true
	}
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		grouped := strings.HasPrefix(name, "executors/") || strings.HasPrefix(name, "gen/") ||
			strings.HasPrefix(name, "ent/") || strings.Contains(name, "/ent") || strings.HasSuffix(name, "/internal/generate")
		if name == module || name == "docs" || grouped {
			continue
		}
		if !listed[name] {
			t.Errorf("docs/architecture.md does not list the package %s: say what it is for", name)
		}
	}
}

// parameters is how many parameters a statement may have on each database.
var parameters = map[string]int{"PostgreSQL": 65535, "SQLite": 32766}

// The guide of executors has the limits of parameters in a statement, and the order in which to lock rows.
func TestGuideOfExecutors(t *testing.T) {
	t.Parallel()
	text := strings.Join(strings.Fields(string(read(t, "docs/writing-executors.md"))), " ")
	for database, most := range parameters {
		for _, n := range []int{most, most / 8} {
			if figure := fmt.Sprintf("%d,%03d on %s", n/1000, n%1000, database); !strings.Contains(text, figure) {
				t.Errorf("the guide does not say %q", figure)
			}
		}
	}
	if want := fmt.Sprintf("`max=%d`", parameters["SQLite"]/8); !strings.Contains(text, want) {
		t.Errorf("the guide does not say %s", want)
	}
	do, _, found := strings.Cut(text, " Don't ")
	if _, do, _ = strings.Cut(do, " Do - "); !found || !strings.Contains(do, "sort the ids of a batch before you UPDATE") {
		t.Error("the list of what to do does not say to sort ids before an UPDATE")
	}
}
