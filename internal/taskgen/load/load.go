package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"

	"taskkit.dev/internal/taskgen/model"
)

// Packages reads packages, all at once. Broken packages are loaded too: whether
// that matters is decided by what is in them. Packages of which no file is built here
// have only the names of their files.
func Packages(ctx context.Context, dir string, patterns []string) ([]*packages.Package, *token.FileSet, error) {
	fset := token.NewFileSet()
	pkgs, err := packages.Load(&packages.Config{
		Mode: listMode, Context: ctx, Dir: dir, Fset: fset,
	}, patterns...)
	if err == nil {
		err = check(ctx, dir, fset, pkgs)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list %s: %w", strings.Join(patterns, " "), goError(err))
	}
	return append(pkgs, excluded(dir, patterns, pkgs)...), fset, nil
}

// goOutput finds what the go command wrote in an error of [packages.Load].
var goOutput = regexp.MustCompile(`(?s)^err: (.*?): stderr: (.*)$`)

// goLines is how much of what the go command wrote is shown.
const goLines = 8

// goError returns an error with what the go command wrote, without the rest of the text that
// [packages.Load] makes.
func goError(err error) error {
	m := goOutput.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	lines := strings.Split(cmp.Or(strings.TrimSpace(m[2]), strings.TrimSpace(m[1])), "\n")
	if n := len(lines) - goLines; n > 0 {
		lines = append(lines[:goLines], fmt.Sprintf("\t(and %d lines more: go list shows them)", n))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// ImportPath returns the import path that a directory has or would have, and the
// path of its module.
func ImportPath(dir string) (path, module string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", "", err
	}
	for root := dir; ; root = filepath.Dir(root) {
		data, err := os.ReadFile(filepath.Join(root, "go.mod"))
		if err == nil {
			module = modfile.ModulePath(data)
			rel, err := filepath.Rel(root, dir)
			if module == "" || err != nil {
				return "", "", fmt.Errorf("%s has no module line: add one", filepath.Join(root, "go.mod"))
			}
			return strings.TrimSuffix(module+"/"+filepath.ToSlash(rel), "/."), module, nil
		}
		if !os.IsNotExist(err) {
			return "", "", err
		}
		if root == filepath.Dir(root) {
			return "", "", fmt.Errorf("no go.mod in %s or above: run go mod init, or name a directory of a module with -o", dir)
		}
	}
}

// candidate is a type that may be an executor.
type candidate struct {
	pkg       *packages.Package
	name      *types.TypeName
	directive *directive // nil when the type has only the method
	told      bool       // that what may be its directive is none, or is at a wrong place
}

// candidates returns the types of a package that have a directive, or are
// exported with an Execute method of their own like an executor's.
func (r *resolver) candidates(pkg *packages.Package) (found []candidate) {
	for _, file := range pkg.Syntax {
		seen, groups := map[*ast.CommentGroup]bool{}, map[*ast.CommentGroup]bool{}
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			groups[gen.Doc] = gen.Lparen.IsValid()
			for _, s := range gen.Specs {
				spec, ok := s.(*ast.TypeSpec)
				if !ok {
					continue
				}
				doc := spec.Doc
				if doc == nil && !gen.Lparen.IsValid() {
					doc = gen.Doc
				}
				seen[doc] = true
				d, problems := directiveOf(doc)
				r.report(problems...)
				name, ok := pkg.TypesInfo.Defs[spec.Name].(*types.TypeName)
				if ok && (d != nil || name.Exported() && ownsExecute(name)) {
					told := len(problems) > 0 || directiveBefore(file, gen)
					found = append(found, candidate{pkg: pkg, name: name, directive: d, told: told})
				}
			}
		}
		r.report(misplacedDirectives(file, seen, groups)...)
	}
	return found
}

// leftOut reports directives in files that are not built here, by their constraints,
// their names or because cgo is off, and in tests. It is in order if the kind is also declared in a
// file that is built.
func (r *resolver) leftOut(pkgs []*packages.Package, found []*model.Executor) {
	looked := map[string]bool{}
	for _, pkg := range pkgs {
		for _, name := range pkg.IgnoredFiles {
			if !strings.HasSuffix(name, "_test.go") {
				r.leftOutFile(name, found, "not built here: by a build constraint, the name of the file, or because cgo is off",
					"declare executors in files that are always built, or run taskgen with the GOFLAGS, GOOS and CGO_ENABLED that build it")
			}
		}
		for _, name := range pkg.GoFiles {
			dir := filepath.Dir(name)
			if looked[dir] {
				continue
			}
			looked[dir] = true
			tests, _ := filepath.Glob(filepath.Join(dir, "*_test.go")) // the pattern is valid
			for _, test := range tests {
				r.leftOutFile(test, found, "a test, which no generated code can import", "declare it in a file whose name does not end in _test.go, or remove the directive")
			}
		}
	}
}

// leftOutFile reports the directives of a file that is not read.
func (r *resolver) leftOutFile(name string, found []*model.Executor, is, remedy string) {
	data, err := os.ReadFile(name)
	if err != nil {
		return
	}
	for i, line := range strings.Split(string(data), "\n") {
		rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r"), model.Prefix+"executor ")
		words := strings.Fields(rest)
		if !ok || len(words) == 0 || slices.ContainsFunc(found, func(x *model.Executor) bool { return x.Kind == words[0] }) {
			continue
		}
		r.diagnostics = append(r.diagnostics, model.Diagnostic{
			Pos:     token.Position{Filename: r.relative(name), Line: i + 1, Column: 1},
			Message: fmt.Sprintf("executor %s is in a file that is %s", words[0], is),
			Remedy:  remedy,
		})
	}
}

// Written returns the path of a package within another path that has to do with executors, so
// that taskgen did not write it, or "".
func Written(pkgs []*packages.Package, within string) string {
	for _, p := range pkgs {
		if model.Within(p.PkgPath, within) && concerns(p) {
			return p.PkgPath
		}
	}
	return ""
}

// concerns reports whether a package has to do with executors, so that its
// errors matter.
func concerns(pkg *packages.Package) bool {
	for _, file := range pkg.Syntax {
		for _, group := range file.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, model.Prefix) {
					return true
				}
			}
		}
	}
	return false
}
