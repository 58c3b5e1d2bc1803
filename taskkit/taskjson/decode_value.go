package taskjson

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/google/uuid"
)

// Bool reads true or false.
func (d *Decoder) Bool() bool {
	if end := literal(d.src, d.pos, "true"); end > 0 {
		d.pos = end
		return true
	}
	if end := literal(d.src, d.pos, "false"); end > 0 {
		d.pos = end
		return false
	}
	d.wrong("true or false")
	return false
}

// maxDigits is how many digits always fit 64 bits.
const maxDigits = 18

// natural returns the digits at i as a number, and their end; -1 when they are
// too many to be sure, or not the whole number.
func natural(src []byte, i int) (n uint64, end int) {
	start := i
	for i < len(src) && src[i]-'0' <= 9 {
		n = n*10 + uint64(src[i]-'0')
		i++
	}
	switch {
	case i == start || i-start > maxDigits, src[start] == '0' && i > start+1:
		return 0, -1
	case i < len(src) && (src[i] == '.' || src[i]|0x20 == 'e'):
		return 0, -1
	default:
		return n, i
	}
}

// Int reads an integer. A fraction or an exponent is refused, also where its value is
// whole.
func (d *Decoder) Int() int { return int(d.int(strconv.IntSize)) }

// Int8 is Int for 8 bits.
func (d *Decoder) Int8() int8 { return int8(d.int(8)) }

// Int16 is Int for 16 bits.
func (d *Decoder) Int16() int16 { return int16(d.int(16)) }

// Int32 is Int for 32 bits.
func (d *Decoder) Int32() int32 { return int32(d.int(32)) }

// Int64 is Int for 64 bits.
func (d *Decoder) Int64() int64 { return d.int(64) }

// Uint is Int for unsigned integers.
func (d *Decoder) Uint() uint { return uint(d.uint(strconv.IntSize)) }

// Uint8 is Uint for 8 bits.
func (d *Decoder) Uint8() uint8 { return uint8(d.uint(8)) }

// Uint16 is Uint for 16 bits.
func (d *Decoder) Uint16() uint16 { return uint16(d.uint(16)) }

// Uint32 is Uint for 32 bits.
func (d *Decoder) Uint32() uint32 { return uint32(d.uint(32)) }

// Uint64 is Uint for 64 bits.
func (d *Decoder) Uint64() uint64 { return d.uint(64) }

// int reads a signed integer of so many bits.
func (d *Decoder) int(bits int) int64 {
	first, limit := d.pos, uint64(1)<<(bits-1)
	minus := d.peek() == '-'
	if minus {
		first++
	} else {
		limit--
	}
	n, end := natural(d.src, first)
	if end < 0 || n > limit {
		return d.longInt(bits)
	}
	d.pos = end
	if minus {
		return -int64(n)
	}
	return int64(n)
}

// longInt is int for what has many digits or is refused.
func (d *Decoder) longInt(bits int) int64 {
	raw := d.number("an integer")
	if raw == nil {
		return 0
	}
	n, err := strconv.ParseInt(string(raw), 10, bits)
	if err != nil {
		d.failNumber(err, "a signed integer of "+width(bits))
		return 0
	}
	return n
}

// uint reads an unsigned integer of so many bits.
func (d *Decoder) uint(bits int) uint64 {
	n, end := natural(d.src, d.pos)
	if end < 0 || n>>1>>(bits-1) != 0 {
		return d.longUint(bits)
	}
	d.pos = end
	return n
}

// longUint is longInt for unsigned integers.
func (d *Decoder) longUint(bits int) uint64 {
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
		return 0
	}
	return n
}

// Float64 reads a float. A number beyond its range is refused; digits beyond its
// precision are rounded, as everywhere.
func (d *Decoder) Float64() float64 { return d.float(64) }

// Float32 is Float64 for 32 bits.
func (d *Decoder) Float32() float32 { return float32(d.float(32)) }

// float reads a float of so many bits.
func (d *Decoder) float(bits int) float64 {
	raw := d.number("a number")
	if raw == nil {
		return 0
	}
	f, err := strconv.ParseFloat(string(raw), bits)
	if err != nil {
		d.failNumber(err, "a float of "+width(bits))
		return 0
	}
	return f
}

// String reads a string.
func (d *Decoder) String() string { return d.keep(d.text("a string")) }

