package lock

import (
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/taskgen/model"
)

// refusesZero reports whether validator, with rules, refuses the zero value of a type: one that is
// absent, or one that is there, such as an empty list or a pointer to zero. It is not
// known of types that write themselves, and of objects.
func refusesZero(typ, rules string, there bool) (refused, known bool) {
	like := likeWord(typ, rules)
	if like == nil {
		return false, false
	}
	v := reflect.New(like).Elem()
	if there {
		v.Set(explicitZero(like))
	}
	return refusesValue(v, rules)
}

// refusesValue reports whether validator refuses a value.
func refusesValue(v reflect.Value, rules string) (refused, known bool) {
	if rules == "" {
		return false, true
	}
	at := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "F", Type: v.Type(), Tag: model.ValidateTag(rules)}}))
	at.Elem().Field(0).Set(v)
	failed, panicked := model.Validates(at)
	return failed, panicked == ""
}

// explicitZero returns the zero value that is not nil.
func explicitZero(t reflect.Type) reflect.Value {
	switch t.Kind() {
	case reflect.Pointer:
		p := reflect.New(t.Elem())
		p.Elem().Set(explicitZero(t.Elem()))
		return p
	case reflect.Slice:
		return reflect.MakeSlice(t, 0, 0)
	case reflect.Map:
		return reflect.MakeMap(t)
	default:
		return reflect.Zero(t)
	}
}

// likeWord returns a type that validator treats like the type that a word names, or nil.
func likeWord(word, rules string) reflect.Type {
	if inner, ok := strings.CutPrefix(word, "?"); ok {
		if t := likeWord(inner, rules); t != nil {
			return reflect.PointerTo(t)
		}
		return nil
	}
	if m := arrayWord.FindStringSubmatch(word); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil && n <= 1<<16 {
			return reflect.ArrayOf(n, reflect.TypeFor[bool]())
		} else if m[1] != "" {
			return nil
		}
		return reflect.TypeFor[[]bool]()
	}
	if mapWord.MatchString(word) {
		return reflect.TypeFor[map[string]bool]()
	}
	if word == "int64" && hasDuration(rules) {
		return reflect.TypeFor[time.Duration]()
	}
	return likeWords[word]
}

var likeWords = map[string]reflect.Type{
	"string": reflect.TypeFor[string](), "bool": reflect.TypeFor[bool](),
	"int8": reflect.TypeFor[int8](), "int16": reflect.TypeFor[int16](), "int32": reflect.TypeFor[int32](), "int64": reflect.TypeFor[int64](),
	"uint8": reflect.TypeFor[uint8](), "uint16": reflect.TypeFor[uint16](), "uint32": reflect.TypeFor[uint32](), "uint64": reflect.TypeFor[uint64](),
	"float32": reflect.TypeFor[float32](), "float64": reflect.TypeFor[float64](),
	"bytes": reflect.TypeFor[[]byte](), "time": reflect.TypeFor[time.Time](), "uuid": reflect.TypeFor[uuid.UUID](),
}

// hasDuration reports whether a parameter is written as 1h30m.
func hasDuration(rules string) bool {
	for word := range strings.SplitSeq(strings.ReplaceAll(rules, "|", ","), ",") {
		_, param, _ := strings.Cut(word, "=")
		if _, err := strconv.ParseInt(param, 0, 64); err == nil {
			continue
		}
		if _, err := time.ParseDuration(param); err == nil {
			return true
		}
	}
	return false
}
