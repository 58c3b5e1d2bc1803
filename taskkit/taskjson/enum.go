package taskjson

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// WriteEnum writes a string that is one of known, or not set.
func WriteEnum[T ~string](e *Encoder, v T, known []T) {
	if v != "" && !slices.Contains(known, v) {
		e.fail(InvalidValue, wantOneOf(known), nil)
		return
	}
	e.String(string(v))
}

// ReadEnum reads what [WriteEnum] writes.
func ReadEnum[T ~string](d *Decoder, known []T) T {
	v := T(d.String())
	if v != "" && !slices.Contains(known, v) {
		d.fail(InvalidValue, wantOneOf(known), nil)
	}
	return v
}

// WriteNumberEnum is [WriteEnum] for integers.
func WriteNumberEnum[T integer](e *Encoder, v T, known []T) {
	switch {
	case v != 0 && !slices.Contains(known, v):
		e.fail(InvalidValue, wantOneOf(known), nil)
	case signed[T]():
		e.Int(int64(v))
	default:
		e.Uint(uint64(v))
	}
}

// ReadNumberEnum is [ReadEnum] for integers.
func ReadNumberEnum[T integer](d *Decoder, known []T) T {
	var v T
	if signed[T]() {
		v = T(d.int(bitsOf[T]()))
	} else {
		v = T(d.uint(bitsOf[T]()))
	}
	if v != 0 && !slices.Contains(known, v) {
		d.fail(InvalidValue, wantOneOf(known), nil)
	}
	return v
}

// wantOneOf names the values of an enum. It does not name the refused value, which may be
// a secret.
func wantOneOf[T any](known []T) string {
	names := make([]string, len(known))
	for i, v := range known {
		names[i] = fmt.Sprint(v)
	}
	return "want one of " + strings.Join(names, ", ")
}

// Failed reports whether there was an error, so that the code of a type that
// contains itself does not follow a cycle of pointers forever.
func (e *Encoder) Failed() bool { return e.err != nil }

// integer is a type that may be the key of a map as a number.
type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// numberKeys returns the keys of a map whose keys are integers, sorted as text,
// which is how encoding/json sorts them.
func numberKeys[K integer, V any](m map[K]V) []textKey[K] {
	keys := make([]textKey[K], 0, len(m))
	for k := range m {
		text := strconv.FormatUint(uint64(k), 10)
		if k < 0 {
			text = strconv.FormatInt(int64(k), 10)
		}
		keys = append(keys, textKey[K]{text: text, key: k})
	}
	slices.SortFunc(keys, func(a, b textKey[K]) int { return strings.Compare(a.text, b.text) })
	return keys
}

// intKey reads the key of a map as an integer of so many bits. It is written as
// an Encoder would write it: no plus, no leading zeros.
func (d *Decoder) intKey(bits int) int64 {
	key := d.Key()
	n, err := strconv.ParseInt(key, 10, bits)
	if err != nil || strconv.FormatInt(n, 10) != key {
		d.failKey(err, "a signed integer of "+width(bits))
		return 0
	}
	return n
}

// uintKey is intKey for unsigned integers.
func (d *Decoder) uintKey(bits int) uint64 {
	key := d.Key()
	n, err := strconv.ParseUint(key, 10, bits)
	if err != nil || strconv.FormatUint(n, 10) != key {
		d.failKey(err, "an unsigned integer of "+width(bits))
		return 0
	}
	return n
}

func (d *Decoder) failKey(err error, want string) {
	d.fail(InvalidValue, "want a name that is "+want, err)
}
