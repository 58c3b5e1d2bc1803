package load

import (
	"go/types"
	"reflect"
	"slices"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// member is a field of a struct as JSON sees it: of its own, or promoted from an
// embedded struct.
type member struct {
	v       *types.Var
	tag     string
	name    string   // in JSON, or "" when it is not stored or its tag is wrong
	path    []string // in Go, with the exported ones of the structs it is promoted from
	through []model.Through
	depth   int
	at      location
}

// members returns the fields that a struct has in JSON, in the order in which
// they are written, which is the order of their declaration. A promoted field that
// one further out hides is not among them.
func (r *resolver) members(s *types.Struct, p location) (visible []member, ok bool) {
	all, ok := r.promote(s, p, member{}, nil)
	least := map[string][]member{}
	for _, m := range all {
		if m.name == "" {
			continue
		}
		switch had := least[m.name]; {
		case len(had) == 0 || m.depth < had[0].depth:
			least[m.name] = []member{m}
		case m.depth == had[0].depth:
			least[m.name] = append(had, m)
		}
	}
	for _, m := range all {
		rivals := least[m.name]
		switch {
		case m.name == "":
			visible = append(visible, m)
		case m.depth > rivals[0].depth: // hidden
		case len(rivals) > 1 && m.depth > 0:
			ok = r.refuse(m.at, "give one of them another name; encoding/json would drop both", "json name %q is promoted from two embedded structs", m.name)
		default:
			visible = append(visible, m)
		}
	}
	return visible, ok
}

// promote returns the fields of a struct and of those that it embeds, depth
// first.
func (r *resolver) promote(s *types.Struct, p location, around member, open []types.Type) (all []member, ok bool) {
	ok = true
	for i := range s.NumFields() {
		v, tag := s.Field(i), s.Tag(i)
		m := member{
			v: v, tag: tag, path: append(slices.Clone(around.path), v.Name()), through: around.through, depth: around.depth,
			at: location{pos: p.pos, path: p.path + "." + v.Name()},
		}
		if r.inTree(v.Pos()) {
			m.at.pos = v.Pos()
		}
		name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		inner, pointer := embedded(v)
		if inner != nil && !r.tag(tag, v.Pos(), m.at) {
			ok = false
			continue
		}
		if inner == nil || name != "" {
			if name != "-" && jsonName.MatchString(name) && v.Exported() {
				m.name = name
			}
			all = append(all, m)
			continue
		}
		switch {
		case slices.ContainsFunc(open, func(t types.Type) bool { return types.Identical(t, v.Type()) }):
			ok = r.refuse(m.at, "make it a field with a name and a json tag", "%s embeds itself", plain(v.Type()))
			continue
		case pointer != nil && !v.Exported():
			ok = r.refuse(m.at, "embed the struct itself, or export it", "an embedded pointer to an unexported struct cannot be read")
			continue
		case reflect.StructTag(tag).Get("validate") != "" || reflect.StructTag(tag).Get("taskkit") != "":
			ok = r.refuse(m.at, "tag its fields, or make it a field with a json name", "a tag on an embedded struct has no effect, since it is not a field in JSON")
			continue
		case pointer != nil:
			m.through = append(slices.Clone(m.through), model.Through{Go: strings.Join(m.path, "."), Source: mark(pointer.Elem())})
		case !v.Exported():
			m.path = around.path // its fields are reached through the struct around
		}
		m.depth++
		below, good := r.promote(inner, m.at, m, append(open, v.Type()))
		all, ok = append(all, below...), ok && good
	}
	return all, ok
}

// embedded returns the struct that an embedded field holds or points to, and the
// pointer, or nil.
func embedded(v *types.Var) (s *types.Struct, pointer *types.Pointer) {
	if !v.Embedded() {
		return nil, nil
	}
	t := types.Unalias(v.Type())
	if p, ok := t.(*types.Pointer); ok {
		t, pointer = types.Unalias(p.Elem()), p
	}
	s, _ = t.Underlying().(*types.Struct)
	return s, pointer
}

// reached reports whether a promoted field's path leads to it in Go, where
// another field may hide it that does not hide it in JSON.
func reached(t types.Type, m member) bool {
	for i, name := range m.path {
		obj, _, _ := types.LookupFieldOrMethod(t, true, m.v.Pkg(), name)
		v, ok := obj.(*types.Var)
		if !ok {
			return false
		}
		if i == len(m.path)-1 {
			return v == m.v || v.Origin() == m.v.Origin()
		}
		t = v.Type()
	}
	return false
}
