package taskjson

import (
	"slices"
	"strconv"
	"strings"
)

// Refuse refuses a value that is none of an enum's, which are named.
func (e *Encoder) Refuse(known ...string) {
	e.fail(InvalidValue, "want one of "+strings.Join(known, ", "), nil)
}

// Refuse refuses the value just read, which is none of an enum's. They are named;
// the value is not, since it may be a secret.
func (d *Decoder) Refuse(known ...string) {
	d.fail(InvalidValue, "want one of "+strings.Join(known, ", "), nil)
}

// Failed reports whether there was an error, so that the code of a type that
// contains itself does not follow a cycle of pointers forever.
func (e *Encoder) Failed() bool { return e.err != nil }

// integer is a type that may be the key of a map as a number.
type integer interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

// NumberKeys returns the keys of a map whose keys are integers, sorted as text,
// which is how encoding/json sorts them.
func NumberKeys[K integer, V any](m map[K]V) []TextKey[K] {
	keys := make([]TextKey[K], 0, len(m))
	for k := range m {
		text := strconv.FormatUint(uint64(k), 10)
		if k < 0 {
			text = strconv.FormatInt(int64(k), 10)
		}
		keys = append(keys, TextKey[K]{Text: text, Key: k})
	}
	slices.SortFunc(keys, func(a, b TextKey[K]) int { return strings.Compare(a.Text, b.Text) })
	return keys
}

// IntKey reads the key of a map as an integer of so many bits. It is written as
// an Encoder would write it: no plus, no leading zeros.
func (d *Decoder) IntKey(bits int) int64 {
	key := d.Key()
	n, err := strconv.ParseInt(key, 10, bits)
	if err != nil || strconv.FormatInt(n, 10) != key {
		d.failKey(err, "a signed integer of "+width(bits))
		return 0
	}
	return n
}

// UintKey is IntKey for unsigned integers.
func (d *Decoder) UintKey(bits int) uint64 {
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