// Bytes reads bytes in base64. Null is nil.
func (d *Decoder) Bytes() []byte {
	if d.Null() {
		return nil
	}
	text := d.text("a string in base64")
	if text == nil {
		return nil
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(out, text)
	if err != nil {
		d.fail(InvalidValue, "want a string in base64", err)
		return nil
	}
	return out[:n]
}

// UUID reads a UUID in any of the forms its UnmarshalText takes.
func (d *Decoder) UUID() uuid.UUID {
	if id, ok := usualUUID(d.src[d.pos:]); ok {
		d.pos += quotedUUID
		return id
	}
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

// JSON reads a value by its type's own UnmarshalJSON, null included.
func (d *Decoder) JSON(v json.Unmarshaler) {
	raw := d.raw()
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
func (d *Decoder) Raw() json.RawMessage { return bytes.Clone(d.raw()) }

// Span is Raw, but returns where in the source the value begins and ends; 0 and 0
// after an error.
func (d *Decoder) Span() (begin, end int) {
	raw := d.raw()
	return d.pos - len(raw), d.pos
}

// raw reads any value that may be stored; nil after an error.
func (d *Decoder) raw() []byte {
	start := d.pos
	end := storable(d.src, start, d.depth)
	if end < 0 {
		if end = d.readChecked(); end < 0 {
			return nil
		}
	}
	d.pos = end
	return d.src[start:end]
}

// number reads a number; nil after an error.
func (d *Decoder) number(want string) []byte {
	start := d.pos
	end := number(d.src, start)
	if end < 0 {
		d.wrong(want)
		return nil
	}
	d.pos = end
	return d.src[start:end]
}

// text is quoted without NUL, which only an escape can say.
func (d *Decoder) text(want string) []byte {
	if text := d.plain(); text != nil {
		return text
	}
	text := d.withEscapes(want)
	if bytes.IndexByte(text, 0) >= 0 {
		d.fail(NUL, noNUL, nil)
		return nil
	}
	return text
}

// quoted reads a string and returns what it says, valid until the next call;
// nil after an error.
func (d *Decoder) quoted(want string) []byte {
	if text := d.plain(); text != nil {
		return text
	}
	return d.withEscapes(want)
}

// plain is quoted for a string of ASCII without escapes. It reads nothing and
// returns nil when something else is there.
func (d *Decoder) plain() []byte {
	start := d.pos + 1
	end := plainString(d.src, d.pos)
	if end < 0 {
		return nil
	}
	d.pos = end + 1
	return d.src[start:end]
}

// withEscapes is quoted for what plain does not read.
func (d *Decoder) withEscapes(want string) []byte {
	start := d.pos
	end, escaped := anyString(d.src, start)
	if end < 0 {
		d.wrong(want)
		return nil
	}
	text := unquote(d.scratch[:0], d.src[start:end], escaped)
	if text == nil {
		d.wrong(want)
		return nil
	}
	if escaped {
		d.scratch = text
	}
	d.pos = end
	return text
}

// Strings of up to maxShared bytes share allocations of up to chunkSize bytes. So
// a string that is kept alone keeps little else.
const (
	maxShared = 64
	chunkSize = 1 << 10
)

// keep returns a copy of a text.
func (d *Decoder) keep(text []byte) string {
	if len(text) > maxShared {
		return string(text)
	}
	start := d.strings.Len()
	if d.strings.Cap()-start < len(text) {
		// No more than the rest of the source can follow.
		d.strings.Reset()
		d.strings.Grow(max(len(text), min(chunkSize, len(d.whole)-d.pos)))
		start = 0
	}
	d.strings.Write(text)
	return d.strings.String()[start:]
}

// quotedUUID is the length of a UUID in its usual form, with quotes.
const quotedUUID = 38

// octets are the places of the bytes of a UUID in it.
var octets = [16]uint8{1, 3, 5, 7, 10, 12, 15, 17, 20, 22, 25, 27, 29, 31, 33, 35}

// usualUUID reads a UUID in its usual form, and reports whether it is one.
func usualUUID(src []byte) (id uuid.UUID, ok bool) {
	if len(src) < quotedUUID {
		return id, false
	}
	s := (*[quotedUUID]byte)(src)
	if s[0] != '"' || s[37] != '"' || s[9] != '-' || s[14] != '-' || s[19] != '-' || s[24] != '-' {
		return id, false
	}
	all := byte(0)
	for i, at := range octets {
		high, low := hexDigit[s[at]], hexDigit[s[at+1]]
		all |= high | low
		id[i] = high<<4 | low
	}
	return id, all < 16
}

// hexDigit is the value of each digit in base 16, and 16 for every other byte.
var hexDigit = func() (table [256]byte) {
	for c := range table {
		switch {
		case '0' <= c && c <= '9':
			table[c] = byte(c - '0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			table[c] = byte(c|0x20-'a') + 10
		default:
			table[c] = 16
		}
	}
	return table
}()
