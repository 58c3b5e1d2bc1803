package style_test

import (
	"go/token"
	"go/types"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// publicPackages are the packages that users import.
var publicPackages = []string{"./taskkit", "./taskkit/intake", "./taskkit/intake/jetstream", "./taskkit/intake/kafka", "./taskkit/intake/rabbit", "./taskkit/notice", "./taskkit/segment", "./taskkit/taskbulk", "./taskkit/taskcause", "./taskkit/taskevent", "./taskkit/taskhttp", "./taskkit/taskjson", "./taskkit/taskkind", "./taskkit/tasknotify", "./taskkit/taskops", "./taskkit/taskotel", "./taskkit/tasktest", "./taskkit/taskui", "./taskkit/throttle"}

// TestNoInternalTypeInPublicAPI checks that users can name every type of the
// exported API: none is declared in an internal package.
func TestNoInternalTypeInPublicAPI(t *testing.T) {
	t.Parallel()
	pkgs, err := packages.Load(&packages.Config{
		Context: t.Context(), Mode: packages.NeedName | packages.NeedTypes,
	}, publicPackages...)
	if err != nil {
		t.Fatal(err)
	}
	if len(pkgs) != len(publicPackages) {
		t.Fatalf("loaded %d packages, want %d", len(pkgs), len(publicPackages))
	}
	for _, pkg := range pkgs {
		for _, e := range pkg.Errors {
			t.Error(e)
		}
		for _, found := range internalInAPI(pkg.Types) {
			t.Errorf("%s: %s: give users a type that they can name", pkg.PkgPath, found)
		}
	}
}

// TestInternalTypeIsFound checks the walk itself on a package made here.
func TestInternalTypeIsFound(t *testing.T) {
	t.Parallel()
	hidden := types.NewNamed(types.NewTypeName(token.NoPos, types.NewPackage("taskkit.dev/internal/engine", "engine"), "Kind", nil), types.NewStruct(nil, nil), nil)
	pkg := types.NewPackage("example.test/p", "p")
	for name, signature := range map[string]types.Type{
		"Field":  types.NewStruct([]*types.Var{types.NewField(token.NoPos, pkg, "F", types.NewMap(types.Typ[types.String], types.NewPointer(hidden)), false)}, nil),
		"Hidden": types.NewStruct([]*types.Var{types.NewField(token.NoPos, pkg, "f", hidden, false)}, nil),
	} {
		object := types.NewTypeName(token.NoPos, pkg, name, nil)
		types.NewNamed(object, signature, nil)
		pkg.Scope().Insert(object)
	}
	if found := internalInAPI(pkg); len(found) != 1 || !strings.HasPrefix(found[0], "Field.F") {
		t.Errorf("found %q, want Field.F alone", found)
	}
}

// internalInAPI returns the places in a package's exported API that use a type of
// an internal package.
func internalInAPI(pkg *types.Package) []string {
	w := apiWalk{pkg: pkg, seen: map[types.Type]bool{}}
	for _, name := range pkg.Scope().Names() {
		if token.IsExported(name) {
			w.object(name, pkg.Scope().Lookup(name))
		}
	}
	return w.found
}

// apiWalk walks over the exported API of one package.
type apiWalk struct {
	pkg   *types.Package
	seen  map[types.Type]bool
	found []string
}

// object visits what an exported identifier shows.
func (w *apiWalk) object(name string, o types.Object) {
	if _, ok := o.(*types.Const); ok {
		return // a constant's type is its own or basic
	}
	w.visit(name, o.Type())
}

// visit visits a type that is shown at a place.
func (w *apiWalk) visit(at string, t types.Type) {
	if w.seen[t] {
		return
	}
	switch t := t.(type) {
	case *types.Alias:
		w.visit(at, types.Unalias(t))
	case *types.Named:
		w.named(at, t)
	case *types.Pointer:
		w.visit(at, t.Elem())
	case *types.Slice:
		w.visit(at, t.Elem())
	case *types.Array:
		w.visit(at, t.Elem())
	case *types.Chan:
		w.visit(at, t.Elem())
	case *types.Map:
		w.visit(at, t.Key())
		w.visit(at, t.Elem())
	case *types.Tuple:
		for v := range t.Variables() {
			w.visit(at, v.Type())
		}
	case *types.Signature:
		w.visit(at, t.Params())
		w.visit(at, t.Results())
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				w.visit(at+"."+f.Name(), f.Type())
			}
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			if m.Exported() {
				w.visit(at+"."+m.Name(), m.Type())
			}
		}
		for e := range t.EmbeddedTypes() {
			w.visit(at, e)
		}
	case *types.TypeParam:
		w.seen[t] = true
		w.visit(at, t.Constraint())
	}
}

// named visits a declared type: its arguments, and, when it is the package's own,
// its exported fields and methods.
func (w *apiWalk) named(at string, t *types.Named) {
	w.seen[t] = true
	for a := range t.TypeArgs().Types() {
		w.visit(at, a)
	}
	declared := t.Obj().Pkg()
	switch {
	case declared == nil:
	case strings.HasPrefix(declared.Path(), "taskkit.dev/internal/"):
		w.found = append(w.found, at+" uses "+t.String())
	case declared == w.pkg:
		w.visit(at, t.Underlying())
		for m := range t.Methods() {
			if m.Exported() {
				w.visit(at+"."+m.Name(), m.Type())
			}
		}
	}
}
