package taskkit

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-playground/validator/v10"
)

// maxFields bounds the fields that a [SpecError] lists: with a rule for each
// element, a list of thousands breaks it thousands of times.
const maxFields = 100

// specValidator returns the validator of all specs. It is made at first use;
// it caches what it learns of types and is safe for concurrent use.
var specValidator = sync.OnceValue(func() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	// Fields are called by their JSON names, which is what clients know.
	v.RegisterTagNameFunc(jsonName)
	return v
})

// validateSpec checks the validate tags, but for those of the field except, then the
// spec's own Validate. The error contains no secret.
func validateSpec[Spec any](kind string, hidden []string, spec *Spec, except string) error {
	if reflect.TypeFor[Spec]().Kind() == reflect.Struct {
		invalid, err := checkTags(spec)
		if err != nil {
			return &SpecError{Kind: kind, Err: err}
		}
		root := reflect.ValueOf(spec).Elem()
		if except != "" {
			invalid = slices.DeleteFunc(invalid, func(f validator.FieldError) bool { return isField(root, f, except) })
		}
		if len(invalid) > 0 {
			return tagError(kind, hidden, invalid, func(f validator.FieldError) location { return locate(root, localName(root.Type(), f)) })
		}
	}
	if v, ok := any(spec).(interface{ Validate() error }); ok {
		if err := callValidate(v.Validate); err != nil {
			return &SpecError{Kind: kind, Err: err}
		}
	}
	return nil
}

// checkTags checks the validate tags of a spec. The error is about the tags
// themselves.
func checkTags(spec any) (invalid validator.ValidationErrors, err error) {
	return validated(func(v *validator.Validate) error { return v.Struct(spec) })
}

// checkElements checks a list by rules that begin with dive.
func checkElements(list any, rules string) (invalid validator.ValidationErrors, err error) {
	return validated(func(v *validator.Validate) error { return v.Var(list, rules) })
}

// validated returns what breaks a rule. The error is about the rules themselves.
func validated(validate func(*validator.Validate) error) (invalid validator.ValidationErrors, err error) {
	defer func() {
		if v := recover(); v != nil { // an unknown tag, or one that the type of the field does not allow
			err = &UsageError{What: "validate tags", Why: fmt.Sprintf("they cannot be used: %v", v)}
		}
	}()
	invalid, _ = errors.AsType[validator.ValidationErrors](validate(specValidator()))
	return invalid, nil
}

// callValidate calls a spec's Validate method and returns a panic as an error.
func callValidate(validate func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &UsageError{What: "method Validate", Why: fmt.Sprintf("it panicked: %v", v)}
		}
	}()
	return validate()
}

// comparedIn reports whether a rule compares a value with a secret, which it may then nearly be.
func (s secrets) comparedIn(p location, f validator.FieldError) bool {
	if comparisons[f.Tag()] == "" || len(p.names) == 0 {
		return false
	}
	names := strings.Split(p.jsonParam(f), ".")
	if !slices.Contains(rootRules, f.Tag()) {
		names = slices.Concat(p.names[:len(p.names)-1], names)
	}
	_, within := s.cut(names)
	return within.whole()
}

// isField reports whether a rule is about the field of a spec with these JSON names, joined by
// dots.
func isField(spec reflect.Value, f validator.FieldError, names string) bool {
	name := localName(spec.Type(), f)
	return !strings.Contains(name, "[") && strings.Join(locate(spec, name).names, ".") == names
}

// tagError returns the error for a spec that breaks rules of its tags, in places of it.
func tagError(kind string, hidden []string, invalid validator.ValidationErrors, at func(validator.FieldError) location) *SpecError {
	e := &SpecError{Kind: kind, Omitted: max(len(invalid)-maxFields, 0)}
	secret := parseSecrets(hidden).below("spec")
	for _, f := range invalid[:len(invalid)-e.Omitted] {
		p := at(f)
		rule := f.Tag()
		if f.Param() != "" {
			rule += "=" + p.jsonParam(f)
		}
		names, within := secret.cut(p.names)
		field := FieldError{Pointer: shortenTo(pointerOf(names), 200), Rule: rule, Value: masked}
		if !within.whole() && !secret.comparedIn(p, f) && (p.exact || len(within) == 0) {
			field.Value = describe(f, len(within) > 0)
		}
		e.Fields = append(e.Fields, field)
	}
	return e
}

// describe returns the value that broke a rule, shortened, or only its length if secrets are
// in it.
func describe(f validator.FieldError, secrets bool) string {
	switch v := reflect.ValueOf(f.Value()); v.Kind() {
	case reflect.Struct: // with fields that may be secrets
		if at, ok := f.Value().(time.Time); ok {
			return at.String()
		}
		return "an object"
	case reflect.Slice, reflect.Array:
		if f.Tag() == "unique" {
			if s := duplicate(v, f.Param(), secrets); s != "" {
				return s
			}
		}
		return fmt.Sprintf("of length %d", v.Len())
	case reflect.Map:
		return fmt.Sprintf("of length %d", v.Len())
	default:
		return show(v)
	}
}

// show writes a single value, shortened.
func show(v reflect.Value) string {
	if v.Kind() == reflect.String {
		return fmt.Sprintf("%q", shorten(v.String()))
	}
	if !v.IsValid() {
		return "null"
	}
	return shorten(fmt.Sprint(v.Interface()))
}

// duplicate describes the first element of a list that repeats an earlier one, by
// the field of that name or, for "", as a whole. It returns "" if it finds none.
func duplicate(list reflect.Value, field string, secrets bool) string {
	first := make(map[any]int, list.Len())
	for i := range list.Len() {
		v := reflect.Indirect(list.Index(i))
		if field != "" && v.Kind() == reflect.Struct {
			v = reflect.Indirect(v.FieldByName(field))
		}
		if !v.IsValid() || !v.Comparable() || !v.CanInterface() {
			return ""
		}
		if j, ok := first[v.Interface()]; ok {
			what := "the same object"
			switch {
			case secrets:
				what = masked
			case v.Kind() != reflect.Struct || v.Type() == reflect.TypeFor[time.Time]():
				what = show(v)
			}
			return fmt.Sprintf("of length %d, and [%d] and [%d] are both %s", list.Len(), j, i, what)
		}
		first[v.Interface()] = i
	}
	return ""
}

func shorten(s string) string { return shortenTo(s, 60) }

// shortenTo returns s, or its first n bytes and dots.
func shortenTo(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "..."
	}
	return s
}
