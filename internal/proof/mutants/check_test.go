package mutants_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// checker finds what does not compile in the patched packages. It
// reads each package with the types of what it imports as the go command has
// compiled them, so that a patch costs the types of one package and no compilation.
type checker struct {
	tb      testing.TB
	dir     string            // of the repository
	files   map[string]source // the tree's own, by path
	exports map[string]string // files with the types of compiled packages, by import path
	sources map[string][]string
	fset    *token.FileSet
	imports types.Importer
}

// source is a file that was read and parsed once for all patches.
type source struct {
	file *ast.File
	err  error
}

// newChecker returns a checker for packages, which are given by their directories.
func newChecker(tb testing.TB, packages []string) *checker {
	tb.Helper()
	c := &checker{
		tb: tb, dir: root(tb), fset: token.NewFileSet(),
		files: map[string]source{}, exports: map[string]string{}, sources: map[string][]string{},
	}
	c.imports = importer.ForCompiler(c.fset, "gc", c.export)
	cmd := exec.CommandContext(tb.Context(), "go", append([]string{"list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles"}, packages...)...)
	cmd.Dir = c.dir
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("list the packages of the patches: %v%s", err, said(err))
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath, Dir, Export string
			GoFiles                 []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return c
		} else if err != nil {
			tb.Fatal(err)
		}
		c.exports[p.ImportPath], c.sources[p.Dir] = p.Export, p.GoFiles
	}
}

// export opens the types of a compiled package. One that only a patch imports is
// not among those that were listed.
func (c *checker) export(path string) (io.ReadCloser, error) {
	if c.exports[path] == "" {
		cmd := exec.CommandContext(c.tb.Context(), "go", "list", "-export", "-f", "{{.Export}}", path)
		cmd.Dir = c.dir
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("compile %s: %w%s", path, err, said(err))
		}
		c.exports[path] = strings.TrimSpace(string(out))
	}
	return os.Open(c.exports[path])
}

// check returns the first mistake in a package, given by its directory, in
// which replaced files have other contents.
func (c *checker) check(pkg string, replaced map[string]string) error {
	dir := filepath.Join(c.dir, pkg)
	if len(c.sources[dir]) == 0 {
		return fmt.Errorf("%s has no Go files", pkg)
	}
	var files []*ast.File
	for _, name := range c.sources[dir] {
		s := c.parse(filepath.Join(dir, name), replaced)
		if s.err != nil {
			return s.err
		}
		files = append(files, s.file)
	}
	config := types.Config{Importer: c.imports, Sizes: types.SizesFor("gc", runtime.GOARCH)}
	_, err := config.Check(pkg, c.fset, files, nil)
	return err
}

// parse returns a file of the tree, or what replaces it.
func (c *checker) parse(name string, replaced map[string]string) source {
	if with, ok := replaced[name]; ok {
		file, err := parser.ParseFile(c.fset, with, nil, parser.SkipObjectResolution)
		return source{file, err}
	}
	s, ok := c.files[name]
	if !ok {
		s.file, s.err = parser.ParseFile(c.fset, name, nil, parser.SkipObjectResolution)
		c.files[name] = s
	}
	return s
}

// said is what a command that failed has written, on a line of its own.
func said(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "\n" + string(exit.Stderr)
	}
	return ""
}
