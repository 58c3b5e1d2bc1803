// Package style_test checks the house rules that a machine can check. Each rule is one
// function, whose error should be enough to correct the violation.
package style_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxLines bounds a hand-written file: one subject, read in one sitting.
const maxLines = 500

// documented are the directories whose exported identifiers need a doc comment:
// what users import, and the store, whose contract two databases must keep.
var documented = []string{"taskkit", "taskkit/", "internal/store"}

// obviousMethods are methods with the contract of an interface of the standard library: a
// comment could only repeat it.
var obviousMethods = []string{"Error", "Unwrap", "String"}

// machinePath finds the path of a home or work directory. Committed files must mean the
// same on every machine.
var machinePath = regexp.MustCompile(`(?:^|[^\w.~/-])(?:` + strings.Join(machineDirs, "|") + `)[\w.-]+`)

// machineDirs are the directories above them.
var machineDirs = []string{"/work/", "/root/", "/home/", "/Users/"}

// A goFile is a Go file of this module, parsed.
type goFile struct {
	path      string
	src       []byte
	ast       *ast.File
	fset      *token.FileSet
	generated bool
}

func (f goFile) test() bool { return strings.HasSuffix(f.path, "_test.go") }

func (f goFile) lineOf(n ast.Node) int { return f.fset.Position(n.Pos()).Line }

func TestPackagesHaveDocs(t *testing.T) {
	t.Parallel()
	type pkg struct{ handWritten, doc bool }
	packages := map[string]*pkg{}
	for _, f := range goFiles(t) {
		if f.test() {
			continue
		}
		dir := path.Dir(f.path)
		p := packages[dir]
		if p == nil {
			p = &pkg{}
			packages[dir] = p
		}
		p.handWritten = p.handWritten || !f.generated
		p.doc = p.doc || f.ast.Doc != nil
	}
	for dir, p := range packages {
		if p.handWritten && !p.doc {
			t.Errorf("%s: the package has no doc comment: say what it is for, in doc.go or at the top of its main file", dir)
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		if n := bytes.Count(f.src, []byte("\n")); !f.generated && n >= maxLines {
			t.Errorf("%s: %d lines, the limit is %d: a file has one subject; split it by subject", f.path, n, maxLines-1)
		}
	}
}

func TestExportedIdentifiersAreDocumented(t *testing.T) {
	t.Parallel()
	for _, f := range goFiles(t) {
		if f.generated || f.test() || !inDirs(f.path, documented) {
			continue
		}
		for _, decl := range f.ast.Decls {
			for _, id := range undocumented(decl) {
				t.Errorf("%s:%d: %s is exported and has no doc comment: say its contract, its default and the reason", f.path, f.lineOf(id), id.Name)
			}
		}
	}
}

// undocumented returns the exported names of a declaration that have no
// comment: of functions, methods, types, constants and variables, and of the
// fields of a Config.
func undocumented(decl ast.Decl) []*ast.Ident {
	var missing []*ast.Ident
	add := func(id *ast.Ident, docs ...*ast.CommentGroup) {
		if id.IsExported() && !slices.ContainsFunc(docs, func(d *ast.CommentGroup) bool { return d != nil }) {
			missing = append(missing, id)
		}
	}
	switch d := decl.(type) {
	case *ast.FuncDecl:
		obvious := d.Recv != nil && slices.Contains(obviousMethods, d.Name.Name)
		if !obvious && (d.Recv == nil || receiver(d.Recv.List[0].Type).IsExported()) {
			add(d.Name, d.Doc)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				add(s.Name, s.Doc, d.Doc)
				if fields, ok := s.Type.(*ast.StructType); ok && s.Name.Name == "Config" {
					for _, field := range fields.Fields.List {
						for _, name := range field.Names {
							add(name, field.Doc, field.Comment)
						}
					}
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					add(name, s.Doc, s.Comment, d.Doc)
				}
			}
		}
	}
	return missing
}

// TestEndingsAreDocumented checks that each value of taskkit.EndReason says what it means: a comment on the group
// would not tell an executor which of them it has.
func TestEndingsAreDocumented(t *testing.T) {
	t.Parallel()
	endings := 0
	for _, f := range goFiles(t) {
		if f.test() || !inDirs(f.path, []string{"taskkit"}) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if typ, ok := spec.Type.(*ast.Ident); ok && typ.Name == "EndReason" {
				endings++
				if spec.Doc == nil && spec.Comment == nil {
					t.Errorf("%s:%d: %s has no comment", f.path, f.lineOf(spec), spec.Names[0].Name)
				}
			}
			return true
		})
	}
	if endings != 4 {
		t.Errorf("%d values of EndReason are found, want 4", endings)
	}
}

// receiver returns the name of a method's type: T of *T[A, B].
func receiver(x ast.Expr) *ast.Ident {
	for {
		switch e := x.(type) {
		case *ast.Ident:
			return e
		case *ast.StarExpr:
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.IndexListExpr:
			x = e.X
		default:
			return ast.NewIdent("_")
		}
	}
}

func TestNoMachinePaths(t *testing.T) {
	t.Parallel()
	for _, name := range tracked(t) {
		src := read(t, name)
		if bytes.IndexByte(src, 0) >= 0 {
			continue // not text
		}
		// The pattern is slow, above all with the race detector, and few files need it.
		if !slices.ContainsFunc(machineDirs, func(dir string) bool { return bytes.Contains(src, []byte(dir)) }) {
			continue
		}
		for i, line := range strings.Split(string(src), "\n") {
			if found := machinePath.FindString(line); found != "" {
				t.Errorf("%s:%d: %q is a path of one machine: write what holds on all", name, i+1, strings.TrimSpace(found))
			}
		}
	}
}

// inDirs reports whether the file is in one of the directories; a directory
// that ends in a slash stands for all below it.
func inDirs(name string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool {
		if strings.HasSuffix(dir, "/") {
			return strings.HasPrefix(name, dir)
		}
		return path.Dir(name) == dir
	})
}

// goFiles parses the Go files of the tree. Those in testdata are left out: they
// are input, and some are wrong on purpose.
func goFiles(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	fset := token.NewFileSet()
	for _, name := range tracked(t) {
		if !strings.HasSuffix(name, ".go") || strings.Contains("/"+name, "/testdata/") {
			continue
		}
		src := read(t, name)
		file, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, goFile{name, src, file, fset, ast.IsGenerated(file)})
	}
	if len(files) == 0 {
		t.Fatal("git lists no Go files: run this test in a checkout")
	}
	return files
}

// tracked lists the files that are in the repository or about to be: not the
// ignored ones.
func tracked(t *testing.T) []string {
	t.Helper()
	var files []string
	dirs := map[string]bool{}
	for name := range strings.SplitSeq(run(t, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"), "\x00") {
		// A file that was removed and not yet committed is still listed.
		if info, err := os.Lstat(name); err == nil && info.Mode().IsRegular() {
			files = append(files, name)
			dirs[path.Dir(name)] = true
		}
	}
	// go test answers from its cache while what a test has read is unchanged. It
	// cannot see git's listing, but it sees this one.
	for dir := range dirs {
		if _, err := os.ReadDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	src, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return src
}

// run runs a program at the root of the module and returns what it printed.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, errs.String())
	}
	return out.String()
}
