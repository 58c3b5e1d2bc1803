package taskgen

import (
	"fmt"
	"go/token"
	"go/types"
	"strconv"
	"strings"
	"unicode"
)

// place is where a type is used.
type place struct {
	pos  token.Pos
	path string // for people: Spec.Filter.Since
}

// refuse reports that the type at a place cannot be stored. It returns false,
// for the caller to return.
func (r *resolver) refuse(p place, remedy, format string, args ...any) bool {
	r.report(problem{p.pos, p.path + ": " + fmt.Sprintf(format, args...), remedy})
	return false
}

// mark writes a type as source in which «path|name» stands for a package.
func mark(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string { return "«" + p.Path() + "|" + p.Name() + "»" })
}

// plain writes a type for people.
func plain(t types.Type) string {
	return types.TypeString(t, (*types.Package).Name)
}

// typ resolves a type. It returns nil after it has reported what is wrong.
func (r *resolver) typ(t types.Type, p place) *Type {
	if alias, ok := t.(*types.Alias); ok {
		if remedy := r.unnameable(alias.Obj()); remedy != "" {
			r.refuse(p, remedy, "generated code cannot name type %s", plain(alias))
			return nil
		}
		return r.typ(alias.Rhs(), p)
	}
	source := mark(t)
	if known, ok := r.types[source]; ok {
		return known
	}
	named, _ := t.(*types.Named)
	got := &Type{Source: source, Title: title(t), Kind: kindOf(t), Named: named != nil}
	if named != nil {
		if !r.nameable(named, p.pos, p.path) {
			return nil
		}
		if around := r.open[source]; around != nil {
			around.Recursive = true
			return around
		}
		r.open[source] = got
		defer delete(r.open, source)
		got.Doc = r.text(named.Obj())
	}
	if !r.form(got, t, p) {
		return nil
	}
	r.types[source] = got
	return got
}

