package load

import (
	"fmt"
	"go/token"
	"go/types"
	"reflect"
	"strconv"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// Place is where a type is used.
type location struct {
	pos  token.Pos
	path string // for people: Spec.Filter.Since
}

// refuse reports that the type at a location cannot be stored. It returns false,
// for the caller to return.
func (r *resolver) refuse(p location, remedy, format string, args ...any) bool {
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
func (r *resolver) typ(t types.Type, p location) *model.Type {
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
	got := &model.Type{Source: source, Title: title(t), Kind: kindOf(t), Named: named != nil}
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
func (r *resolver) form(got *model.Type, t types.Type, p location) bool {
	switch plainPath(t) {
	case "time.Time":
		got.Form = model.Time
		return true
	case "github.com/google/uuid.UUID":
		got.Form = model.UUID
		return true
	case "encoding/json.RawMessage":
		got.Form = model.Raw
		return true
	case "encoding/json.Number":
		return r.refuse(p, "use string, an integer or a float", "json.Number can be a number or a string in JSON")
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
		if got.Named && (got.Form == model.String || got.Form == model.Int || got.Form == model.Uint) {
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
			got.Form = model.Bytes
			return true
		}
		p.path += "[]"
		got.Form = model.Slice // first, for a type that contains itself
		got.Elem = r.typ(u.Elem(), p)
	case *types.Array:
		p.path += "[]"
		got.Form, got.Len, got.Elem = model.Array, u.Len(), r.typ(u.Elem(), p)
		if got.Elem != nil && !fits(got) {
			return r.refuse(p, "use a slice, or a shorter array", "%s takes more than %d MiB as JSON, the most that is stored", plain(t), maxStored>>20)
		}
	case *types.Pointer:
		got.Form = model.Pointer
		got.Elem = r.typ(u.Elem(), p)
		if got.Elem != nil && (got.Elem.Form == model.Pointer || got.Elem.Form == model.Slice || got.Elem.Form == model.Map || got.Elem.Form == model.Bytes) {
			return r.refuse(p, "remove the pointer", "both the pointer and the value of %s can be null", plain(t))
		}
	case *types.Map:
		if !r.mapKey(got, u.Key(), p) {
			return false
		}
		p.path += "[]"
		got.Form = model.Map
		got.Elem = r.typ(u.Elem(), p)
		if got.Elem != nil {
			r.values = append(r.values, value{got.Elem, p})
		}
	case *types.Struct:
		got.Form = model.Struct
		return r.structure(got, t, u, p)
	case *types.Interface:
		return r.refuse(p, "use a concrete type, or json.RawMessage", "%s is an interface, and JSON does not contain the type of its value", plain(t))
	case *types.Chan:
		return r.refuse(p, "remove it", "a channel cannot be stored as JSON")
	case *types.Signature:
		return r.refuse(p, "remove it, or use a string that selects the function", "a func cannot be stored as JSON")
	default:
		return r.refuse(p, "use another type", "%s cannot be stored as JSON", plain(t))
	}
	return got.Elem != nil
}

// basic resolves strings, booleans and numbers.
func (r *resolver) basic(got *model.Type, b *types.Basic, p location) bool {
	switch info := b.Info(); {
	case b.Kind() == types.Invalid:
		return r.refuse(p, "correct the errors in the package that declares it", "the type does not compile")
	case b.Kind() == types.Uintptr || info&types.IsComplex != 0 || b.Kind() == types.UnsafePointer:
		return r.refuse(p, "use a number or a string", "%s cannot be stored as JSON", b.Name())
	case info&types.IsString != 0:
		got.Form = model.String
	case info&types.IsBoolean != 0:
		got.Form = model.Bool
	case info&types.IsUnsigned != 0:
		got.Form = model.Uint
	case info&types.IsInteger != 0:
		got.Form = model.Int
	case info&types.IsFloat != 0:
		got.Form = model.Float
	default:
		return r.refuse(p, "use another type", "%s cannot be stored as JSON", b.Name())
	}
	digits := strings.TrimLeft(types.Typ[b.Kind()].Name(), "abcdefghijklmnopqrstuvwxyz")
	got.Bits, _ = strconv.Atoi(digits)
	return true
}

// mapKey resolves the key of a map: a string, or a type that writes itself as
// one.
func (r *resolver) mapKey(got *model.Type, k types.Type, p location) bool {
	const remedy = "use a string, an integer, or a type with MarshalText and UnmarshalText"
	p.path += "[key]"
	_, _, textCount, _ := methods(k)
	b, basic := k.Underlying().(*types.Basic)
	isString := basic && b.Info()&types.IsString != 0
	switch {
	case isString && textCount != 0:
		return r.refuse(p, "remove the methods, or use string", "encoding/json writes %s in one form and reads it in another", plain(k))
	case isString:
		got.Key = r.basicKey(k, b, p)
	case textCount == 2 && lookup(k, "MarshalText") != nil:
		if got.Key = r.typ(k, p); got.Key != nil {
			key := *got.Key
			key.Form = model.Text
			got.Key = &key
		}
	case textCount == 2 && basic:
		return r.refuse(p, "declare MarshalText on the value", "%s has MarshalText on the pointer, which encoding/json does not call for the key of a map", plain(k))
	case basic && b.Info()&types.IsInteger != 0 && b.Kind() != types.Uintptr && textCount == 0:
		got.Key = r.basicKey(k, b, p)
	default:
		return r.refuse(p, remedy, "%s cannot be the name of a member", plain(k))
	}
	return got.Key != nil
}

// basicKey resolves a key that is written as the string or integer that it is:
// encoding/json does not call MarshalJSON for a key.
func (r *resolver) basicKey(k types.Type, b *types.Basic, p location) *model.Type {
	t := r.typ(k, p)
	if t == nil || t.Form != model.JSON {
		return t
	}
	key := *t
	key.OnPointer = ""
	if !r.basic(&key, b, p) {
		return nil
	}
	return &key
}

// own finds a type's own marshalling methods.
func (r *resolver) own(got *model.Type, t types.Type, p location) (has, ok bool) {
	jsonCount, jsonHalf, textCount, textHalf := methods(t)
	var write string
	switch {
	case jsonCount == 1:
		return true, r.refuse(p, "add the other method of the pair", "%s has only %s", plain(t), jsonHalf)
	case jsonCount == 2:
		got.Form, write = model.JSON, "MarshalJSON"
	case textCount == 1:
		return true, r.refuse(p, "add the other method of the pair", "%s has only %s", plain(t), textHalf)
	case textCount == 2:
		got.Form, write = model.Text, "MarshalText"
	default:
		return false, true
	}
	if lookup(t, write) == nil {
		got.OnPointer = write
	}
	if s, isStruct := t.Underlying().(*types.Struct); isStruct && s.NumFields() > 1 {
		if sel := types.NewMethodSet(types.NewPointer(t)).Lookup(nil, write); len(sel.Index()) > 1 {
			return true, r.refuse(p, "declare "+write+" on the type itself, or give the embedded field a name and a json tag",
				"%s of %s is that of the embedded %s, so its other fields would be lost", write, plain(t), s.Field(sel.Index()[0]).Name())
		}
	}
	return true, true
}

// value is the type of the values of a map.
type value struct {
	elem *model.Type
	at   location
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

// mapValue checks a type and what it contains without a pointer, slice or map in
// between.
func (r *resolver) mapValue(t *model.Type, path string, pos token.Position) {
	switch {
	case t.OnPointer != "":
		r.diagnostics = append(r.diagnostics, model.Diagnostic{
			Pos:     pos,
			Message: fmt.Sprintf("%s: %s has %s on the pointer, which encoding/json does not call for the value of a map", path, model.Unmarked(t.Source), t.OnPointer),
			Remedy:  "declare " + t.OnPointer + " on the value",
		})
	case t.Form == model.Array:
		r.mapValue(t.Elem, path+"[]", pos)
	case t.Form == model.Struct:
		for _, f := range t.Fields {
			if len(f.Through) == 0 {
				r.mapValue(f.Type, path+"."+f.Go, f.Pos)
			}
		}
	}
}

// methods counts the marshalling methods that a *T has, and names one.
func methods(t types.Type) (jsonCount int, jsonHalf string, textCount int, textHalf string) {
	for _, name := range []string{"MarshalJSON", "UnmarshalJSON"} {
		if lookup(types.NewPointer(t), name) != nil {
			jsonCount, jsonHalf = jsonCount+1, name
		}
	}
	for _, name := range []string{"MarshalText", "UnmarshalText"} {
		if lookup(types.NewPointer(t), name) != nil {
			textCount, textHalf = textCount+1, name
		}
	}
	return jsonCount, jsonHalf, textCount, textHalf
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
	p := location{pos: pos, path: what}
	if remedy := r.unnameable(named.Obj()); remedy != "" {
		return r.refuse(p, remedy, "generated code cannot name type %s", plain(named))
	}
	for arg := range named.TypeArgs().Types() {
		if !r.writable(arg) {
			return r.refuse(p, "use exported types, and no functions",
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
	return model.Within(from, path[:at-1])
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
			return model.Upper(t.Obj().Name())
		}
		return model.Upper(t.Obj().Name()) + "Of" + strings.Join(args, "And")
	case *types.Basic:
		return model.Upper(t.Name())
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

// kindOf returns what validator takes a value of a type for.
func kindOf(t types.Type) reflect.Kind {
	for _, recv := range []types.Type{t, types.NewPointer(t)} {
		if types.NewMethodSet(recv).Lookup(nil, "ValidatorValue") != nil {
			return reflect.Invalid
		}
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		for kind, like := range model.KindTypes {
			if like.String() == types.Typ[u.Kind()].Name() {
				return kind
			}
		}
		return reflect.Invalid
	case *types.Slice:
		return reflect.Slice
	case *types.Array:
		return reflect.Array
	case *types.Map:
		return reflect.Map
	case *types.Pointer:
		return reflect.Pointer
	case *types.Struct:
		return reflect.Struct
	default:
		return reflect.Invalid
	}
}
