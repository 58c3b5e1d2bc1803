package taskjson

import (
	"bytes"
	"cmp"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// Decoder reads one JSON value. After its first error every method does nothing
// and returns a zero, and More is false, so that loops end. A Decoder is for
// one goroutine and one value; what is read shares no memory with the source.
type Decoder struct {
	dec     jsontext.Decoder
	buf     bytes.Buffer
	scratch []byte // of the last string with escapes
	size    int    // of the source
	options jsontext.Options
	err     *Error
}

// maxPooled is the largest source that a decoder in the pool may still refer
// to. A larger value takes long enough to make one decoder look cheap.
const maxPooled = 16 << 10

// decoders holds decoders that are not in use. It is state of the package, and
// worth it: the allocations of a decoder are most of the time of a small state,
// which is read anew for every batch.
var decoders = sync.Pool{New: func() any {
	return &Decoder{options: jsontext.AllowDuplicateNames(true)}
}}

// NewDecoder returns a decoder of src, which must not change meanwhile.
func NewDecoder(src []byte) *Decoder {
	d, ok := decoders.Get().(*Decoder)
	if !ok {
		panic("taskjson: something else is in the pool of decoders")
	}
	d.buf, d.size = *bytes.NewBuffer(src), len(src)
	// Duplicates are found by Once, Repeated and checkValue: the sets of names
	// that jsontext keeps for it are half of the allocations.
	d.dec.Reset(&d.buf, d.options)
	return d
}

// Finish returns the first error. Anything after the value is one. The decoder
// must not be used any more.
func (d *Decoder) Finish() error {
	if d.err == nil {
		if _, err := d.dec.ReadToken(); !errors.Is(err, io.EOF) {
			d.err = trailing()
		}
	}
	failed := d.err
	if d.size <= maxPooled {
		d.err = nil
		decoders.Put(d)
	}
	if failed == nil {
		return nil // not a nil *Error in an error
	}
	return failed
}

// Null reads null and reports true, or reads nothing.
func (d *Decoder) Null() bool {
	if d.err != nil || d.dec.PeekKind() != 'n' {
		return false
	}
	return d.value() != nil
}

// BeginObject reads {. It reports false when something else is there, which is
// an error.
func (d *Decoder) BeginObject() bool { return d.begin('{', "an object") }

// BeginArray is BeginObject for [.
func (d *Decoder) BeginArray() bool { return d.begin('[', "an array") }

// More reports whether the object or array goes on.
func (d *Decoder) More() bool {
	if d.err != nil {
		return false
	}
	switch d.dec.PeekKind() {
	case '}', ']', jsontext.KindInvalid:
		return false // End reads what is wrong
	default:
		return true
	}
}

// End reads the end of an object or array.
func (d *Decoder) End() {
	if d.err != nil {
		return
	}
	tok, err := d.dec.ReadToken()
	if err != nil {
		d.failRead(err)
		return
	}
	if k := tok.Kind(); k != '}' && k != ']' {
		d.fail(WrongType, "more elements than the array has in Go", nil)
	}
}

// Short refuses an array with fewer elements than it has in Go.
func (d *Decoder) Short(have, want int) {
	if d.err == nil {
		if d.End(); d.err == nil {
			d.fail(WrongType, fmt.Sprintf("%d elements, want %d", have, want), nil)
		}
	}
}

// Name reads the name of a field. It is valid until the next call.
func (d *Decoder) Name() []byte {
	raw := d.value()
	if raw == nil {
		return nil
	}
	return d.unquote(raw)
}

// Key reads the key of a map.
func (d *Decoder) Key() string { return string(d.text("a name")) }

// TextKey reads the key of a map by the key type's UnmarshalText.
func (d *Decoder) TextKey(v encoding.TextUnmarshaler) { d.Text(v) }

// Repeated refuses the key just read, since it is in the map.
func (d *Decoder) Repeated() {
	d.fail(DuplicateName, "this key is in the object twice", nil)
}

// Once refuses the name just read when its bit in seen is set, and sets it.
func (d *Decoder) Once(seen *uint64, bit uint) {
	if *seen&(1<<bit) != 0 {
		d.fail(DuplicateName, "this name is in the object twice", nil)
	}
	*seen |= 1 << bit
}

// Hint guesses how many elements of a size follow in this array, for making a
// slice in one piece. It looks no further than the next bracket, so that many
// short arrays do not each make room for all the rest.
func (d *Decoder) Hint(size int) int {
	return (max(0, bytes.IndexByte(d.dec.UnreadBuffer(), ']')) + 1) / size
}

// Unknown refuses the name just read, given the ones there are.
func (d *Decoder) Unknown(name []byte, known ...string) {
	if d.err != nil {
		return
	}
	for _, k := range known {
		if strings.EqualFold(k, string(name)) {
			d.fail(CollidingName, fmt.Sprintf("no field has this name; %q differs from it only in case", k), nil)
			return
		}
	}
	d.fail(UnknownName, "no field has this name; known are "+cmp.Or(strings.Join(known, ", "), "none"), nil)
}

// Bool reads true or false.
func (d *Decoder) Bool() bool {
	raw := d.value()
	if raw == nil {
		return false
	}
	switch raw[0] {
	case 't':
		return true
	case 'f':
		return false
	}
	d.wrong("true or false", raw)
	return false
}

// Int reads an integer of so many bits, 0 being those of int. A fraction or an exponent is refused,
// also where its value is whole.
func (d *Decoder) Int(bits int) int64 {
	raw := d.number("an integer")
	if raw == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, bits)
	if err != nil {
		d.failNumber(err, "a signed integer of "+width(bits))
	}
	return n
}

