// Package itemkey defines the key of an item of a task, a JSON text that identifies it.
// Two items with the same key are the same item.
package itemkey

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Max is the length in bytes of the longest key. It leaves room in an index entry
// of PostgreSQL, which holds 2,704 bytes.
const Max = 1024

// Encode returns the key of an item. It never fails.
//
// A string, a number, a bool, and a value that marshals itself to JSON or to text
// become their JSON. So does any other value from which its JSON can be read back,
// such as a struct with exported fields. The rest becomes the text of [fmt.Sprint].
// A text that is not valid UTF-8, and a key that would be longer than [Max], are
// stored with replacement characters or cut, and end in a hash of the whole: keys
// of different items stay different.
func Encode(item any) string {
	if key, ok := exact(item); ok && len(key) <= Max {
		return key
	}
	return ofText(fmt.Sprint(item))
}

// Text returns a key for people: a string without its quotes, all else as JSON.
func Text(key string) string {
	var s string
	if strings.HasPrefix(key, `"`) && json.Unmarshal([]byte(key), &s) == nil {
		return s
	}
	return key
}

// exact returns the JSON of an item, and whether it decodes to the same item.
func exact(item any) (string, bool) {
	v := reflect.ValueOf(item)
	if v.Kind() == reflect.String && !utf8.ValidString(v.String()) {
		return "", false
	}
	key, err := marshal(item)
	if err != nil {
		return "", false
	}
	switch item.(type) {
	case nil, json.Marshaler, encoding.TextMarshaler:
		return key, true
	}
	switch v.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array, reflect.Pointer:
		read := reflect.New(v.Type())
		return key, json.Unmarshal([]byte(key), read.Interface()) == nil && reflect.DeepEqual(read.Elem().Interface(), item)
	default: // JSON has no other kinds than these and plain values
		return key, true
	}
}

// ofText returns the key of a text, with a hash if it is cut or not valid UTF-8.
func ofText(s string) string {
	if utf8.ValidString(s) {
		if key := quote(s); len(key) <= Max {
			return key
		}
	}
	hash := sha256.Sum256([]byte(s))
	end := " ... (sha256 " + hex.EncodeToString(hash[:16]) + ")"
	for n := min(len(s), Max); ; n /= 2 {
		if key := quote(strings.ToValidUTF8(s[:n], "\uFFFD") + end); len(key) <= Max {
			return key
		}
	}
}

// quote returns a text as JSON.
func quote(s string) string {
	key, err := marshal(s)
	if err != nil {
		panic(fmt.Errorf("itemkey: encode a string: %w", err)) // encoding/json encodes each
	}
	return key
}

// marshal returns JSON without the escapes that are meant for HTML. A panic of a
// method of the value is an error.
func marshal(v any) (_ string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
