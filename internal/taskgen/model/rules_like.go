package model

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Validates runs validator on a pointer to a struct. What panicked says is what
// validator panicked with.
func Validates(v reflect.Value) (failed bool, panicked string) {
	defer func() {
		if p := recover(); p != nil {
			failed, panicked = true, fmt.Sprint(p)
		}
	}()
	return ruleValidator().Struct(v.Interface()) != nil, ""
}

func ValidateTag(tag string) reflect.StructTag {
	if tag == "" {
		return ""
	}
	return reflect.StructTag("validate:" + strconv.Quote(tag))
}

// zeroLike returns a type whose zero value validator treats as the zero value of t. What
// is in a pointer, slice or map does not matter: they are nil.
func zeroLike(t *Type) reflect.Type {
	switch t.Form {
	case Slice:
		return reflect.TypeFor[[]bool]()
	case Map:
		return reflect.TypeFor[map[string]bool]()
	case Pointer:
		return reflect.TypeFor[*bool]()
	case Array:
		return reflect.ArrayOf(int(t.Len), zeroLike(t.Elem))
	case Struct:
		return structLike(t, func(f Field) reflect.StructField {
			if len(f.Through) > 0 {
				return reflect.StructField{Type: reflect.TypeFor[bool]()} // behind a nil pointer
			}
			return reflect.StructField{Type: zeroLike(f.Type), Tag: ValidateTag(f.Rules.String())}
		})
	default:
		return ScalarLike(t)
	}
}

// structLike returns a struct with the fields of t, each as like makes it. Those
// that are promoted lie in structs of their own, as they do in Go.
func structLike(t *Type, like func(Field) reflect.StructField) reflect.Type {
	return nestedLike(t.Fields, 0, like)
}

// nestedLike makes the struct of fields whose paths in Go are alike so far.
func nestedLike(fields []Field, depth int, like func(Field) reflect.StructField) reflect.Type {
	var out []reflect.StructField
	for i, f := range fields {
		path := strings.Split(f.Go, ".")[depth:]
		if len(path) > 1 {
			same := func(other Field) bool {
				names := strings.Split(other.Go, ".")
				return len(names) > depth+1 && names[depth] == path[0]
			}
			if slices.ContainsFunc(fields[:i], same) {
				continue
			}
			inner := slices.DeleteFunc(slices.Clone(fields), func(other Field) bool { return !same(other) })
			out = append(out, reflect.StructField{Name: path[0], Type: nestedLike(inner, depth+1, like)})
			continue
		}
		made := like(f)
		made.Name = path[0]
		if f.Type.Kind == reflect.Invalid {
			made.Type, made.Tag = reflect.TypeFor[bool](), ""
		}
		out = append(out, made)
	}
	return reflect.StructOf(out)
}

// ScalarLike is for the forms that hold no other types of the model.
func ScalarLike(t *Type) reflect.Type {
	switch {
	case t.Source == DurationSource:
		return reflect.TypeFor[time.Duration]()
	case t.Form == Time:
		return reflect.TypeFor[time.Time]()
	case t.Form == UUID:
		return reflect.TypeFor[uuid.UUID]()
	case t.Form == Raw:
		return reflect.TypeFor[json.RawMessage]()
	}
	if like, ok := KindTypes[t.Kind]; ok {
		return like
	}
	return reflect.TypeFor[struct{ F bool }]()
}

// DurationSource is the type whose parameters are written as 1h30m.
const DurationSource = "«time|time».Duration"

// KindTypes has a type of each kind, for types that write themselves.
var KindTypes = map[reflect.Kind]reflect.Type{
	reflect.String: reflect.TypeFor[string](), reflect.Bool: reflect.TypeFor[bool](),
	reflect.Int: reflect.TypeFor[int](), reflect.Int8: reflect.TypeFor[int8](), reflect.Int16: reflect.TypeFor[int16](),
	reflect.Int32: reflect.TypeFor[int32](), reflect.Int64: reflect.TypeFor[int64](),
	reflect.Uint: reflect.TypeFor[uint](), reflect.Uint8: reflect.TypeFor[uint8](), reflect.Uint16: reflect.TypeFor[uint16](),
	reflect.Uint32: reflect.TypeFor[uint32](), reflect.Uint64: reflect.TypeFor[uint64](),
	reflect.Float32: reflect.TypeFor[float32](), reflect.Float64: reflect.TypeFor[float64](),
	reflect.Slice: reflect.TypeFor[[]byte](), reflect.Map: reflect.TypeFor[map[string]bool](), reflect.Array: reflect.TypeFor[[1]byte](),
}