// Uint is Int for unsigned integers.
func (d *Decoder) Uint(bits int) uint64 {
	raw := d.number("an integer")
	if raw == nil {
		return 0
	}
	n, err := strconv.ParseUint(string(raw), 10, bits)
	if err != nil {
		if raw[0] == '-' {
			err = strconv.ErrRange
		}
		d.failNumber(err, "an unsigned integer of "+width(bits))
	}
	return n
}

// Float reads a float of so many bits. A number beyond its range is refused;
// digits beyond its precision are rounded, as everywhere.
func (d *Decoder) Float(bits int) float64 {
	raw := d.number("a number")
	if raw == nil {
		return 0
	}
	f, err := strconv.ParseFloat(string(raw), bits)
	if err != nil {
		d.failNumber(err, "a float of "+width(bits))
	}
	return f
}

// String reads a string.
func (d *Decoder) String() string { return string(d.text("a string")) }

// Bytes reads bytes in base64.
func (d *Decoder) Bytes() []byte {
	text := d.text("a string in base64")
	if text == nil {
		return nil
	}
	out, err := base64.StdEncoding.AppendDecode([]byte{}, text)
	if err != nil {
		d.fail(InvalidValue, "want a string in base64", err)
		return nil
	}
	return out
}

// UUID reads a UUID in any of the forms its UnmarshalText takes.
func (d *Decoder) UUID() uuid.UUID {
	text := d.text("a UUID")
	if text == nil {
		return uuid.UUID{}
	}
	id, err := uuid.ParseBytes(text)
	if err != nil {
		d.fail(InvalidValue, "want a UUID", err)
	}
	return id
}

// Time reads a time as RFC 3339 has it.
func (d *Decoder) Time() (t time.Time) {
	raw := d.value()
	switch {
	case raw == nil:
	case raw[0] != '"':
		d.wrong("a time", raw)
	default:
		if err := t.UnmarshalJSON(raw); err != nil {
			d.fail(InvalidValue, "want a time such as 2006-01-02T15:04:05Z", err)
		}
	}
	return t
}

// JSON reads a value by its type's own UnmarshalJSON, null included.
func (d *Decoder) JSON(v json.Unmarshaler) {
	raw := d.checked()
	if raw == nil {
		return
	}
	if err := v.UnmarshalJSON(raw); err != nil {
		d.fail(InvalidValue, fmt.Sprintf("UnmarshalJSON of %T refuses it", v), err)
	}
}

