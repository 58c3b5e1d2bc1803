package taskkind

import "reflect"

// Targets is the list of a spec whose elements are the targets of a task. Make it with
// [TargetsIn], or with taskkit.TargetsFoundIn if the executor finds them.
type Targets[Spec any] struct {
	Field string       // name of the list in JSON, or its path
	Elem  reflect.Type // type of its elements, T
	Get   func(s *Spec) any
	Set   func(s *Spec, list any) // Get and Set exchange a []T
	// Finder returns the method Targets of an executor in the form that package taskkit
	// calls, or nil if the executor has none. It is nil if the kind does not find its
	// targets. State is the type of the state that the method takes.
	Finder func(x any) any
	State  reflect.Type
}

// TargetsIn returns the targets that are in a list of the spec. Field is its name in
// JSON or, for a list in a struct of the spec, its path: targets.people. taskgen writes
// the call.
func TargetsIn[Spec any, L ~[]T, T any](field string, list func(*Spec) *L) Targets[Spec] {
	return Targets[Spec]{
		Field: field, Elem: reflect.TypeFor[T](),
		Get: func(s *Spec) any { return []T(*list(s)) },
		Set: func(s *Spec, v any) {
			elements, _ := v.([]T)
			*list(s) = L(elements)
		},
	}
}

// Len returns the number of elements in the list of a spec, or -1 if the kind has no list
// of targets.
func (t Targets[Spec]) Len(s *Spec) int {
	if t.Get == nil {
		return -1
	}
	return reflect.ValueOf(t.Get(s)).Len()
}
