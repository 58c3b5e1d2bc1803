package taskjson

import (
	"encoding"
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
)

// Encoder appends one JSON value to a byte slice. The calls must follow the
// grammar, which generated code does; it is not checked. An Encoder is for one
// goroutine and one value.
type Encoder struct {
	buf    []byte
	start  int
	depth  int
	err    *Error
	fresh  bool    // nothing of buf belongs to the caller
	pooled *[]byte // what buf began as, when it is of the pool
}

// NewEncoder returns an encoder that appends to dst. It makes room for a small
// value at once.
func NewEncoder(dst []byte) Encoder { return newEncoderSize(dst, 128) }

// newEncoderSize is NewEncoder for a value of about so many bytes, which is
// worth giving: too large a size costs garbage collection, and too small a size a
// second allocation.
func newEncoderSize(dst []byte, size int) Encoder {
	size = min(size, MaxSize)
	fresh := dst == nil
	if cap(dst)-len(dst) < size {
		if fresh {
			dst = make([]byte, 0, size) // less dear than to grow
		} else {
			dst = slices.Grow(dst, size)
		}
	}
	return Encoder{buf: dst, start: len(dst), fresh: fresh}
}

// Finish returns dst with the value appended, or as it was with the first
// error. A value of more than [MaxSize] bytes is one.
func (e *Encoder) Finish() ([]byte, error) {
	if e.err == nil && len(e.buf)-e.start > MaxSize {
		e.err = tooLarge()
	}
	out := e.buf
	if e.err != nil {
		out = out[:e.start]
	}
	if e.pooled != nil {
		out = e.release(out)
	}
	if e.err != nil {
		return out, e.err
	}
	return out, nil
}

// Open begins an object that always has a first field. The text is { and the
// name of that field with its colon, as one literal of the program. Like Next and Name it
// returns e, for the value.
func (e *Encoder) Open(text string) *Encoder {
	e.literal(text)
	if e.depth++; e.depth > MaxDepth {
		e.deep()
	}
	return e
}

// Next goes to a field that always has one before it. The text is a comma and
// the name of the field with its colon.
func (e *Encoder) Next(text string) *Encoder {
	e.literal(text)
	return e
}

// BeginObject writes {.
func (e *Encoder) BeginObject() { e.begin('{') }

// EndObject writes }.
func (e *Encoder) EndObject() { e.end('}') }

// Name writes the name of a field, which needs no escaping.
func (e *Encoder) Name(name string) *Encoder {
	e.separate('{')
	e.quote(name)
	e.buf = append(e.buf, ':')
	return e
}

// Key writes the key of a map.
func (e *Encoder) Key(key string) {
	if literalText(key) < len(key) {
		e.separate('{')
		e.text(key, true)
		e.buf = append(e.buf, ':')
		return
	}
	first := 1
	if e.buf[len(e.buf)-1] == '{' {
		first = 0
	}
	out := e.extend(first + len(key) + 3)
	out[0] = ','
	out = out[first:]
	out[0] = '"'
	n := 1 + copy(out[1:], key)
	out[n], out[n+1] = '"', ':'
}

// element prepares for the next element of an array.
func (e *Encoder) element() { e.separate('[') }

// Null writes null.
func (e *Encoder) Null() { e.literal("null") }

// Bool writes true or false.
func (e *Encoder) Bool(v bool) { e.literal(strconv.FormatBool(v)) }

// Int writes an integer.
func (e *Encoder) Int(v int64) {
	if v < 0 {
		e.buf = append(e.buf, '-')
		e.Uint(-uint64(v))
		return
	}
	e.Uint(uint64(v))
}

// Uint writes an integer.
func (e *Encoder) Uint(v uint64) {
	// 1233/4096 is about the logarithm of 2: at most one digit too few.
	n := bits.Len64(v) * 1233 >> 12
	if n == 0 || v >= powers[n] {
		n++
	}
	out := e.extend(n)
	for n--; v >= 10; n-- {
		out[n] = byte('0' + v%10)
		v /= 10
	}
	out[0] = byte('0' + v)
}

// powers are the powers of 10.
var powers = [20]uint64{
	1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
}

