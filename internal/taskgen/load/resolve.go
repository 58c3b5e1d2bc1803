package load

import (
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"

	"golang.org/x/tools/go/packages"

	"taskkit.dev/internal/taskgen/model"
)

// resolver turns types into the model, and keeps what is wrong with them.
type resolver struct {
	fset        *token.FileSet
	dir         string // positions are relative to it
	genPath     string // import path of the generated code
	types       map[string]*model.Type
	open        map[string]*model.Type    // types being resolved, to find recursion
	kinds       []typedKind               // of the executors without a mistake
	values      []value                   // of maps, checked later by mapValues
	constants   map[string]*types.Package // by directory; see enum
	reached     map[string]string         // by import path; see reaches
	docs        docs
	workspace   map[string]docs // of the modules of it that are loaded, by their paths
	diagnostics []model.Diagnostic
}

// Resolve returns the executors in packages, and all that is wrong with them.
func Resolve(pkgs []*packages.Package, fset *token.FileSet, dir, genPath string) ([]*model.Executor, []model.Diagnostic) {
	r := &resolver{fset: fset, dir: dir, genPath: genPath, types: map[string]*model.Type{}, open: map[string]*model.Type{}, constants: map[string]*types.Package{}, reached: map[string]string{}, docs: newDocs(dir)}
	r.workspace = map[string]docs{}
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		if m := p.Module; m != nil && m.Main && m.Dir != "" && r.workspace[m.Path].root == "" {
			r.workspace[m.Path] = newDocs(m.Dir)
		}
	})
	var found []*model.Executor
	for _, pkg := range pkgs {
		if model.Within(pkg.PkgPath, genPath) {
			continue // our own output
		}
		if len(pkg.Errors) > 0 && (concerns(pkg) || len(pkg.Syntax) == 0 && len(pkgs) == 1) {
			r.report(r.generatedImports(pkg)...)
			r.loadErrors(pkg)
			continue
		}
		candidates := r.candidates(pkg)
		if len(candidates) > 0 {
			r.report(r.generatedImports(pkg)...)
		}
		var here []*model.Executor
		for _, c := range candidates {
			if x := r.executor(c); x != nil {
				here = append(here, x)
			}
		}
		if len(here) > 0 {
			r.upgrades(pkg, here)
		}
		found = append(found, here...)
	}
	r.kindFields()
	if len(r.diagnostics) == 0 { // or kinds that could not be read would seem to be left out
		r.leftOut(pkgs, found)
	}
	return found, r.diagnostics
}

// report keeps problems.
func (r *resolver) report(problems ...problem) {
	for _, p := range problems {
		r.diagnostics = append(r.diagnostics, model.Diagnostic{Pos: r.position(p.pos), Message: p.message, Remedy: p.remedy})
	}
}

// position returns a position as people are shown it.
func (r *resolver) position(p token.Pos) token.Position {
	pos := r.fset.Position(p)
	pos.Filename = r.relative(pos.Filename)
	return pos
}

// relative returns a file's name as seen from dir.
func (r *resolver) relative(file string) string {
	if rel, err := filepath.Rel(r.dir, file); err == nil && file != "" {
		return filepath.ToSlash(rel)
	}
	return file
}

// ownsExecute reports whether a type declares a method like that of an
// executor. A promoted one does not count: wrappers in tests have it.
func ownsExecute(name *types.TypeName) bool {
	named, ok := name.Type().(*types.Named)
	if !ok || types.IsInterface(named) || name.IsAlias() {
		return false
	}
	for m := range named.Methods() {
		if m.Name() == "Execute" {
			_, ok := batchOf(m.Signature())
			return ok
		}
	}
	return false
}