// form fills in how a type is written.
func (r *resolver) form(got *Type, t types.Type, p place) bool {
	switch plainPath(t) {
	case "time.Time":
		got.Form = Time
		return true
	case "github.com/google/uuid.UUID":
		got.Form = UUID
		return true
	case "encoding/json.RawMessage":
		got.Form = Raw
		return true
	case "encoding/json.Number":
		return r.refuse(p, "use string, an integer or a float", "json.Number is a number here and a string there")
	}
	if _, pointer := t.(*types.Pointer); !pointer && !types.IsInterface(t) {
		has, ok := r.own(got, t, p)
		if has || !ok {
			return ok
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		if !r.basic(got, u, p) {
			return false
		}
		if got.Named && (got.Form == String || got.Form == Int || got.Form == Uint) {
			var ok bool
			got.Enum, ok = r.enum(t, p)
			return ok
		}
		return true
	case *types.Slice:
		if b, ok := u.Elem().Underlying().(*types.Basic); ok && b.Kind() == types.Byte {
			if _, named := types.Unalias(u.Elem()).(*types.Named); named {
				return r.refuse(p, "use []byte", "%s is a list of a type of bytes", plain(t))
			}
			got.Form = Bytes
			return true
		}
		p.path += "[]"
		got.Form, got.Elem = Slice, r.typ(u.Elem(), p)
	case *types.Array:
		p.path += "[]"
		got.Form, got.Len, got.Elem = Array, u.Len(), r.typ(u.Elem(), p)
	case *types.Pointer:
		got.Form, got.Elem = Pointer, r.typ(u.Elem(), p)
		if got.Elem != nil && (got.Elem.Form == Pointer || got.Elem.Form == Slice || got.Elem.Form == Map || got.Elem.Form == Bytes) {
			return r.refuse(p, "drop the pointer", "%s has two ways to be null", plain(t))
		}
	case *types.Map:
		if !r.mapKey(got, u.Key(), p) {
			return false
		}
		p.path += "[]"
		got.Form, got.Elem = Map, r.typ(u.Elem(), p)
		if got.Elem != nil {
			r.values = append(r.values, value{got.Elem, p})
		}
	case *types.Struct:
		got.Form = Struct
		return r.structure(got, t, u, p)
	case *types.Interface:
		return r.refuse(p, "use a concrete type, or json.RawMessage", "%s is an interface, and its type would be lost", plain(t))
	case *types.Chan:
		return r.refuse(p, "leave it out", "a channel cannot be stored as JSON")
	case *types.Signature:
		return r.refuse(p, "leave it out, or name what to do by a string", "a func cannot be stored as JSON")
	default:
		return r.refuse(p, "use another type", "%s cannot be stored as JSON", plain(t))
	}
	return got.Elem != nil
}

// basic resolves strings, booleans and numbers.
func (r *resolver) basic(got *Type, b *types.Basic, p place) bool {
	switch info := b.Info(); {
	case b.Kind() == types.Uintptr || info&types.IsComplex != 0 || b.Kind() == types.UnsafePointer:
		return r.refuse(p, "use a number or a string", "%s cannot be stored as JSON", b.Name())
	case info&types.IsString != 0:
		got.Form = String
	case info&types.IsBoolean != 0:
		got.Form = Bool
	case info&types.IsUnsigned != 0:
		got.Form = Uint
	case info&types.IsInteger != 0:
		got.Form = Int
	case info&types.IsFloat != 0:
		got.Form = Float
	default:
		return r.refuse(p, "use another type", "%s cannot be stored as JSON", b.Name())
	}
	digits := strings.TrimLeft(types.Typ[b.Kind()].Name(), "abcdefghijklmnopqrstuvwxyz")
	got.Bits, _ = strconv.Atoi(digits)
	return true
}

// mapKey resolves the key of a map: a string, or a type that writes itself as
// one.
func (r *resolver) mapKey(got *Type, k types.Type, p place) bool {
	const remedy = "use a string, an integer, or a type with MarshalText and UnmarshalText"
	p.path += "[key]"
	_, _, texts, _ := methods(k)
	b, basic := k.Underlying().(*types.Basic)
	isString := basic && b.Info()&types.IsString != 0
	switch {
	case isString && texts != 0:
		return r.refuse(p, "drop the methods, or use string", "encoding/json writes %s one way and reads it another", plain(k))
	case isString:
		got.Key = r.typ(k, p)
	case texts == 2 && lookup(k, "MarshalText") != nil:
		if got.Key = r.typ(k, p); got.Key != nil {
			key := *got.Key
			key.Form = Text
			got.Key = &key
		}
	case basic && b.Info()&types.IsInteger != 0 && b.Kind() != types.Uintptr:
		got.Key = r.typ(k, p)
	default:
		return r.refuse(p, remedy, "%s cannot be the name of a member", plain(k))
	}
	return got.Key != nil
}

// own finds a type's own marshalling methods.
func (r *resolver) own(got *Type, t types.Type, p place) (has, ok bool) {
	jsons, jsonHalf, texts, textHalf := methods(t)
	var write string
	switch {
	case jsons == 1:
		return true, r.refuse(p, "write the other one too", "%s has %s alone", plain(t), jsonHalf)
	case jsons == 2:
		got.Form, write = JSON, "MarshalJSON"
	case texts == 1:
		return true, r.refuse(p, "write the other one too", "%s has %s alone", plain(t), textHalf)
	case texts == 2:
		got.Form, write = Text, "MarshalText"
	default:
		return false, true
	}
	if lookup(t, write) == nil {
		got.OnPointer = write
	}
	return true, true
}

// value is the type of the values of a map.
type value struct {
	elem *Type
	at   place
}

// mapValues refuses what encoding/json would write in another way in the value
// of a map, which has no address: it does not call methods of pointers there.
// It waits until all types are resolved, since one may hold itself.
func (r *resolver) mapValues() {
	for _, v := range r.values {
		r.mapValue(v.elem, v.at.path, r.position(v.at.pos))
	}
	r.values = nil
}

// mapValue looks at a type and at what it holds without a pointer, slice or map
// between.
func (r *resolver) mapValue(t *Type, path string, pos token.Position) {
	switch {
	case t.OnPointer != "":
		r.diagnostics = append(r.diagnostics, Diagnostic{
			Pos:     pos,
			Message: fmt.Sprintf("%s: %s has %s on the pointer, which encoding/json does not call for the value of a map", path, unmarked(t.Source), t.OnPointer),
			Remedy:  "declare " + t.OnPointer + " on the value",
		})
	case t.Form == Array:
		r.mapValue(t.Elem, path+"[]", pos)
	case t.Form == Struct:
		for _, f := range t.Fields {
			if len(f.Through) == 0 {
				r.mapValue(f.Type, path+"."+f.Go, f.Pos)
			}
		}
	}
}

// methods counts the marshalling methods that a *T has, and names one.
func methods(t types.Type) (jsons int, jsonHalf string, texts int, textHalf string) {
	for _, name := range []string{"MarshalJSON", "UnmarshalJSON"} {
		if lookup(types.NewPointer(t), name) != nil {
			jsons, jsonHalf = jsons+1, name
		}
	}
	for _, name := range []string{"MarshalText", "UnmarshalText"} {
		if lookup(types.NewPointer(t), name) != nil {
			texts, textHalf = texts+1, name
		}
	}
	return jsons, jsonHalf, texts, textHalf
}

// lookup returns an exported method in the method set of exactly t, when it has
// the shape that the standard library wants of its name.
func lookup(t types.Type, name string) *types.Func {
	sel := types.NewMethodSet(t).Lookup(nil, name)
	if sel == nil {
		return nil
	}
	f, ok := sel.Obj().(*types.Func)
	if !ok {
		return nil
	}
	want := map[string]string{
		"MarshalJSON": "func() ([]byte, error)", "UnmarshalJSON": "func([]byte) error",
		"MarshalText": "func() ([]byte, error)", "UnmarshalText": "func([]byte) error",
		"IsZero": "func() bool",
	}[name]
	if shape(f.Signature()) != want {
		return nil
	}
	return f
}

// shape writes a signature without the names of its parameters.
func shape(sig *types.Signature) string {
	list := func(t *types.Tuple) string {
		var parts []string
		for v := range t.Variables() {
			parts = append(parts, v.Type().String())
		}
		return strings.Join(parts, ", ")
	}
	results := list(sig.Results())
	if sig.Results().Len() > 1 {
		results = "(" + results + ")"
	}
	return "func(" + list(sig.Params()) + ") " + results
}

// nameable reports whether generated code can name a type, and what it is an
// instance with, which need not be stored.
func (r *resolver) nameable(named *types.Named, pos token.Pos, what string) bool {
	p := place{pos: pos, path: what}
	if remedy := r.unnameable(named.Obj()); remedy != "" {
		return r.refuse(p, remedy, "generated code cannot name type %s", plain(named))
	}
	for arg := range named.TypeArgs().Types() {
		if !r.writable(arg) {
			return r.refuse(p, "use types that are exported, and no functions",
				"generated code cannot name %s, an argument of type %s", plain(arg), plain(named))
		}
	}
	return true
}

// unnameable returns what to do about a type that generated code cannot name,
// or "".
func (r *resolver) unnameable(obj *types.TypeName) string {
	switch pkg := obj.Pkg(); {
	case pkg == nil:
		return ""
	case obj.Parent() != nil && obj.Parent() != pkg.Scope():
		return "declare it outside the function"
	case !obj.Exported():
		return "export it"
	case pkg.Name() == "main":
		return "move it out of the program, into a package that can be imported"
	case !visible(pkg.Path(), r.genPath):
		return "move it out of internal, or generate with -o below the parent of internal"
	default:
		return ""
	}
}

// visible applies Go's rule for internal packages.
func visible(path, from string) bool {
	at := strings.LastIndex("/"+path+"/", "/internal/")
	if at <= 0 {
		return at < 0
	}
	return within(from, path[:at-1])
}

// plainPath returns the full path and name of a declared type, or "".
func plainPath(t types.Type) string {
	named, ok := t.(*types.Named)
	if !ok || named.Obj().Pkg() == nil || named.TypeArgs().Len() > 0 {
		return ""
	}
	return named.Obj().Pkg().Path() + "." + named.Obj().Name()
}

// title names a type for the names of functions.
func title(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Named:
		var args []string
		for arg := range t.TypeArgs().Types() {
			args = append(args, title(arg))
		}
		if len(args) == 0 {
			return upper(t.Obj().Name())
		}
		return upper(t.Obj().Name()) + "Of" + strings.Join(args, "And")
	case *types.Basic:
		return upper(t.Name())
	case *types.Slice:
		return "SliceOf" + title(t.Elem())
	case *types.Array:
		return fmt.Sprintf("Array%dOf%s", t.Len(), title(t.Elem()))
	case *types.Pointer:
		return "PointerTo" + title(t.Elem())
	case *types.Map:
		return "MapOf" + title(t.Key()) + "To" + title(t.Elem())
	case *types.Struct:
		if t.NumFields() == 0 {
			return "Empty"
		}
	}
	return "Anonymous"
}

// upper returns a name with its first letter in upper case.
func upper(s string) string {
	for i, c := range s {
		return string(unicode.ToUpper(c)) + s[i+len(string(c)):]
	}
	return s
}
