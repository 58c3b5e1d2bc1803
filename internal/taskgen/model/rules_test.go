package model

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseRules(t *testing.T) {
	t.Parallel()
	for tag, want := range map[string]Rules{
		"":                  {},
		"-":                 {List: []Rule{{Name: "-"}}},
		"required,max=100":  {List: []Rule{{"required", ""}, {"max", "100"}}},
		"oneof=a b 'c d'":   {List: []Rule{{"oneof", "a b 'c d'"}}},
		"contains=0x2C0x7C": {List: []Rule{{"contains", ",|"}}},
		"eq=a=b":            {List: []Rule{{"eq", "a=b"}}},
		"email|eq=0x2C":     {List: []Rule{{Name: "email|eq=0x2C"}}},
		"required,,":        {List: []Rule{{Name: "required"}, {}, {}}},
		"keys,endkeys":      {List: []Rule{{Name: "keys"}, {Name: "endkeys"}}},
		"dive":              {Elem: &Rules{}},
		"min=1,dive,dive,max=3": {
			List: []Rule{{"min", "1"}},
			Elem: &Rules{Elem: &Rules{List: []Rule{{"max", "3"}}}},
		},
		"dive,keys,alpha|eq=_,endkeys,required,dive,min=2": {Elem: &Rules{
			List: []Rule{{Name: "required"}},
			Elem: &Rules{List: []Rule{{"min", "2"}}},
		}, Keys: &Rules{List: []Rule{{Name: "alpha|eq=_"}}}},
	} {
		got := ParseRules(tag)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got)\n%s", tag, diff)
		}
		if again := got.String(); again != tag {
			t.Errorf("%q is written as %q", tag, again)
		}
	}
	if got := ParseRules("max=1,email|eq=0x2C").List[1].Alternatives(); !cmp.Equal(got, []Rule{{"email", ""}, {"eq", ","}}) {
		t.Errorf("alternatives %v", got)
	}
}

// TestAbsent: whether a field may be left out is what validator says of a zero
// value; and where that depends on other fields, it may not be relied upon.
func TestAbsent(t *testing.T) {
	t.Parallel()
	var (
		str     = &Type{Form: String, Kind: reflect.String, Source: "string"}
		num     = &Type{Form: Int, Kind: reflect.Int, Source: "int"}
		ptr     = &Type{Form: Pointer, Kind: reflect.Pointer, Elem: num, Source: "*int"}
		slice   = &Type{Form: Slice, Kind: reflect.Slice, Elem: str, Source: "[]string"}
		color   = &Type{Form: Text, Kind: reflect.Struct, Source: "Color"}
		strange = &Type{Form: Text, Kind: reflect.Invalid, Source: "Optional"}
		one     = func(f *Type, tag string) *Type {
			return &Type{Form: Struct, Kind: reflect.Struct, Source: tag, Fields: []Field{
				{Go: "A", JSON: "a", Type: f, Rules: ParseRules(tag)}, {Go: "B", JSON: "b", Type: str},
			}}
		}
	)
	for _, c := range []struct {
		t                *Type
		tag              string
		accepts, refuses bool
	}{
		{str, "", true, false},
		{str, "required", false, true},
		{str, "max=3", true, false},
		{str, "min=3", false, true},
		{str, "omitempty,min=3", true, false},
		{str, "min=3,omitempty", false, true},
		{str, "email|len=0", true, false},
		{str, "email|len=5", false, true},
		{str, "oneof=a b", false, true},
		{str, "omitempty,oneof=a b", true, false},
		{str, "eq=0x2C", false, true},
		{str, "required_if=B x", false, false},
		{str, "omitempty,required_if=B x", true, false},
		{str, "required_with=B,min=3", false, true},
		{str, "excluded_with=B", true, false},
		{str, "eqfield=B", false, false},
		{num, "min=0", true, false},
		{num, "gt=0", false, true},
		{num, "omitnil,gt=0", false, true},
		{ptr, "gt=0", false, true}, // validator refuses nil where no rule takes it
		{ptr, "omitnil,gt=0", true, false},
		{ptr, "required", false, true},
		{slice, "max=3", true, false},
		{slice, "min=1", false, true},
		{slice, "required", false, true},
		{slice, "dive,required", true, false},
		{slice, "omitempty,min=1,dive,email", true, false},
		{color, "required", false, true},
		{color, "", true, false},
		{strange, "required", false, true},
		{strange, "min=3", true, false},
		{one(str, "required"), "", false, true},
		{one(str, "required"), "omitempty", true, false},
		{one(str, "required"), "structonly", true, false},
		{one(str, "required"), "-", true, false},
		{one(str, "max=3"), "", true, false},
		{one(str, "max=3"), "required", false, true},
		{one(str, "required_with=B"), "", true, false}, // B is absent with it
		{one(str, "required_without=B"), "", false, true},
		{one(one(num, "min=1"), ""), "", false, true},
		{&Type{Form: Array, Kind: reflect.Array, Len: 2, Elem: one(num, "min=1"), Source: "[2]one"}, "", true, false},
		{&Type{Form: Array, Kind: reflect.Array, Len: 2, Elem: one(num, "min=1"), Source: "[2]one"}, "dive", false, true},
		{&Type{Form: Pointer, Kind: reflect.Pointer, Elem: one(num, "min=1"), Source: "*one"}, "", true, false},
		{&Type{Form: Int, Kind: reflect.Int64, Source: DurationSource}, "min=1m", false, true},
		{&Type{Form: Int, Kind: reflect.Int64, Source: DurationSource}, "max=1m", true, false},
	} {
		rules := ParseRules(c.tag)
		if got := AcceptsAbsent(c.t, rules); got != c.accepts {
			t.Errorf("%s validate:%q accepts an absent value: %t, want %t", c.t.Source, c.tag, got, c.accepts)
		}
		if got := RefusesAbsent(c.t, rules); got != c.refuses {
			t.Errorf("%s validate:%q refuses an absent value: %t, want %t", c.t.Source, c.tag, got, c.refuses)
		}
	}
}
