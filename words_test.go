package style_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// A term is a word that this project does not use, and the standard word for
// the same thing. CONTRIBUTING.md has the reason.
type term struct {
	// words are separated by spaces; a phrase is written with underscores.
	words string
	use   string
}

// jargon are words of a private language. They are banned in text (comments,
// strings, documentation) as whole words, and in names as a part of a
// camel-case name.
var jargon = []term{
	{"stray strays", "lost claim"},
	{"doubt doubts doubtful", "uncertain"},
	{"crowd crowded crowds hungry", "saturated, or more waiting"},
	{"bite bites bitten", "batch sizing"},
	{"hint hints hinted", "wake-up"},
	{"border borders", "batch boundary"},
	{"innocent innocents culprit culprits", "poison task, quarantine"},
	{"judge judges judged judgement verdict verdicts", "classify, classification"},
	{"adopt adopts adopted", "advance"},
	{"handed_over", "onEndWritten"},
	{"witness witnesses witnessed", "read-back"},
	{"deaf", "closed"},
	{"believe believes believed believing", "assume"},
	{"patiently", "with retries"},
	{"museum museums exhibit exhibits", "mutants"},
	{"complaint complaints", "failure mode"},
	{"ordinal ordinals", "fault injection"},
	{"fleet fleets siege sieges besiege besieged besieges garrison garrisons", "workers, chaos scenario"},
	{"evil evils villain villains misbehaviour misbehaviours deed deeds", "fault, hostile executor, case"},
	{"badinput", "fuzz"},
	{"crew crews", "workers"},
	{"rig rigs", "harness"},
	{"owns_end", "rejectTxControl"},
}

// phrases are ordinary words that were jargon in these combinations. They are
// banned in text.
var phrases = []term{
	{"the_mechanism", "the runtime"},
	{"dealt_with dealing_with_it", "processed"},
	{"made_way make_way makes_way making_way gave_way gives_way give_way", "yielded"},
	{"left_behind", "abandoned"},
	{"in_hand", "current"},
	{"a_look look_at looks_at looked_at looking_at eager_looks", "poll, read or check"},
	{"questions_are_kept kept_questions", "prepared-statement cache"},
	{"worker's_lease workers'_lease", "heartbeat deadline"},
	{"ask_things asks_things asked_of_it asked_of_them ask_of_it", "request"},
	{"batch_in_hand", "current batch"},
	{"the_hold_is hold_of_a_task hold_of_its_task hold_of_the_task hold_of_one_task its_hold_of", "task lease"},
}

// names are ordinary words that were jargon as names of functions, methods,
// types, fields and variables. They are banned as a whole name, whatever its
// first letter, and allowed in sentences.
var names = []term{
	{"ahead pace", "prefetch"},
	{"look looks", "poll"},
	{"suspect suspects trusted cleared", "quarantine"},
	{"apart guarded", "runIsolated, callExecutor"},
	{"wrote settle", "handleWriteResult, logEnd, reconcile"},
	{"enrol beat leave", "RegisterWorker, Heartbeat, Deregister"},
	{"texts ask truth moment place", "statements, query, boolInt, timeScanner, claimOrder"},
	{"stands leaks", "verifyOpen, cancels"},
	{"stays moves clears", "isCheckpoint, changesStatus, clearsControl"},
	{"dealt", "processed"},
	{"bed world lane", "env, workers"},
	{"relieve", "replaceWorker"},
}

// storeNames are names that are banned where they were jargon, in the store: in
// other packages they have a common meaning.
var storeNames = []term{
	{"each raw turn pass layout shape", "scanRows, jsonScanner, acquireWriter, releaseWriter, updatePlan, insertPlan"},
}

// leaseNames are names that are banned as a whole in the packages of leases, the
// lease being what they were jargon for: a test of the demonstration may hold a task,
// and a pipe may be held open.
var leaseNames = []term{
	{"hold holds held holder holders holderwrites", "lease, LeaseWrites, or a name for what is leased"},
	{"settled", "ended"},
}

// leasePackages are the packages of leases.
var leasePackages = []string{
	"internal/engine/", "internal/lifecycle/", "internal/store/", "internal/testkit/storetest/", "internal/testkit/memstore/",
}

