package load

import (
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// jsonName is what a field may be called in JSON: nothing that needs escaping.
var jsonName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// structure resolves the fields of a struct.
func (r *resolver) structure(got *model.Type, t types.Type, s *types.Struct, p location) bool {
	locked := false
	for i := range s.NumFields() {
		v := s.Field(i)
		_, stored := reflect.StructTag(s.Tag(i)).Lookup("json")
		if !stored || reflect.StructTag(s.Tag(i)).Get("json") == "-" {
			if lock := lockIn(v.Type()); lock != "" {
				locked = !r.refuse(location{v.Pos(), p.path + "." + v.Name()}, "keep it in the executor, or in a variable of Execute",
					"it holds a %s, which must not be copied, and a spec and a state are", lock)
			}
			got.Named = got.Named && r.writable(v.Type()) // what cannot be written down cannot be asserted
		}
		if _, problem := tagKeys(s.Tag(i)); problem != "" {
			got.Named = false // go vet would find it in the assertion
		}
		if !v.Exported() {
			got.Named = false // another package cannot declare a field of that name
		}
		got.Declared = append(got.Declared, model.Declared{Name: v.Name(), Source: mark(v.Type()), Tag: s.Tag(i), Embedded: v.Embedded()})
	}
	members, ok := r.members(s, p)
	ok = ok && !locked
	byFold := map[string]string{}
	foreign := false
	for _, m := range members {
		if !r.tag(m.tag, m.v.Pos(), m.at) {
			ok = false
			continue
		}
		if problem := untagged(m); problem != "" && !r.changeable(m.v.Pos()) {
			if ok = false; !foreign { // one suffices: the type cannot be used as it is
				foreign = true
				r.refuse(m.at, "store a struct of your own with the fields that you need, or a type of your own with MarshalJSON and UnmarshalJSON",
					"%s, and nothing can be changed in a type of another module", problem)
			}
			continue
		}
		f, stored, good := r.field(m)
		if !good {
			ok = false
			continue
		}
		if !stored {
			continue
		}
		if m.depth > 0 && !reached(t, m) {
			ok = r.refuse(m.at, "give one of the two another name in Go", "%s is hidden by another field in Go, but not in JSON", m.v.Name())
		}
		fold := strings.ToLower(f.JSON)
		if other, taken := byFold[fold]; taken {
			ok = r.refuse(m.at, "give one of them another name", "json name %q equals that of %s, or differs from it only in case", f.JSON, other)
		}
		byFold[fold] = m.v.Name()
		got.Fields = append(got.Fields, f)
	}
	return ok
}

// lockIn returns the type of the lock that a value holds, such as sync.Mutex, or "". It is what go vet
// finds when such a value is copied: a type with the methods Lock and Unlock of a pointer.
func lockIn(t types.Type) string {
	t = types.Unalias(t)
	if named, ok := t.(*types.Named); ok && !types.IsInterface(t) {
		pointer, value := types.NewMethodSet(types.NewPointer(t)), types.NewMethodSet(t)
		if pointer.Lookup(nil, "Lock") != nil && pointer.Lookup(nil, "Unlock") != nil && value.Lookup(nil, "Lock") == nil {
			return plain(named)
		}
	}
	switch t := t.Underlying().(type) {
	case *types.Array:
		return lockIn(t.Elem())
	case *types.Struct:
		for f := range t.Fields() {
			if lock := lockIn(f.Type()); lock != "" {
				return lock
			}
		}
	}
	return ""
}

// writable reports whether generated code can write a type down that it does
// not store.
func (r *resolver) writable(t types.Type) bool {
	switch t := t.(type) {
	case *types.Basic:
		return true
	case *types.Named:
		return r.unnameable(t.Obj()) == "" && r.allWritable(t.TypeArgs())
	case *types.Alias:
		return r.unnameable(t.Obj()) == "" && r.allWritable(t.TypeArgs())
	case *types.Pointer:
		return r.writable(t.Elem())
	case *types.Slice:
		return r.writable(t.Elem())
	case *types.Array:
		return r.writable(t.Elem())
	case *types.Map:
		return r.writable(t.Key()) && r.writable(t.Elem())
	case *types.Chan:
		return r.writable(t.Elem())
	case *types.Interface:
		return t.Empty()
	case *types.Struct:
		for f := range t.Fields() {
			if !f.Exported() || !r.writable(f.Type()) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// allWritable reports whether all type arguments are [resolver.writable].
func (r *resolver) allWritable(args *types.TypeList) bool {
	for arg := range args.Types() {
		if !r.writable(arg) {
			return false
		}
	}
	return true
}

// inTree reports whether a position lies in source below the directory that
// taskgen runs in, so that the reader can go there.
func (r *resolver) inTree(pos token.Pos) bool {
	file := r.fset.Position(pos).Filename
	if !filepath.IsAbs(file) { // $GOROOT/src/time/time.go, or built with -trimpath
		var ours bool
		if file, ours = r.docs.own(file); !ours {
			return false
		}
	}
	f := r.relative(file)
	return f != "" && !strings.HasPrefix(f, "..") && !strings.HasPrefix(f, "/")
}

// untagged says why a field has no name in JSON, or returns "".
func untagged(m member) string {
	switch value := reflect.StructTag(m.tag).Get("json"); {
	case value == "-":
		return ""
	case !m.v.Exported():
		return "an unexported field would be lost"
	case value == "" || value[0] == ',':
		return "no json tag"
	default:
		return ""
	}
}

// field resolves one field. Stored is false for one that is left out on
// purpose.
func (r *resolver) field(m member) (f model.Field, stored, ok bool) {
	v, tag, p := m.v, m.tag, m.at
	value := reflect.StructTag(tag).Get("json")
	name, options, _ := strings.Cut(value, ",")
	switch problem := untagged(m); {
	case value == "-":
		return f, false, true
	case problem != "" && !v.Exported():
		r.refuse(p, "export it and give it a json tag, or keep it elsewhere", "%s", problem)
		return f, false, false
	case problem != "":
		r.refuse(p, fmt.Sprintf("add `json:%q`; the name is stored and must not follow a rename in Go", snake(v.Name())), "%s", problem)
		return f, false, false
	case !jsonName.MatchString(name):
		r.refuse(p, "use letters, digits, underscores, dots and dashes", "json name %q is not valid", name)
		return f, false, false
	}
	f = model.Field{Go: strings.Join(m.path, "."), JSON: name, Type: r.typ(v.Type(), p), Pos: r.position(p.pos), Through: m.through}
	f.Doc, f.Rules = r.text(v), model.ParseRules(reflect.StructTag(tag).Get("validate"))
	f.Secret, ok = r.secret(tag, p)
	if f.Type == nil || !ok {
		return f, false, false
	}
	var keep []string
	for o := range strings.SplitSeq(options, ",") {
		var cond string
		switch o {
		case "":
			continue
		case "omitempty":
			if cond = notEmpty(v.Type()); cond == "" {
				r.refuse(p, "use omitzero, or remove omitempty", "omitempty has no effect on %s", plain(v.Type()))
				return f, false, false
			}
		case "omitzero":
			if cond = notZero(v.Type()); cond == "" {
				r.refuse(p, "give the type an IsZero method on the value, or remove omitzero", "omitzero does not work on %s", plain(v.Type()))
				return f, false, false
			}
		default:
			r.refuse(p, "use only omitempty, omitzero and \"-\"", "unknown json option %q", o)
			return f, false, false
		}
		for part := range strings.SplitSeq(cond, " && ") { // both options may ask the same
			if !slices.Contains(keep, part) {
				keep = append(keep, part)
			}
		}
	}
	f.Keep = strings.Join(keep, " && ")
	return f, true, true
}

// notEmpty returns the condition of omitempty, with %s for the value,
// or "" where it would always hold.
func notEmpty(t types.Type) string {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return notZeroBasic(u)
	case *types.Slice, *types.Map:
		return "len(%s) != 0"
	case *types.Pointer:
		return "%s != nil"
	default:
		return ""
	}
}

// notZero returns the condition of omitzero, or "" when it cannot be
// written down. An IsZero on the pointer alone is none: whether encoding/json
// calls it depends on where the value is.
func notZero(t types.Type) string {
	_, pointer := t.Underlying().(*types.Pointer)
	switch own := lookup(t, "IsZero") != nil; {
	case own && pointer:
		return "%s != nil && !%s.IsZero()"
	case own:
		return "!%s.IsZero()"
	case !pointer && lookup(types.NewPointer(t), "IsZero") != nil:
		return ""
	}
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return notZeroBasic(u)
	case *types.Slice, *types.Map, *types.Pointer:
		return "%s != nil"
	case *types.Array:
		if b, ok := u.Elem().Underlying().(*types.Basic); ok && b.Info()&types.IsFloat == 0 {
			return "%s != (" + strings.ReplaceAll(mark(t), "%", "%%") + "{})"
		}
	}
	return ""
}

// notZeroBasic is the condition for strings, booleans and numbers, which are
// empty when they are zero.
func notZeroBasic(b *types.Basic) string {
	switch info := b.Info(); {
	case info&types.IsString != 0:
		return `%s != ""`
	case info&types.IsBoolean != 0:
		return "%s"
	default:
		return "%s != 0"
	}
}

// snake proposes a name for JSON.
func snake(name string) string {
	var b strings.Builder
	for i, c := range name {
		if c >= 'A' && c <= 'Z' {
			if i > 0 && (name[i-1] < 'A' || name[i-1] > 'Z') {
				b.WriteByte('_')
			}
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// secret reports whether a field is tagged as a secret. The tag is ours, so any
// other value of it is a mistake.
func (r *resolver) secret(tag string, p location) (secret, ok bool) {
	switch value, has := reflect.StructTag(tag).Lookup("taskkit"); {
	case !has:
		return false, true
	case value == "secret":
		return true, true
	default:
		return false, r.refuse(p, "write `taskkit:\"secret\"`, the only value", "unknown taskkit tag %q", value)
	}
}
