package load

import (
	"cmp"
	"errors"
	"go/ast"
	gobuild "go/build"
	"go/constant"
	"go/parser"
	"go/types"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"taskkit.dev/internal/taskgen/model"
)

// enum returns the values of a declared string or integer type, in the order of
// their declaration: the exported constants of exactly that type in its own
// package, when there are two at least. Types of other modules have none, since
// what their constants mean is not ours to say; time.Duration has constants, and
// other values. A type of one's own that is like that says so with a line
// //taskkit:open in its doc comment. A constant whose value comes from another
// package is refused: to leave it out would refuse it as a value.
func (r *resolver) enum(t types.Type, p location) (values []model.Const, ok bool) {
	named, ok := t.(*types.Named)
	if !ok || named.TypeArgs().Len() > 0 || r.isOpen(named.Obj()) {
		return nil, true
	}
	pkg := r.declaring(named.Obj())
	if pkg == nil {
		return nil, true
	}
	typ := pkg.Scope().Lookup(named.Obj().Name())
	if typ == nil {
		return nil, true
	}
	var found []*types.Const
	for _, name := range pkg.Scope().Names() {
		c, ok := pkg.Scope().Lookup(name).(*types.Const)
		if !ok || !c.Exported() || !types.Identical(c.Type(), typ.Type()) {
			continue
		}
		if c.Val().Kind() == constant.Unknown {
			return nil, r.refuse(p, "write its value as a literal, or mark the type "+model.Prefix+"open",
				"the value of %s, a constant of %s, is defined in another package", c.Name(), plain(t))
		}
		if c.Val().Kind() == constant.String && !utf8.ValidString(constant.StringVal(c.Val())) {
			return nil, r.refuse(p, "write it as valid UTF-8, or mark the type "+model.Prefix+"open",
				"%s, a constant of %s, is not valid text, and JSON could not hold it", c.Name(), plain(t))
		}
		if c.Val().Kind() == constant.String && strings.ContainsRune(constant.StringVal(c.Val()), 0) {
			return nil, r.refuse(p, "give it another value, or mark the type "+model.Prefix+"open",
				"%s, a constant of %s, has a NUL character, which PostgreSQL cannot store", c.Name(), plain(t))
		}
		found = append(found, c)
	}
	slices.SortFunc(found, func(a, b *types.Const) int {
		x, y := r.fset.Position(a.Pos()), r.fset.Position(b.Pos())
		return cmp.Or(cmp.Compare(x.Filename, y.Filename), cmp.Compare(x.Offset, y.Offset))
	})
	for _, c := range found {
		value := c.Val().ExactString()
		if c.Val().Kind() == constant.String {
			value = strconv.Quote(constant.StringVal(c.Val()))
		}
		if !slices.ContainsFunc(values, func(v model.Const) bool { return v.Value == value }) {
			values = append(values, model.Const{Name: c.Name(), Value: value, Doc: r.text(c)})
		}
	}
	if len(values) < 2 {
		return nil, true
	}
	return values, true
}

// isOpen reports whether a type says that its constants are not all its values.
func (r *resolver) isOpen(obj *types.TypeName) bool {
	group := r.comment(obj)
	return group != nil && slices.ContainsFunc(group.List, func(c *ast.Comment) bool {
		return strings.TrimSpace(c.Text) == model.Prefix+"open"
	})
}

// declaring returns the package that declares a type, with all its constants, or
// nil for a type of another module. What was loaded as export data may lack some
// of them, depending on which packages were named; so the package is read again
// from its source, without what it imports: constants need none of it.
func (r *resolver) declaring(obj *types.TypeName) *types.Package {
	r.comment(obj) // finds the module
	file, ours := r.docs.own(r.fset.Position(obj.Pos()).Filename)
	if !ours {
		return nil
	}
	dir := filepath.Dir(file)
	if pkg, known := r.constants[dir]; known {
		return pkg
	}
	r.constants[dir] = nil
	found, err := gobuild.ImportDir(dir, 0)
	if err != nil {
		return nil
	}
	var files []*ast.File
	for _, name := range slices.Concat(found.GoFiles, found.CgoFiles) {
		f, err := parser.ParseFile(r.fset, filepath.Join(dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil
		}
		files = append(files, f)
	}
	check := types.Config{
		IgnoreFuncBodies: true, FakeImportC: true, Importer: noImports{},
		Error: func(error) {}, // of all that comes from other packages
	}
	pkg, _ := check.Check(obj.Pkg().Path(), r.fset, files, nil)
	r.constants[dir] = pkg
	return pkg
}

// noImports finds no package.
type noImports struct{}

// Import implements [types.Importer].
func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }
