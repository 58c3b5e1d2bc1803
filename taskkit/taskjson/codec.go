package taskjson

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Codec encodes values of one type as JSON and decodes them. [NewCodec] makes one
// of generated functions, [Reflected] one that works by reflection. Both apply the
// rules of this package. The zero Codec stands for a type that is not stored.
type Codec[T any] struct {
	size  func(v *T) int
	write func(e *Encoder, v *T)
	read  func(d *Decoder, v *T)

	// The functions of a codec that works by reflection.
	append func(dst []byte, v *T) ([]byte, error)
	decode func(src []byte, v *T) error

	hide func(*Error) // changes each error; may be nil
}

// NewCodec returns a codec of functions that taskgen wrote: size estimates the length of a
// value in bytes, write writes it, and read reads it into a zero value. They must not
// keep the encoder and the decoder.
func NewCodec[T any](size func(v *T) int, write func(e *Encoder, v *T), read func(d *Decoder, v *T)) Codec[T] {
	return Codec[T]{size: size, write: write, read: read}
}

// Reflected returns a codec that works by reflection. It is slower than generated
// code.
func Reflected[T any]() Codec[T] {
	opts := json.JoinOptions(json.RejectUnknownMembers(true), json.Deterministic(true), json.FormatNilSliceAsNull(true), json.FormatNilMapAsNull(true),
		jsontext.AllowDuplicateNames(false), jsontext.AllowInvalidUTF8(false))
	return Codec[T]{
		append: func(dst []byte, v *T) ([]byte, error) {
			buf := bytes.NewBuffer(dst)
			if err := json.MarshalWrite(buf, v, opts); err != nil {
				return buf.Bytes(), convert(err)
			}
			return buf.Bytes(), CheckStorable(buf.Bytes()[len(dst):])
		},
		decode: func(src []byte, v *T) error {
			if err := CheckStorable(src); err != nil {
				return err
			}
			return convert(json.Unmarshal(src, v, opts))
		},
	}
}

// Hiding returns the codec with a function that removes secrets from each error.
func (c Codec[T]) Hiding(hide func(*Error)) Codec[T] {
	c.hide = hide
	return c
}

// Check is [Check] for the JSON of a value.
func (c Codec[T]) Check(src []byte) error { return c.hidden(Check(src)) }

// Below returns a function for Hiding that names no place below a number of levels, for JSON
// whose secrets are not known.
func Below(levels int) func(*Error) {
	return func(e *Error) {
		at := -1
		for i, c := range e.Pointer {
			if c == '/' {
				at++
			}
			if at == levels {
				e.Pointer, e.Cause = e.Pointer[:i]+"/***", nil
				return
			}
		}
	}
}

// hidden returns an error without secrets.
func (c Codec[T]) hidden(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && c.hide != nil {
		c.hide(e)
		return e
	}
	return err
}

// IsZero reports whether c is the zero Codec, which cannot be used.
func (c Codec[T]) IsZero() bool { return c.write == nil && c.append == nil }

// Append appends the JSON of v to dst. The error is an [*Error], and then what was
// appended is not complete.
func (c Codec[T]) Append(dst []byte, v *T) ([]byte, error) {
	if c.write != nil {
		e := newEncoderSize(dst, c.size(v))
		c.write(noescape(&e), v)
		out, err := e.Finish()
		return out, c.hidden(err)
	}
	out, err := c.append(dst, v)
	if err != nil {
		return out, c.hidden(err)
	}
	return out, checkSize(out[len(dst):])
}

// Decode overwrites v with the value in src. It refuses what it would lose:
// unknown and duplicate names, wrong types, bad UTF-8, trailing data. The error is
// an [*Error], and then the contents of v are unspecified.
func (c Codec[T]) Decode(src []byte, v *T) error {
	if c.read == nil {
		return c.hidden(c.decode(src, v))
	}
	d := NewDecoder(src)
	*v = *new(T)
	c.read(d, v)
	return c.hidden(d.Finish())
}

// noescape returns e, and hides from the compiler that a function which it cannot see
// gets it: it would allocate an encoder for each value. The functions of a codec keep no
// encoder.
//
//go:nosplit
func noescape(e *Encoder) *Encoder {
	p := uintptr(unsafe.Pointer(e))         //nolint:gosec // the address is of a live encoder
	return *(**Encoder)(unsafe.Pointer(&p)) //nolint:gosec // go vet refuses the conversion of p itself
}

// CheckStorable returns an error that wraps an [*Error] unless data can be stored
// in both databases: one value of valid UTF-8, no duplicate names, no NUL, no lone
// surrogates, at most [MaxSize] bytes and [MaxDepth] levels.
func CheckStorable(data []byte) error {
	err := checkSize(data)
	if err == nil {
		err = Check(data)
	}
	if err != nil {
		return fmt.Errorf("not storable as JSON: %w", err)
	}
	return nil
}

// checkSize refuses JSON that is too large and says what to do instead.
func checkSize(data []byte) error {
	if len(data) <= MaxSize {
		return nil
	}
	return &Error{Problem: TooLarge, Detail: fmt.Sprintf(
		"%d bytes, more than %d: name the targets by a query, or submit several tasks", len(data), MaxSize)}
}
