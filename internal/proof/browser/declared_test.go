package browser_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// taskui is the directory of the dashboard.
const taskuiDir = "../../../taskkit/taskui"

// declared returns the paths of all pages of the dashboard, such as task/{id}, from its source: a value with the fields path and get is a page.
func declared(tb testing.TB) []string {
	tb.Helper()
	names, err := filepath.Glob(filepath.Join(taskuiDir, "*.go"))
	if err != nil {
		tb.Fatal(err)
	}
	var paths []string
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			tb.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			path, page := "", false
			for _, e := range literal.Elts {
				pair, ok := e.(*ast.KeyValueExpr)
				if !ok {
					continue
				}
				key, _ := pair.Key.(*ast.Ident)
				switch {
				case key == nil:
				case key.Name == "get":
					page = true
				case key.Name == "path":
					if value, ok := pair.Value.(*ast.BasicLit); ok {
						path, err = strconv.Unquote(value.Value)
						if err != nil {
							tb.Fatal(err)
						}
					}
				}
			}
			if page {
				paths = append(paths, path)
			}
			return true
		})
	}
	if !slices.Contains(paths, "") {
		tb.Fatalf("the page Home is not among the pages %q that the source of the dashboard has", paths)
	}
	return paths
}

var placeholder = regexp.MustCompile(`\\\{[a-z]+\\\}`)

// unvisited returns the declared pages at which none of the paths leads.
func unvisited(tb testing.TB, paths []string) []string {
	tb.Helper()
	all := declared(tb)
	var specific []*regexp.Regexp
	for _, pattern := range all {
		specific = append(specific, regexp.MustCompile("^"+placeholder.ReplaceAllString(regexp.QuoteMeta(pattern), "[^/]+")+"$"))
	}
	left := slices.Clone(all)
	for _, p := range paths {
		best := -1 // the pattern with the fewest placeholders, as the mux takes
		for i, re := range specific {
			if re.MatchString(p) && (best < 0 || strings.Count(all[i], "{") < strings.Count(all[best], "{")) {
				best = i
			}
		}
		if best >= 0 {
			left = slices.DeleteFunc(left, func(l string) bool { return l == all[best] })
		}
	}
	return left
}
