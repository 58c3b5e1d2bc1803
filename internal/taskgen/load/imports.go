package load

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"taskkit.dev/internal/taskgen/model"
)

// generatedImports returns a problem for each import of generated code, also through
// other packages of the module: it could not be generated any more once it is broken.
func (r *resolver) generatedImports(pkg *packages.Package) (problems []problem) {
	const remedy = "let the program that wires the executor pass in what it needs"
	for _, file := range pkg.Syntax {
		for _, imp := range file.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			switch {
			case err != nil:
			case model.Within(path, r.genPath):
				problems = append(problems, problem{imp.Pos(), "an executor imports the generated package " + path, remedy})
			case pkg.Module != nil:
				if through := r.reaches(pkg.Module, path); through != "" {
					problems = append(problems, problem{imp.Pos(), "an executor imports generated code: " + path + through, remedy})
				}
			}
		}
	}
	return problems
}

// reaches says how a package of a module comes to import generated code: ", which
// imports example.com/gen". It is "" for one that does not. It reads source, since the
// first time there is nothing that could be compiled.
func (r *resolver) reaches(m *packages.Module, path string) string {
	if !model.Within(path, m.Path) || m.Dir == "" {
		return ""
	}
	if known, ok := r.reached[path]; ok {
		return known
	}
	r.reached[path] = "" // packages do not import in circles, but broken ones may
	for _, next := range importsIn(filepath.Join(m.Dir, filepath.FromSlash(strings.TrimPrefix(path, m.Path)))) {
		through := r.reaches(m, next)
		if model.Within(next, r.genPath) || through != "" {
			r.reached[path] = ", which imports " + next + through
			break
		}
	}
	return r.reached[path]
}

// importsIn returns what the Go files of a directory import, tests excepted.
func importsIn(dir string) (paths []string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, e.Name()), nil, parser.ImportsOnly)
		if err != nil {
			continue
		}
		for _, imp := range file.Imports {
			if path, err := strconv.Unquote(imp.Path.Value); err == nil {
				paths = append(paths, path)
			}
		}
	}
	return paths
}
