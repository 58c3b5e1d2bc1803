package load

import (
	"fmt"
	"go/token"
	"go/types"

	"taskkit.dev/internal/taskgen/model"
)

// policyPath is the import path of the package with the types of declared values.
const policyPath = model.RuntimePath + "/taskpolicy"

// namedValue is a word of a directive that names a value which is declared in the package of its executor.
type namedValue struct {
	pos  token.Pos
	name string // "": the word is not given
}

// declared returns a value as Go source with marks; "" if the word is not given, or after it has refused it. The value is a
// variable of a type of package taskpolicy, or a function without parameters that returns one.
func (r *resolver) declared(pkg *types.Package, g namedValue, word, typ string) string {
	if g.name == "" {
		return ""
	}
	refuse := func(format string, args ...any) string {
		r.report(problem{
			g.pos, fmt.Sprintf("%s=%s ", word, g.name) + fmt.Sprintf(format, args...),
			fmt.Sprintf("name a variable of type taskpolicy.%s, or a function that returns one, of the package of the executor", typ),
		})
		return ""
	}
	source := "«" + pkg.Path() + "|" + pkg.Name() + "»" + "." + g.name
	switch o := pkg.Scope().Lookup(g.name).(type) {
	case nil:
		return refuse("is not declared in package %s", pkg.Name())
	case *types.Var:
		if !isDeclared(o.Type(), policyPath, typ) {
			return refuse("is a variable of type %s", plain(o.Type()))
		}
	case *types.Func:
		sig := o.Signature()
		if sig.Params().Len() > 0 || sig.TypeParams().Len() > 0 || sig.Results().Len() != 1 || !isDeclared(sig.Results().At(0).Type(), policyPath, typ) {
			return refuse("is a function of type %s", plain(sig))
		}
		source += "()"
	default:
		return refuse("is neither a variable nor a function")
	}
	switch {
	case !token.IsExported(g.name):
		return refuse("is not exported, so generated code cannot name it")
	case pkg.Name() == "main":
		return refuse("is declared in a program, so generated code cannot name it")
	case !visible(pkg.Path(), r.genPath):
		return refuse("is declared below internal, so generated code cannot name it")
	}
	return source
}
