package taskjson

import (
	"encoding"
	"slices"
	"unsafe"

	"github.com/google/uuid"
)

// The functions here write and read slices, arrays, maps and pointers by a function for
// their elements. A nil slice, map or pointer is null.

// uuidSize is the length of a UUID in an array, with quotes and comma.
const uuidSize = quotedUUID + 1

// WriteSlice writes a slice.
func WriteSlice[T any](e *Encoder, v []T, elem func(*Encoder, T)) {
	if v == nil {
		e.Null()
		return
	}
	e.begin('[')
	for i := range v {
		e.element()
		elem(e, v[i])
	}
	e.end(']')
}

// WriteSlicePtr is [WriteSlice] for elements that are written by their address.
func WriteSlicePtr[T any](e *Encoder, v []T, elem func(*Encoder, *T)) {
	if v == nil {
		e.Null()
		return
	}
	e.begin('[')
	for i := range v {
		e.element()
		elem(e, &v[i])
	}
	e.end(']')
}

// Strings writes a slice of strings.
func (e *Encoder) Strings(v []string) {
	if v == nil {
		e.Null()
		return
	}
	e.begin('[')
	for i := range v {
		e.element()
		e.String(v[i])
	}
	e.end(']')
}

// UUIDs writes a slice of UUIDs. Most large specs consist of UUIDs, so it makes room for
// all of them at once.
func (e *Encoder) UUIDs(v []uuid.UUID) {
	if v == nil {
		e.Null()
		return
	}
	e.buf = slices.Grow(e.buf, uuidSize*len(v))
	e.begin('[')
	for i := range v {
		e.element()
		e.UUID(v[i])
	}
	e.end(']')
}

// WriteMap writes a map with strings as keys, sorted by key.
func WriteMap[K ~string, V any](e *Encoder, v map[K]V, elem func(*Encoder, V)) {
	if v == nil {
		e.Null()
		return
	}
	e.BeginObject()
	for key, x := range members(v) {
		e.Key(key)
		elem(e, x)
	}
	e.EndObject()
}

// WriteNumberMap is [WriteMap] for integers as keys, sorted as text.
func WriteNumberMap[K integer, V any](e *Encoder, v map[K]V, elem func(*Encoder, V)) {
	if v == nil {
		e.Null()
		return
	}
	e.BeginObject()
	for _, key := range numberKeys(v) {
		e.Key(key.text)
		elem(e, v[key.key])
	}
	e.EndObject()
}

// WriteTextMap is [WriteMap] for keys that have a MarshalText, sorted by what it returns.
func WriteTextMap[K interface {
	comparable
	encoding.TextMarshaler
}, V any](e *Encoder, v map[K]V, elem func(*Encoder, V)) {
	if v == nil {
		e.Null()
		return
	}
	e.BeginObject()
	for _, key := range textKeys(e, v) {
		e.Key(key.text)
		elem(e, v[key.key])
	}
	e.EndObject()
}

// WritePointer writes what a pointer points to.
func WritePointer[T any](e *Encoder, v *T, elem func(*Encoder, *T)) {
	if v == nil {
		e.Null()
		return
	}
	elem(e, v)
}

// ReadSlice reads a slice.
func ReadSlice[S ~[]T, T any](d *Decoder, v *S, elem func(*Decoder) T) {
	if d.Null() || !d.BeginArray() {
		return
	}
	list := S{}
	for d.More() {
		list = append(list, elem(d))
	}
	d.End()
	*v = list
}

// ReadSlicePtr is [ReadSlice] for elements that are read into their place.
func ReadSlicePtr[S ~[]T, T any](d *Decoder, v *S, elem func(*Decoder, *T)) {
	if d.Null() || !d.BeginArray() {
		return
	}
	list := S{}
	var zero T
	for d.More() {
		list = append(list, zero)
		elem(d, &list[len(list)-1])
	}
	d.End()
	*v = list
}

// ReadArray reads the elements of an array, which must be as many as it has.
func ReadArray[T any](d *Decoder, v []T, elem func(*Decoder, *T)) {
	if !d.BeginArray() {
		return
	}
	for i := range v {
		if !d.More() {
			d.short(i, len(v))
			return
		}
		elem(d, &v[i])
	}
	d.End()
}

// Strings reads a slice of strings.
func (d *Decoder) Strings() []string {
	if d.Null() || !d.BeginArray() {
		return nil
	}
	list := []string{}
	for d.More() {
		list = append(list, d.String())
	}
	d.End()
	return list
}

// UUIDs reads a slice of UUIDs.
func (d *Decoder) UUIDs() []uuid.UUID {
	if d.Null() || !d.BeginArray() {
		return nil
	}
	list := make([]uuid.UUID, 0, d.capacity(uuidSize))
	for d.More() {
		list = append(list, d.UUID())
	}
	d.End()
	return list
}

// ReadMap reads a map with strings as keys. Ascending keys, as [WriteMap] writes them,
// are not looked up.
func ReadMap[M ~map[K]V, K ~string, V any](d *Decoder, v *M, elem func(*Decoder) V) {
	if d.Null() || !d.BeginObject() {
		return
	}
	m := make(M, d.members())
	var last K
	for d.More() {
		key := K(d.Key())
		if key > last {
			last = key
		} else if _, ok := m[key]; ok {
			d.repeated()
		}
		m[key] = elem(d)
	}
	d.endMap(len(m))
	*v = m
}

// ReadNumberMap is [ReadMap] for integers as keys.
func ReadNumberMap[M ~map[K]V, K integer, V any](d *Decoder, v *M, elem func(*Decoder) V) {
	if d.Null() || !d.BeginObject() {
		return
	}
	m := make(M, d.members())
	for d.More() {
		var key K
		if bits := bitsOf[K](); signed[K]() {
			key = K(d.intKey(bits))
		} else {
			key = K(d.uintKey(bits))
		}
		if _, ok := m[key]; ok {
			d.repeated()
		}
		m[key] = elem(d)
	}
	d.endMap(len(m))
	*v = m
}

// ReadTextMap is [ReadMap] for keys that have an UnmarshalText.
func ReadTextMap[M ~map[K]V, K comparable, V any, P interface {
	*K
	encoding.TextUnmarshaler
}](d *Decoder, v *M, elem func(*Decoder) V) {
	if d.Null() || !d.BeginObject() {
		return
	}
	m := make(M, d.members())
	for d.More() {
		var key K
		d.textKey(P(&key))
		if _, ok := m[key]; ok {
			d.repeated()
		}
		m[key] = elem(d)
	}
	d.endMap(len(m))
	*v = m
}

// ReadPointer reads a value into new memory.
func ReadPointer[P ~*T, T any](d *Decoder, v *P, elem func(*Decoder, *T)) {
	if d.Null() {
		return
	}
	x := new(T)
	elem(d, x)
	*v = x
}

// bitsOf returns the width of an integer type.
func bitsOf[T integer]() int { return 8 * int(unsafe.Sizeof(T(0))) }

// signed reports whether an integer type has negative values.
func signed[T integer]() bool { return ^T(0) < 0 }