// Text reads a string by its type's own UnmarshalText.
func (d *Decoder) Text(v encoding.TextUnmarshaler) {
	text := d.text("a string")
	if text == nil {
		return
	}
	if err := v.UnmarshalText(text); err != nil {
		d.fail(InvalidValue, fmt.Sprintf("UnmarshalText of %T refuses it", v), err)
	}
}

// Raw reads any value as it is, null included.
func (d *Decoder) Raw() json.RawMessage {
	raw := d.checked()
	if raw == nil {
		return nil
	}
	return append(json.RawMessage{}, raw...)
}

// begin reads the beginning of an object or array.
func (d *Decoder) begin(kind jsontext.Kind, want string) bool {
	if d.err != nil {
		return false
	}
	if k := d.dec.PeekKind(); k != kind {
		if raw := d.value(); raw != nil {
			d.wrong(want, raw)
		}
		return false
	}
	if _, err := d.dec.ReadToken(); err != nil {
		d.failRead(err)
		return false
	}
	if d.dec.StackDepth() > MaxDepth {
		d.fail(TooDeep, tooDeep(), nil)
		return false
	}
	return true
}

// value reads the next value or name. It returns nil after an error.
func (d *Decoder) value() []byte {
	if d.err != nil {
		return nil
	}
	raw, err := d.dec.ReadValue()
	if err != nil {
		d.failRead(err)
		return nil
	}
	return raw
}

// checked is value for what is handed on as JSON.
func (d *Decoder) checked() []byte {
	raw := d.value()
	if raw == nil {
		return nil
	}
	if err := checkValue(raw, d.dec.StackDepth()); err != nil {
		err.Pointer = string(d.dec.StackPointer()) + err.Pointer
		d.err = err
		return nil
	}
	return raw
}

// number reads a number.
func (d *Decoder) number(want string) []byte {
	raw := d.value()
	if raw != nil && raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		d.wrong(want, raw)
		return nil
	}
	return raw
}

// text reads a string and returns what it says, valid until the next call; nil
// after an error.
func (d *Decoder) text(want string) []byte {
	raw := d.value()
	if raw == nil {
		return nil
	}
	if raw[0] != '"' {
		d.wrong(want, raw)
		return nil
	}
	text := d.unquote(raw)
	if bytes.IndexByte(text, 0) >= 0 {
		d.fail(NUL, noNUL, nil)
		return nil
	}
	return text
}

// unquote returns what a valid string says. Most have no escapes.
func (d *Decoder) unquote(raw []byte) []byte {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	text, err := jsontext.AppendUnquote(d.scratch[:0], raw)
	if err != nil {
		d.failRead(err)
		return nil
	}
	d.scratch = text
	return text
}

// wrong refuses a value of another type.
func (d *Decoder) wrong(want string, raw []byte) {
	have := "a number"
	switch raw[0] {
	case 'n':
		have = "null"
	case 't', 'f':
		have = "a boolean"
	case '"':
		have = "a string"
	case '{':
		have = "an object"
	case '[':
		have = "an array"
	}
	d.fail(WrongType, "want "+want+", have "+have, nil)
}

// failNumber refuses a number that strconv could not read.
func (d *Decoder) failNumber(err error, want string) {
	if errors.Is(err, strconv.ErrRange) {
		d.fail(OutOfRange, "does not fit "+want, nil)
		return
	}
	d.fail(WrongType, "want "+want+", have a fraction or an exponent", nil)
}

// failRead keeps an error of the parser.
func (d *Decoder) failRead(err error) {
	own := &Error{Problem: Syntax, Detail: "not JSON", Cause: err}
	errors.As(Convert(err), &own)
	d.err = own
}

// fail keeps the first error, at the value just read.
func (d *Decoder) fail(p Problem, detail string, cause error) {
	if d.err == nil {
		d.err = &Error{Pointer: string(d.dec.StackPointer()), Problem: p, Detail: detail, Cause: cause}
	}
}

// width says how wide a number may be.
func width(bits int) string { return strconv.Itoa(cmp.Or(bits, strconv.IntSize)) + " bits" }