// funcNames are ordinary words that were jargon as names of functions and methods in
// the packages of leases.
var funcNames = []term{
	{"lost", "reconcile"},
}

// typeNames are ordinary words that were jargon as names of types.
var typeNames = []term{
	{"claims", "ClaimResult"},
	{"claimed", "ClaimedTask"},
	{"mark", "MarkedError"},
	{"apart judged", "runIsolated, Classification"},
}

// directories are banned names of directories.
var directories = []term{
	{"museum ordinals misbehaviour badinput properties", "mutants, faultinject, hostile, fuzz, proptest"},
}

// quoted are the files that may use banned words, because they quote how things
// were called before.
var quoted = map[string]string{
	"words_test.go": "it lists the words",
}

var (
	textTerms    = slices.Concat(jargon, phrases)
	inText       = textPattern(textTerms)
	longest      = longestWords(textTerms)
	textUses     = nameSet(textTerms)
	inNames      = nameSet(names)
	inStoreNames = nameSet(storeNames)
	inLeaseNames = nameSet(leaseNames)
	inFuncNames  = nameSet(funcNames)
	inTypeNames  = nameSet(typeNames)
	inParts      = nameSet(jargon)
	inPaths      = nameSet(directories)
	inFiles      = nameSet(slices.Concat(jargon, directories, []term{{"world bed lane", "env, workers"}}))
)

// textPattern matches any of the terms in text, phrases also across a line break
// of a comment.
func textPattern(terms []term) *regexp.Regexp {
	var all []string
	for _, t := range terms {
		for word := range strings.FieldsSeq(t.words) {
			all = append(all, strings.ReplaceAll(regexp.QuoteMeta(word), "_", `[\s/#*]+`))
		}
	}
	return regexp.MustCompile(`(?i)\b(?:` + strings.Join(all, "|") + `)\b`)
}

// longestWords returns the longest word of each term.
func longestWords(terms []term) map[string]bool {
	set := map[string]bool{}
	for _, t := range terms {
		for term := range strings.FieldsSeq(t.words) {
			set[slices.MaxFunc(plainWords(term), func(a, b string) int { return len(a) - len(b) })] = true
		}
	}
	return set
}

// plainWords splits a text at what is not a letter, in lower case.
func plainWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' })
}

// breaks are what may separate the words of a phrase.
var breaks = regexp.MustCompile(`[\s/#*]+`)

// nameSet maps each word to its replacement.
func nameSet(terms []term) map[string]string {
	set := map[string]string{}
	for _, t := range terms {
		for word := range strings.FieldsSeq(t.words) {
			set[strings.ReplaceAll(word, "_", "")] = t.use
		}
	}
	return set
}

// TestStandardWords finds words of the private language that the project once
// had: in names, comments, strings and documentation.
func TestStandardWords(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		if f.generated || exempt(f.path) {
			continue
		}
		for _, found := range bannedInGo(f) {
			t.Error(found)
		}
	}
	for _, name := range tracked(t) {
		if dir := bannedDirectory(name); dir != "" && !exempt(name) {
			t.Error(dir)
		}
		if !isText(name) || exempt(name) {
			continue
		}
		for i, line := range strings.Split(string(read(t, name)), "\n") {
			for _, found := range bannedInText(line) {
				t.Errorf("%s:%d: %s", name, i+1, found)
			}
		}
	}
}

