package model

import (
	"reflect"
	"testing"
)

// TestRulesFindPromotedFields: validator finds a promoted field by its name, as
// Sibling says.
func TestRulesFindPromotedFields(t *testing.T) {
	t.Parallel()
	type Base struct{ Since string }
	type spec struct {
		Base
		Until string `validate:"required_with=Since"`
	}
	for _, c := range []struct {
		spec   spec
		failed bool
	}{{spec{}, false}, {spec{Base: Base{"x"}}, true}, {spec{Base: Base{"x"}, Until: "y"}, false}} {
		failed, panicked := Validates(reflect.ValueOf(&c.spec))
		if failed != c.failed || panicked != "" {
			t.Errorf("%+v: failed %t, panicked %q", c.spec, failed, panicked)
		}
	}
}
