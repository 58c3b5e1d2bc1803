package taskkit

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/go-playground/validator/v10"
)

// specValidator returns the validator of all specs. It is made at first use;
// it caches what it learns of types and is safe for concurrent use.
var specValidator = sync.OnceValue(func() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	// Fields are called by their JSON names, which is what clients know.
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			return f.Name
		}
		return name
	})
	return v
})

// validateSpec checks the validate tags, then the spec's own Validate. What it
// says shows no secret.
func validateSpec[Spec any](kind string, hidden []string, spec *Spec) (err error) {
	defer func() {
		if v := recover(); v != nil { // a tag that validator does not know
			err = &SpecError{Kind: kind, Err: fmt.Errorf("its validate tags cannot be used: %v", v)}
		}
	}()
	if reflect.TypeFor[Spec]().Kind() == reflect.Struct {
		if invalid, ok := errors.AsType[validator.ValidationErrors](specValidator().Struct(spec)); ok {
			e := &SpecError{Kind: kind}
			secret := parseSecrets(hidden)
			for _, f := range invalid {
				told := fieldError(f)
				if secret.hides(told.Path) {
					told.Value = masked
				}
				e.Fields = append(e.Fields, told)
			}
			return e
		}
	}
	if v, ok := any(spec).(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return &SpecError{Kind: kind, Err: err}
		}
	}
	return nil
}

func fieldError(f validator.FieldError) FieldError {
	_, path, _ := strings.Cut(f.Namespace(), ".") // without the type's name
	rule := f.Tag()
	if f.Param() != "" {
		rule += "=" + f.Param()
	}
	value := fmt.Sprintf("%v", f.Value())
	switch v := reflect.ValueOf(f.Value()); v.Kind() {
	case reflect.Struct: // with fields that may be secrets
		if _, ok := f.Value().(time.Time); !ok {
			value = "an object"
		}
	case reflect.Slice, reflect.Map, reflect.Array:
		value = fmt.Sprintf("of length %d", v.Len())
	case reflect.String:
		value = fmt.Sprintf("%q", shorten(v.String()))
	default:
		value = shorten(value)
	}
	return FieldError{Path: path, Rule: rule, Value: value}
}

func shorten(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "..."
	}
	return s
}
