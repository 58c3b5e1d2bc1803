package taskgen

import (
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/tools/go/packages"
)

// loadMode asks for the syntax and types of the packages named; what they
// import comes from the compiler's export data.
const loadMode = packages.NeedName | packages.NeedFiles | packages.NeedSyntax |
	packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedModule

// load reads packages, all at once. Broken packages are loaded too: whether
// that matters is decided by what is in them.
func load(ctx context.Context, dir string, patterns []string) ([]*packages.Package, *token.FileSet, error) {
	fset := token.NewFileSet()
	pkgs, err := packages.Load(&packages.Config{
		Mode: loadMode, Context: ctx, Dir: dir, Fset: fset,
	}, patterns...)
	if err != nil {
		return nil, nil, fmt.Errorf("load %s: %w", strings.Join(patterns, " "), err)
	}
	return pkgs, fset, nil
}

// importPath returns the import path that a directory has or would have.
func importPath(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for root := dir; ; root = filepath.Dir(root) {
		data, err := os.ReadFile(filepath.Join(root, "go.mod"))
		if err == nil {
			module := modfile.ModulePath(data)
			rel, err := filepath.Rel(root, dir)
			if module == "" || err != nil {
				return "", fmt.Errorf("%s names no module: add a module line", filepath.Join(root, "go.mod"))
			}
			return strings.TrimSuffix(module+"/"+filepath.ToSlash(rel), "/."), nil
		}
		if !os.IsNotExist(err) {
			return "", err
		}
		if root == filepath.Dir(root) {
			return "", fmt.Errorf("no go.mod in %s or above: run go mod init, or name a directory of a module with -o", dir)
		}
	}
}

// within reports whether an import path is another or below it.
func within(path, parent string) bool {
	return path == parent || strings.HasPrefix(path, parent+"/")
}

// candidate is a type that may be an executor.
type candidate struct {
	pkg       *packages.Package
	name      *types.TypeName
	directive *directive // nil when the type has only the method
}

// candidates returns the types of a package that have a directive, or are
// exported with an Execute method of their own like that of an executor.
func (r *resolver) candidates(pkg *packages.Package) (found []candidate) {
	for _, file := range pkg.Syntax {
		seen := map[*ast.CommentGroup]bool{}
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
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
					found = append(found, candidate{pkg: pkg, name: name, directive: d})
				}
			}
		}
		r.report(strayDirectives(file, seen)...)
	}
	return found
}

// concerns reports whether a package has to do with executors, so that its
// errors matter.
func concerns(pkg *packages.Package) bool {
	for _, file := range pkg.Syntax {
		for _, group := range file.Comments {
			for _, c := range group.List {
				if strings.HasPrefix(c.Text, prefix) {
					return true
				}
			}
		}
	}
	return false
}

// generatedImports returns a problem for each import of generated code: it
// could not be generated any more once it is broken.
func (r *resolver) generatedImports(pkg *packages.Package) (problems []problem) {
	for _, file := range pkg.Syntax {
		for _, imp := range file.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			if err == nil && within(path, r.genPath) {
				problems = append(problems, problem{
					imp.Pos(), "an executor imports generated code, " + path,
					"let the program that wires the executor pass in what it needs",
				})
			}
		}
	}
	return problems
}

// loadErrors turns a package's errors into diagnostics.
func (r *resolver) loadErrors(pkg *packages.Package) {
	for _, e := range pkg.Errors {
		d := Diagnostic{Message: e.Msg, Remedy: "the package must compile"}
		parts := strings.Split(e.Pos, ":")
		if len(parts) >= 2 {
			d.Pos.Filename = r.relative(parts[0])
			d.Pos.Line, _ = strconv.Atoi(parts[1])
			if len(parts) > 2 {
				d.Pos.Column, _ = strconv.Atoi(parts[2])
			}
		} else {
			d.Message = pkg.PkgPath + ": " + d.Message
		}
		r.diagnostics = append(r.diagnostics, d)
	}
}