// TestStandardWordsFindsPlanted checks that a banned word is found wherever it
// stands, and that the same word in an ordinary sense is not.
func TestStandardWordsFindsPlanted(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]int{
		"// sweep looks for strays.\nfunc sweep() {}":                     1,
		"// sweep releases what is in\n// hand.\nfunc sweep() {}":         1,
		"func releaseStrays() {}":                                         1,
		"type siege struct{ crewSize int }":                               2,
		"func f() { museum := 1; _ = museum }":                            1,
		`var err = errors.New("the verdict is unknown")`:                  1,
		"func f() { for evil := range 3 { _ = evil } }":                   1,
		"func (s *T) Look() {}":                                           1,
		"type T struct{ dealt int }":                                      1,
		"// T is the mechanism.\ntype T struct{}":                         1,
		"func handedOver(stray int) {}":                                   2,
		"// look for the row, note its place and ask again.\nfunc f() {}": 0,
		"func lookUp() {}":                                                0,
		"// f holds the lock while others wait their turn.\nfunc f() {}":  0,
		"type Settle struct{}":                                            1,
		"func each() {}":                                                  0,
	} {
		if got := bannedInGo(parsed(t, "internal/engine/x.go", source)); len(got) != want {
			t.Errorf("%s\n%d findings, want %d: %s", source, len(got), want, strings.Join(got, "; "))
		}
	}
	if got := bannedInGo(parsed(t, "internal/store/x.go", "func each() {}")); len(got) != 1 {
		t.Errorf("each in the store: %d findings, want 1", len(got))
	}
	for source, want := range map[string]int{
		"func (s *S) hold() {}":                                      1,
		"type T struct{ holder string }":                             1,
		"// begin fails when the\n// hold is gone.\nfunc begin() {}": 1,
		"// f holds the lock; a lease has one holder.\nfunc f() {}":  0,
		"func lostClaims() {}":                                       0,
		"func f() { lost := 1; _ = lost }":                           0,
		"func (s *S) lost() {}":                                      1,
		"var ErrLost error":                                          0,
	} {
		if got := bannedInGo(parsed(t, "internal/engine/x.go", source)); len(got) != want {
			t.Errorf("%s\n%d findings, want %d: %s", source, len(got), want, strings.Join(got, "; "))
		}
	}
	for source, want := range map[string]int{
		"type Mark struct{}":    1,
		"type Claims struct{}":  1,
		"type Claimed struct{}": 1,
		"type Claim struct{}":   0,
		"func hold() {}":        0,
	} {
		if got := bannedInGo(parsed(t, "cmd/x/x.go", source)); len(got) != want {
			t.Errorf("%s\n%d findings, want %d: %s", source, len(got), want, strings.Join(got, "; "))
		}
	}
	if got := bannedInText("A fleet of workers, dealt with one by one."); len(got) != 2 || !strings.Contains(strings.Join(got, ""), `"fleet"`) {
		t.Errorf("documentation: %v, want 2 findings", got)
	}
	for name, want := range map[string]bool{
		"docs/x.md": true, "cmd/taskgen/start/main.go.txt": true, "internal/engine/testdata/claim.txt": true,
		"internal/taskgen/testdata/x.txtar": false, "internal/store/testdata/sql/sqlite/claim.sql": false,
	} {
		if isText(name) != want {
			t.Errorf("%s is text: %t, want %t", name, !want, want)
		}
	}
	if bannedDirectory("internal/museum/doc.go") == "" || bannedDirectory("internal/mutants/doc.go") != "" {
		t.Error("the name of a directory is not checked")
	}
	if bannedDirectory("internal/engine/world_test.go") == "" || bannedDirectory("internal/engine/env_test.go") != "" {
		t.Error("the name of a file is not checked")
	}
}

// bannedInGo returns the banned words of a Go file.
func bannedInGo(f goFile) (found []string) {
	report := func(n ast.Node, text string) {
		found = append(found, fmt.Sprintf("%s:%d: %s", f.path, f.lineOf(n), text))
	}
	for _, group := range f.ast.Comments {
		var text strings.Builder
		for _, c := range group.List {
			text.WriteString(c.Text + "\n")
		}
		for _, b := range bannedInText(text.String()) {
			report(group, b)
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			for _, b := range bannedInText(lit.Value) {
				report(lit, b)
			}
		}
		switch d := n.(type) {
		case *ast.TypeSpec:
			if use, ok := inTypeNames[strings.ToLower(d.Name.Name)]; ok {
				report(d, fmt.Sprintf("the type %s has a name of jargon: the standard word is %s", d.Name.Name, use))
			}
		case *ast.FuncDecl:
			if use, ok := inFuncNames[strings.ToLower(d.Name.Name)]; ok && inLeasePackage(f.path) {
				report(d, fmt.Sprintf("the function %s has a name of jargon: the standard word is %s", d.Name.Name, use))
			}
		}
		for _, id := range declared(n) {
			if b := bannedName(f.path, id.Name); b != "" {
				report(id, b)
			}
		}
		return true
	})
	return found
}