// Float writes a float of 32 or 64 bits as encoding/json does: the shortest
// digits that read back the same, with an exponent where JavaScript has one.
func (e *Encoder) Float(v float64, bits int) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		e.fail(OutOfRange, "JSON has no NaN and no infinity", nil)
		return
	}
	format, abs := byte('f'), math.Abs(v)
	if abs != 0 {
		if bits == 64 && (abs < 1e-6 || abs >= 1e21) ||
			bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21) {
			format = 'e'
		}
	}
	e.buf = strconv.AppendFloat(e.buf, v, format, -1, bits)
	if n := len(e.buf); format == 'e' && n >= 4 && e.buf[n-4] == 'e' && e.buf[n-3] == '-' && e.buf[n-2] == '0' {
		e.buf[n-2] = e.buf[n-1] // e-09 is e-9
		e.buf = e.buf[:n-1]
	}
}

// String writes a string.
func (e *Encoder) String(v string) {
	if literalText(v) == len(v) {
		e.quote(v)
		return
	}
	e.text(v, false)
}

// Bytes writes bytes in base64, and null for nil.
func (e *Encoder) Bytes(v []byte) {
	if v == nil {
		e.Null()
		return
	}
	e.buf = append(e.buf, '"')
	e.buf = base64.StdEncoding.AppendEncode(e.buf, v)
	e.buf = append(e.buf, '"')
}

// UUID writes a UUID in its usual form.
func (e *Encoder) UUID(v uuid.UUID) {
	const digits = "0123456789abcdef"
	out := (*[quotedUUID]byte)(e.extend(quotedUUID))
	for i, at := range octets {
		out[at], out[at+1] = digits[v[i]>>4], digits[v[i]&15]
	}
	out[0], out[9], out[14], out[19], out[24], out[37] = '"', '-', '-', '-', '-', '"'
}

// JSON writes what a type's own MarshalJSON returns, compacted.
func (e *Encoder) JSON(v json.Marshaler) {
	raw, err := v.MarshalJSON()
	if err != nil {
		e.fail(InvalidValue, "MarshalJSON failed: "+err.Error(), err)
		return
	}
	e.value(raw)
}

// Text writes what a type's own MarshalText returns, as a string.
func (e *Encoder) Text(v encoding.TextMarshaler) {
	text, err := v.MarshalText()
	if err != nil {
		e.fail(InvalidValue, "MarshalText failed: "+err.Error(), err)
		return
	}
	e.text(string(text), false)
}

// Raw writes JSON as it is, compacted, and null for nil.
func (e *Encoder) Raw(v json.RawMessage) {
	if v == nil {
		e.Null()
		return
	}
	e.value(v)
}

// textKey is the key of a map, with the text that it is written as.
type textKey[K any] struct {
	text string
	key  K
}

// textKeys returns the keys of a map whose keys have a MarshalText, sorted by
// what it returns.
func textKeys[K interface {
	comparable
	encoding.TextMarshaler
}, V any](e *Encoder, m map[K]V) []textKey[K] {
	keys := make([]textKey[K], 0, len(m))
	for k := range m {
		text, err := k.MarshalText()
		if err != nil {
			e.fail(InvalidValue, "MarshalText of a key failed: "+err.Error(), err)
			return nil
		}
		keys = append(keys, textKey[K]{text: string(text), key: k})
	}
	slices.SortFunc(keys, func(a, b textKey[K]) int { return strings.Compare(a.text, b.text) })
	for i := 1; i < len(keys); i++ {
		if keys[i].text == keys[i-1].text {
			e.fail(DuplicateName, "two keys of this map are written the same", nil)
			return nil
		}
	}
	return keys
}

// begin opens an object or array.
func (e *Encoder) begin(c byte) {
	e.buf = append(e.buf, c)
	if e.depth++; e.depth > MaxDepth {
		e.deep()
	}
}

func (e *Encoder) deep() { e.fail(TooDeep, tooDeep(), nil) }

// end closes an object or array.
func (e *Encoder) end(c byte) {
	e.buf = append(e.buf, c)
	e.depth--
}

// separate writes a comma unless the object or array has just begun. No value
// ends with an opening bracket, so one byte is enough.
func (e *Encoder) separate(open byte) {
	if e.buf[len(e.buf)-1] != open {
		e.buf = append(e.buf, ',')
	}
}

// value appends JSON made elsewhere.
func (e *Encoder) value(raw []byte) {
	out, err := jsontext.AppendFormat(e.buf, raw,
		jsontext.PreserveRawStrings(true), jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true))
	if err != nil {
		e.failWithin(convert(err))
		return
	}
	if err := checkValue(raw, e.depth); err != nil {
		e.failWithin(err)
		return
	}
	e.buf = out
}

