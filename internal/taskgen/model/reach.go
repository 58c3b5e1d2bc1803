package model

// Roots returns the types with a codec, by what they are called.
func (x *Executor) Roots() []Root {
	all := []Root{{"Spec", x.Spec}, {"State", x.State}}
	if x.Result != nil {
		all = append(all, Root{"Result", x.Result})
	}
	return all
}

// Root is a type with a codec.
type Root struct {
	Name string
	Type *Type
}

// Reachable returns the types of an executor's Spec, State and Result, each
// once, in the order in which they are met.
func Reachable(x *Executor) []*Type {
	var all []*Type
	seen := map[string]bool{}
	var visit func(t *Type)
	visit = func(t *Type) {
		if t == nil || seen[t.Source] {
			return
		}
		seen[t.Source] = true
		all = append(all, t)
		visit(t.Elem)
		for _, f := range t.Fields {
			visit(f.Type)
		}
	}
	for _, r := range x.Roots() {
		visit(r.Type)
	}
	return all
}
