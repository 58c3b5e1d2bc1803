package taskkit

import (
	"fmt"
	"reflect"
)

// checkHandle refuses a nil database handle, whose methods would panic. name is
// what the caller's argument is called.
func checkHandle(name string, h any) error {
	if !isNil(h) {
		return nil
	}
	what := "nil"
	if h != nil {
		what = fmt.Sprintf("a nil %T", h)
	}
	return &OptionError{name, what + " is not a database handle: check the error of the call that was to open it or begin it"}
}

// isNil reports whether v is nil, or holds a nil pointer or function.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	switch r := reflect.ValueOf(v); r.Kind() {
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Chan, reflect.Slice, reflect.Interface:
		return r.IsNil()
	default:
		return false
	}
}
