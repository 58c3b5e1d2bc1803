package main

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// module is the path of the module at the root of the repository.
const module = "taskkit.dev"

// separate are packages whose tests run the same code as the library's own once more, against more databases and faults:
// make test runs them without the detector, and make race with it.
var separate = []string{"cmd/taskkit/...", "internal/proof/...", "internal/store/dbstore", "internal/testkit/memstore"}

// concurrent are packages that are watched though they have no go statement: what they call starts goroutines.
var concurrent = []string{
	"cmd/taskkit/internal/mailserver", "internal/store/postgres", "internal/store/sqlite", "internal/testkit/testdb",
	"internal/proof/fairness", "internal/proof/faultinject/sqlitefault", "internal/proof/proptest",
}

// slowest are the packages that take longest. They begin first, or the others would have ended before them.
var slowest = []string{"taskkit", "taskkit/taskhttp", "internal/store/dbstore", "executors", "cmd/taskkit"}

// choose divides packages into those to test with the detector and those to test without. A race run of the whole suite
// leaves out what needs no detector, and what is watched without -race.
func choose(all []listed, race, whole bool) (watched, unwatched []string, err error) {
	slices.SortStableFunc(all, func(a, b listed) int { return cmp.Compare(rank(a.path), rank(b.path)) })
	for _, p := range all {
		name := strings.TrimPrefix(p.path, module+"/")
		concurrent := fitsAny(name, concurrent)
		if !concurrent {
			if concurrent, err = startsGoroutines(p.dir); err != nil {
				return nil, nil, err
			}
		}
		separate := fitsAny(name, separate)
		switch {
		case race && (!whole || concurrent && separate), !race && concurrent && !separate:
			watched = append(watched, p.path)
		case !race:
			unwatched = append(unwatched, p.path)
		}
	}
	return watched, unwatched, nil
}

// rank sorts the slowest packages to the front.
func rank(importPath string) int {
	if i := slices.Index(slowest, strings.TrimPrefix(importPath, module+"/")); i >= 0 {
		return i
	}
	return len(slowest)
}

// fitsAny reports whether a package is one of the patterns. "x/..." stands for x and all below it.
func fitsAny(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		root, deep := strings.CutSuffix(p, "/...")
		return name == root || deep && strings.HasPrefix(name, root+"/")
	})
}

// startsGoroutines reports whether the files of a package, or of a package for tests that it imports, have a go
// statement. A statement that runs a call and sends its result does not count, such as a worker's Run: the tests of
// package taskkit watch workers.
func startsGoroutines(dir string) (bool, error) {
	files, err := parse(dir)
	if err != nil {
		return false, err
	}
	for _, f := range files {
		if len(goroutines(f)) > 0 {
			return true, nil
		}
		for _, i := range f.Imports {
			imported, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return false, err
			}
			kit, ours := strings.CutPrefix(imported, module+"/internal/testkit/")
			if !ours {
				continue
			}
			cases, err := parse(path.Join("internal/testkit", kit))
			if err != nil {
				return false, err
			}
			// What its own tests start is no part of the importing package.
			for name, c := range cases {
				if !strings.HasSuffix(name, "_test.go") && len(goroutines(c)) > 0 {
					return true, nil
				}
			}
		}
	}
	return false, nil
}

// parse parses the Go files of a directory, by name.
func parse(dir string) (map[string]*ast.File, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	files := make(map[string]*ast.File, len(names))
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if files[name], err = parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// goroutines returns the statements of a file that start goroutines, but for those that send the result of a call and do
// nothing else.
func goroutines(file *ast.File) (found []ast.Node) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			if !sendsOnly(n.Call.Fun) {
				found = append(found, n)
			}
		case *ast.CallExpr: // of a sync.WaitGroup or an errgroup.Group
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Go" && len(n.Args) == 1 && !sendsOnly(n.Args[0]) {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// sendsOnly reports whether a function is a literal whose only statement sends to a channel.
func sendsOnly(f ast.Expr) bool {
	lit, ok := f.(*ast.FuncLit)
	if !ok || len(lit.Body.List) != 1 {
		return false
	}
	_, ok = lit.Body.List[0].(*ast.SendStmt)
	return ok
}