// executor resolves a candidate. It returns nil when something is wrong.
func (r *resolver) executor(c candidate) *model.Executor {
	before := len(r.diagnostics)
	pos := c.name.Pos()
	switch {
	case c.directive == nil && c.told: // that may be its directive
		return nil
	case c.directive == nil:
		r.report(problem{
			pos, fmt.Sprintf("%s has an Execute method but no %sexecutor directive", c.name.Name(), model.Prefix),
			"add " + model.Prefix + "executor NAME to its doc comment",
		})
		return nil
	}
	named, ok := c.name.Type().(*types.Named)
	if !ok || c.name.IsAlias() || types.IsInterface(named) {
		r.report(problem{
			pos, c.name.Name() + " cannot be an executor",
			"put the directive on a struct or another type that is declared with its methods",
		})
		return nil
	}
	if named.TypeParams().Len() > 0 {
		r.report(problem{
			pos, c.name.Name() + " is generic, but a kind needs a single type",
			"declare a type for each kind, and embed the generic one",
		})
		return nil
	}
	r.nameable(named, pos, "the executor")
	batch, ok := r.execute(named, pos)
	if !ok {
		return nil
	}
	x := &model.Executor{
		Kind: c.directive.kind, Aliases: c.directive.aliases, Batch: c.directive.batch, Queue: c.directive.queue,
		MaxBatch: c.directive.max, SkipPoison: c.directive.skipPoison, Preview: c.directive.preview, Ledger: c.directive.ledger, Children: c.directive.children, Defer: c.directive.deferDelays, Touches: c.directive.touches, StopAfter: c.directive.stopAfter, Notify: c.directive.notify,
		Parallel: c.directive.parallel, LatestStart: c.directive.latestStart, TimeLimit: c.directive.timeLimit,
		Reserved: c.directive.reserved, Retired: c.directive.retired,
		Name: c.name.Name(), Doc: r.text(c.name), Dir: strings.TrimPrefix(c.pkg.PkgPath, modulePath(c.pkg)+"/"),
		Type: mark(named), Pos: r.position(c.directive.pos),
	}
	x.Source = x.Dir + "." + x.Name
	for _, a := range c.directive.allowed {
		x.Allowed = append(x.Allowed, model.Allowed{Path: a.path, Rule: a.rule, From: a.from, Reason: a.reason, Pos: r.position(a.pos)})
	}
	x.Strategy = r.declared(c.pkg.Types, c.directive.strategy, "strategy", "Strategy")
	x.Policies = r.declared(c.pkg.Types, c.directive.policies, "policies", "Policies")
	x.Spec = r.root(batch.At(0), pos, "Spec")
	x.State = r.root(batch.At(1), pos, "State")
	r.validate(batch.At(0), pos)
	if x.Spec != nil && c.directive.targets != "" {
		x.Targets = r.targets(x.Spec, c.directive)
		r.ledger(x.Targets, c.directive)
	}
	r.findsTargets(x, named, batch)
	r.children(x, named, batch, c.directive)
	r.checks(x, named, batch)
	kind := typedKind{x.Kind, named, batch.At(0), batch.At(1), noResult}
	if report := method(named, "Report"); report != nil {
		sig := report.Signature()
		got, ok := batchOf(sig)
		switch {
		case !ok || !identical(got, batch) || sig.Results().Len() != 2 || !isError(sig.Results().At(1).Type()):
			r.report(problem{
				report.Pos(), "the signature of Report does not match taskkit.Reporter, so the runtime would not call it",
				"change it to func(context.Context, *taskkit.Batch[Spec, State]) (Result, error) with the types of Execute",
			})
		default:
			at := location{pos: report.Pos(), path: "Result"}
			kind.result = sig.Results().At(0).Type()
			if result := kind.result; r.noCircle(result, at) {
				x.Result = r.storable(r.typ(result, at), result, at)
			}
		}
	}
	if abort := method(named, "Abort"); abort != nil {
		got, ok := batchOf(abort.Signature())
		if !ok || !identical(got, batch) || abort.Signature().Results().Len() != 1 || !isError(abort.Signature().Results().At(0).Type()) {
			r.report(problem{
				abort.Pos(), "the signature of Abort does not match taskkit.Aborter, so the runtime would not call it",
				"change it to func(context.Context, *taskkit.Batch[Spec, State]) error with the types of Execute",
			})
		}
	}
	r.mapValues()
	if len(r.diagnostics) > before {
		return nil
	}
	r.kinds = append(r.kinds, kind)
	return x
}

// modulePath returns the path of a package's module, or its own.
func modulePath(pkg *packages.Package) string {
	if pkg.Module != nil {
		return pkg.Module.Path
	}
	return pkg.PkgPath
}

// execute finds the Execute method and returns its type arguments.
func (r *resolver) execute(named *types.Named, pos token.Pos) (*types.TypeList, bool) {
	const remedy = "declare Execute(context.Context, *taskkit.Batch[Spec, State]) (taskkit.Next, error)"
	m := method(named, "Execute")
	if m == nil {
		r.report(problem{pos, named.Obj().Name() + " has a directive but no Execute method", remedy})
		return nil, false
	}
	batch, ok := batchOf(m.Signature())
	results := m.Signature().Results()
	if !ok || results.Len() != 2 || !isRuntime(results.At(0).Type(), "Next") || !isError(results.At(1).Type()) {
		r.report(problem{m.Pos(), "the signature of Execute does not match taskkit.Executor", remedy})
		return nil, false
	}
	return batch, true
}

