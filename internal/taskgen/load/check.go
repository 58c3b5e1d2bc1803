package load

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"slices"

	"golang.org/x/tools/go/gcexportdata"
	"golang.org/x/tools/go/packages"
)

// listMode makes the go command list names, files and imports. It compiles nothing.
const listMode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
	packages.NeedImports | packages.NeedDeps | packages.NeedModule | packages.NeedTypesSizes

// exportMode makes the go command compile packages that are not in its cache, and
// where it keeps what they export.
const exportMode = packages.NeedName | packages.NeedExportFile

// checker parses and type-checks the packages that were asked for. What they import
// comes from the compiler's export data. [packages.Load] could do both, but it lets the
// go command compile the packages that were asked for too: for many new ones that is most
// of the work, and none of it is used.
type checker struct {
	fset *token.FileSet
	// source has the packages to be read from source, by path, and whether one is
	// done: those that were asked for, and whatever imports one of them, because
	// export data would have other types of the same names.
	source map[string]bool
	// exported has the packages whose export data may be read, by path.
	exported map[string]*packages.Package
	view     map[string]*types.Package // what export data was read, by path
	asked    map[string]bool           // function bodies of the others do not matter
	broken   broken
}

// check adds Syntax, Types, TypesInfo.Defs and Errors to packages that were listed by
// listMode.
func check(ctx context.Context, dir string, fset *token.FileSet, pkgs []*packages.Package) error {
	c := &checker{
		fset: fset, source: map[string]bool{}, exported: map[string]*packages.Package{},
		view: map[string]*types.Package{}, asked: map[string]bool{},
		broken: broken{ctx: ctx, dir: dir, known: map[string]packages.Error{}},
	}
	for _, p := range pkgs {
		c.asked[p.ID] = true
	}
	var needed []string
	packages.Visit(pkgs, nil, func(p *packages.Package) { // imports come first
		fromSource := c.asked[p.ID]
		for _, imported := range p.Imports {
			_, in := c.source[imported.ID]
			fromSource = fromSource || in
		}
		if fromSource {
			c.source[p.ID] = false
		}
	})
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		if _, in := c.source[p.ID]; !in {
			return
		}
		for _, imported := range p.Imports {
			_, in := c.source[imported.ID]
			if !in && imported.PkgPath != "unsafe" && !slices.Contains(needed, imported.PkgPath) {
				needed = append(needed, imported.PkgPath)
			}
		}
	})
	if len(needed) > 0 {
		slices.Sort(needed)
		compiled, err := packages.Load(&packages.Config{Mode: exportMode, Context: ctx, Dir: dir}, needed...)
		if err != nil {
			return fmt.Errorf("compile what the executors import: %w", goError(err))
		}
		for _, p := range compiled {
			c.exported[p.PkgPath] = p
		}
	}
	for _, p := range pkgs {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.check(p)
	}
	return nil
}

// check type-checks a package, and first what it imports from source.
func (c *checker) check(p *packages.Package) {
	if c.source[p.ID] {
		return
	}
	c.source[p.ID] = true
	p.Fset = c.fset
	for _, name := range p.CompiledGoFiles {
		file, err := parser.ParseFile(c.fset, name, nil, parser.AllErrors|parser.ParseComments|parser.SkipObjectResolution)
		c.report(p, err)
		if file != nil {
			p.Syntax = append(p.Syntax, file)
		}
	}
	p.Types = types.NewPackage(p.PkgPath, p.Name)
	p.TypesInfo = &types.Info{Defs: map[*ast.Ident]types.Object{}}
	config := types.Config{
		Importer:         importer(func(path string) (*types.Package, error) { return c.imported(p, path) }),
		IgnoreFuncBodies: !c.asked[p.ID],
		Sizes:            p.TypesSizes,
		Error:            func(err error) { c.report(p, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	before := len(p.Errors)
	err := types.NewChecker(&config, c.fset, p.Types, p.TypesInfo).Files(p.Syntax)
	if len(p.Errors) == before {
		c.report(p, err)
	}
}

// imported returns what a package imports by a path.
func (c *checker) imported(by *packages.Package, path string) (*types.Package, error) {
	p := by.Imports[path]
	switch {
	case path == "unsafe":
		return types.Unsafe, nil
	case p == nil:
		return nil, fmt.Errorf("the go command does not know %s, or it is imported in a circle", path)
	}
	if _, in := c.source[p.ID]; in {
		c.check(p)
		return p.Types, nil
	}
	if known := c.view[p.PkgPath]; known != nil && known.Complete() {
		return known, nil
	}
	if len(p.Errors) > 0 { // it could not even be listed
		return nil, errors.New(p.Errors[0].Msg)
	}
	compiled := c.exported[p.PkgPath]
	if compiled == nil || compiled.ExportFile == "" {
		return nil, c.broken.find(p.PkgPath)
	}
	file, err := os.Open(compiled.ExportFile)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	r, err := gcexportdata.NewReader(file) //nolint:staticcheck // what go list names is an archive still
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", compiled.ExportFile, err)
	}
	return gcexportdata.Read(r, c.fset, c.view, p.PkgPath)
}

// report adds an error of the parser or of the type checker to a package's.
func (c *checker) report(p *packages.Package, err error) {
	var (
		list  scanner.ErrorList
		typed types.Error
		path  *os.PathError
	)
	switch {
	case err == nil:
	case errors.As(err, &list):
		for _, e := range list {
			p.Errors = append(p.Errors, packages.Error{Pos: e.Pos.String(), Msg: e.Msg, Kind: packages.ParseError})
		}
	case errors.As(err, &typed) && c.broken.cause(typed) != nil:
		p.Errors = append(p.Errors, *c.broken.cause(typed))
	case errors.As(err, &typed):
		p.Errors = append(p.Errors, packages.Error{Pos: c.fset.Position(typed.Pos).String(), Msg: typed.Msg, Kind: packages.TypeError})
	case errors.As(err, &path):
		p.Errors = append(p.Errors, packages.Error{Pos: path.Path + ":1", Msg: path.Err.Error(), Kind: packages.ParseError})
	default:
		p.Errors = append(p.Errors, packages.Error{Pos: "-", Msg: err.Error()})
	}
}

// importer is a function that implements [types.Importer].
type importer func(path string) (*types.Package, error)

// Import implements [types.Importer].
func (f importer) Import(path string) (*types.Package, error) { return f(path) }