// declared returns the names that a node declares.
func declared(n ast.Node) []*ast.Ident {
	var exprs []ast.Expr
	switch d := n.(type) {
	case *ast.FuncDecl:
		return []*ast.Ident{d.Name}
	case *ast.TypeSpec:
		return []*ast.Ident{d.Name}
	case *ast.ValueSpec:
		return d.Names
	case *ast.Field:
		return d.Names
	case *ast.RangeStmt:
		if d.Tok == token.DEFINE {
			exprs = []ast.Expr{d.Key, d.Value}
		}
	case *ast.AssignStmt:
		if d.Tok == token.DEFINE {
			exprs = d.Lhs
		}
	}
	var ids []*ast.Ident
	for _, e := range exprs {
		if id, ok := e.(*ast.Ident); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// bannedName describes what is wrong with a name in a file, or returns "".
func bannedName(file, name string) string {
	whole := strings.ToLower(name)
	use, ok := inNames[whole]
	if !ok && strings.HasPrefix(file, "internal/store/") {
		use, ok = inStoreNames[whole]
	}
	if !ok && inLeasePackage(file) {
		use, ok = inLeaseNames[whole]
	}
	if !ok {
		use, ok = inParts[whole]
	}
	for _, part := range camelWords(name) {
		if !ok {
			use, ok = inParts[part]
		}
	}
	if !ok {
		return ""
	}
	return fmt.Sprintf("the name %s is jargon: the standard word is %s", name, use)
}

// inLeasePackage reports whether a file belongs to a package of leases.
func inLeasePackage(file string) bool {
	return slices.ContainsFunc(leasePackages, func(dir string) bool { return strings.HasPrefix(file, dir) })
}

// camelWords splits a name at its capital letters, in lower case.
func camelWords(name string) []string {
	var words []string
	start := 0
	for i, r := range name {
		if i > start && (unicode.IsUpper(r) || r == '_') {
			words = append(words, strings.ToLower(strings.Trim(name[start:i], "_")))
			start = i
		}
	}
	return append(words, strings.ToLower(strings.Trim(name[start:], "_")))
}

// bannedInText returns the banned words of a text, each once.
func bannedInText(text string) (found []string) {
	// The pattern is slow, above all with the race detector, and most texts have no
	// word that a term cannot do without.
	if !slices.ContainsFunc(plainWords(text), func(word string) bool { return longest[word] }) {
		return nil
	}
	for _, word := range inText.FindAllString(text, -1) {
		word = breaks.ReplaceAllString(word, " ")
		use := textUses[strings.ToLower(strings.ReplaceAll(word, " ", ""))]
		found = append(found, fmt.Sprintf("%q is jargon: the standard word is %s", word, use))
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// bannedDirectory describes what is wrong with the directory or the name of a file.
func bannedDirectory(name string) string {
	for dir := range strings.SplitSeq(path.Dir(name), "/") {
		if use, ok := inPaths[dir]; ok {
			return fmt.Sprintf("%s: the directory %s has a name of jargon: the standard words are %s", name, dir, use)
		}
	}
	stem, _, _ := strings.Cut(path.Base(name), ".")
	for part := range strings.SplitSeq(stem, "_") {
		if use, ok := inFiles[part]; ok {
			return fmt.Sprintf("%s: the file has a name of jargon: the standard words are %s", name, use)
		}
	}
	return ""
}

// isText reports whether a file is documentation, or a script or configuration
// with comments. Go files are checked on their own. Of the data of tests, only
// scripts are text that people read.
func isText(name string) bool {
	switch path.Ext(name) {
	case ".txt", ".sh":
		return true
	}
	if strings.Contains("/"+name, "/testdata/") {
		return false
	}
	switch path.Ext(name) {
	case ".md", ".yml", ".sql", ".tmpl", ".pml", ".patch", ".json":
		return true
	}
	return name == "Makefile" || name == ".ci/run"
}

// exempt reports whether a file is not checked.
func exempt(name string) bool {
	_, ok := quoted[name]
	return ok
}

func parsed(t *testing.T, name, source string) goFile {
	t.Helper()
	fset := token.NewFileSet()
	src := []byte("package p\n\n" + source + "\n")
	file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return goFile{path: name, src: src, ast: file, fset: fset}
}