// Root resolves a Spec or State, which is an object in the database.
func (r *resolver) root(t types.Type, pos token.Pos, what string) *model.Type {
	at := location{pos: pos, path: what}
	if named, ok := types.Unalias(t).(*types.Named); ok && r.local(named, pos) {
		at.pos = named.Obj().Pos()
	}
	if !r.noCircle(t, at) {
		return nil
	}
	got := r.typ(t, at)
	if got != nil && got.Form == model.Pointer && got.Elem != nil && got.Elem.Form == model.Struct {
		r.refuse(at, "remove the pointer", "%s is a pointer, and not a struct", plain(t))
		return nil
	}
	if got != nil && got.Form != model.Struct {
		r.refuse(at, "wrap it in a struct with one field", "%s is not a struct", plain(t))
		return nil
	}
	return r.storable(got, t, at)
}

// storable returns a root, or nil after it has refused one of which no value, or none with all
// its parts, can be stored.
func (r *resolver) storable(got *model.Type, t types.Type, at location) *model.Type {
	switch {
	case got == nil:
		return nil
	case !fits(got):
		r.refuse(at, "use slices, or shorter arrays", "%s takes more than %d MiB as JSON, the most that is stored", plain(t), maxStored>>20)
		return nil
	case depth(got, map[string]int{}) > maxDepth:
		r.refuse(at, "store less deep structs and lists", "%s has more than %d levels of structs, lists and maps, the most that are stored", plain(t), maxDepth)
		return nil
	default:
		return got
	}
}

// noCircle refuses a root in which a type contains itself through a generic alias.
func (r *resolver) noCircle(t types.Type, at location) bool {
	alias := aliasCircle(t)
	return alias == nil || r.refuse(at, "write the type itself in place of the alias",
		"a type in it contains itself through the generic alias %s, and the Go compiler cannot import such a type", plain(alias))
}

// validate checks the signature of the Spec's Validate method, if there is one.
// Submit finds the method by its signature and would ignore another one.
func (r *resolver) validate(spec types.Type, pos token.Pos) {
	m := method(spec, "Validate")
	if m == nil || shape(m.Signature()) == "func() error" {
		return
	}
	if r.inTree(m.Pos()) {
		pos = m.Pos()
	}
	r.report(problem{
		pos, fmt.Sprintf("Validate of %s has the signature %s, so Submit would not call it", plain(spec), shape(m.Signature())),
		"change it to func() error, or give the method another name",
	})
}

// local reports whether a type is declared in the package that a position is
// in, so that the position of its declaration is one the user can go to.
func (r *resolver) local(named *types.Named, pos token.Pos) bool {
	at := r.fset.Position(named.Obj().Pos()).Filename
	return at != "" && filepath.Dir(at) == filepath.Dir(r.fset.Position(pos).Filename)
}

// method returns a method of T or *T, promoted ones included.
func method(t types.Type, name string) *types.Func {
	set := types.NewMethodSet(types.NewPointer(t))
	for sel := range set.Methods() {
		if f, ok := sel.Obj().(*types.Func); ok && f.Name() == name {
			return f
		}
	}
	return nil
}

// batchOf returns S and T of a signature that begins with
// (context.Context, *taskkit.Batch[S, T]) and takes nothing else.
func batchOf(sig *types.Signature) (*types.TypeList, bool) {
	params := sig.Params()
	if params.Len() != 2 || types.Unalias(params.At(0).Type()).String() != "context.Context" {
		return nil, false
	}
	ptr, ok := types.Unalias(params.At(1).Type()).(*types.Pointer)
	if !ok || !isRuntime(ptr.Elem(), "Batch") {
		return nil, false
	}
	named, ok := types.Unalias(ptr.Elem()).(*types.Named)
	if !ok || named.TypeArgs().Len() != 2 {
		return nil, false
	}
	return named.TypeArgs(), true
}

// isRuntime reports whether t is the type of that name in package taskkit.
func isRuntime(t types.Type, name string) bool { return isDeclared(t, model.RuntimePath, name) }

// isDeclared reports whether t is the type of that name in the package of that path.
func isDeclared(t types.Type, path, name string) bool {
	named, ok := types.Unalias(t).(*types.Named)
	return ok && named.Obj().Name() == name && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == path
}

// isError reports whether t is the predeclared error.
func isError(t types.Type) bool {
	return types.Identical(t, types.Universe.Lookup("error").Type())
}

// identical reports whether two lists hold the same types.
func identical(a, b *types.TypeList) bool {
	return types.Identical(a.At(0), b.At(0)) && types.Identical(a.At(1), b.At(1))
}