// text appends a string in quotes. The escapes are as in encoding/json.
func (e *Encoder) text(s string, key bool) {
	const digits = "0123456789abcdef"
	first := literalText(s)
	if first == len(s) {
		e.quote(s)
		return
	}
	buf := e.buf
	buf = append(buf, '"')
	done := 0
	for i := first; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' {
				i++
				continue
			}
			buf = append(buf, s[done:i]...)
			switch c {
			case 0:
				e.failText(NUL, noNUL, key)
				return
			case '"', '\\':
				buf = append(buf, '\\', c)
			case '\b':
				buf = append(buf, '\\', 'b')
			case '\f':
				buf = append(buf, '\\', 'f')
			case '\n':
				buf = append(buf, '\\', 'n')
			case '\r':
				buf = append(buf, '\\', 'r')
			case '\t':
				buf = append(buf, '\\', 't')
			default:
				buf = append(buf, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
			}
			i++
			done = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			e.failText(BadUTF8, "bytes that are not UTF-8", key)
			return
		case r == '\u2028' || r == '\u2029':
			buf = append(buf, s[done:i]...)
			buf = append(buf, '\\', 'u', '2', '0', '2', digits[r&15])
			done = i + size
		}
		i += size
	}
	buf = append(buf, s[done:]...)
	buf = append(buf, '"')
	e.buf = buf
}

// quote appends a string in quotes that needs no escapes.
func (e *Encoder) quote(s string) {
	out := e.extend(len(s) + 2)
	out[0] = '"'
	copy(out[1:], s)
	out[len(out)-1] = '"'
}

// literal appends what is JSON.
func (e *Encoder) literal(s string) { copy(e.extend(len(s)), s) }

// extend appends n bytes and returns them for the caller to overwrite. Unlike
// append of a slice, it stores no pointer when there is room: the write barrier is
// expensive while the garbage collector runs.
func (e *Encoder) extend(n int) []byte {
	at := len(e.buf)
	if cap(e.buf)-at < n {
		e.grow(n)
	}
	e.buf = e.buf[:at+n]
	return e.buf[at:]
}

// literalText returns how much of a string, from its beginning, is ASCII that
// needs no escape. It tests eight bytes at a time, as plainString does.
func literalText(s string) int {
	if len(s) < 8 {
		for i := range len(s) {
			if !literalByte[s[i]] {
				return i
			}
		}
		return len(s)
	}
	for i := 0; ; i += 8 {
		i = min(i, len(s)-8) // the last eight, some of them twice
		b := s[i : i+8]
		x := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		// One bit is between " and &, and one between < and >.
		stop := (x | (x - ' '*ones) | ((x ^ '\\'*ones) - ones) |
			(((x | ('"'^'&')*ones) ^ '&'*ones) - ones) | (((x | ('<'^'>')*ones) ^ '>'*ones) - ones)) & highs
		if stop != 0 {
			return i + bits.TrailingZeros64(stop)/8
		}
		if i+8 == len(s) {
			return len(s)
		}
	}
}

// literalByte says which bytes are ASCII that needs no escape.
var literalByte = func() (table [256]bool) {
	for c := byte(' '); c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return table
}()

// failText is fail for a string, or for the key of a map, whose place is that
// of the map.
func (e *Encoder) failText(p Problem, detail string, key bool) {
	if e.err != nil {
		return
	}
	e.fail(p, detail, nil)
	if key {
		e.err.Pointer = string(jsontext.Pointer(e.err.Pointer).Parent())
		e.err.Detail = "in a key: " + detail
	}
}

// failWithin is fail with the error of a value made elsewhere, whose pointer
// begins at that value.
func (e *Encoder) failWithin(err error) {
	if e.err != nil {
		return
	}
	within := &Error{Problem: Syntax, Detail: "not JSON", Cause: err}
	errors.As(err, &within)
	e.fail(within.Problem, within.Detail, within.Cause)
	e.err.Pointer += within.Pointer
}

// fail keeps the first error.
func (e *Encoder) fail(p Problem, detail string, cause error) {
	if e.err == nil {
		e.err = &Error{Pointer: pointerAt(e.buf[e.start:]), Problem: p, Detail: detail, Cause: cause}
	}
}
