package taskjson

import (
	"bytes"
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// What is here runs at most once for a source, when it is refused: jsontext
// reads it again up to the cursor, for the place and for the exact problem.

// replay returns a parser that has read what the cursor has passed.
func (d *Decoder) replay() (*jsontext.Decoder, error) {
	end := d.pos
	for end > 0 && strings.IndexByte(" \t\r\n,:", d.whole[end-1]) >= 0 {
		end-- // a parser stands at the end of a token
	}
	// Duplicates are found by Once, Repeated and walk, each in its turn.
	dec := jsontext.NewDecoder(bytes.NewBuffer(d.whole), jsontext.AllowDuplicateNames(true))
	for dec.InputOffset() < int64(end) {
		if _, err := dec.ReadToken(); err != nil {
			return dec, err
		}
	}
	return dec, nil
}

// fail keeps the first error, at what was just read.
func (d *Decoder) fail(p Problem, detail string, cause error) {
	if d.err != nil {
		return
	}
	dec, err := d.replay()
	if err != nil {
		d.failRead(err)
		return
	}
	d.stop(&Error{Pointer: string(dec.StackPointer()), Problem: p, Detail: detail, Cause: cause})
}

// failRead keeps an error of the parser.
func (d *Decoder) failRead(err error) { d.stop(asError(err)) }

// failNumber refuses a number that strconv could not read.
func (d *Decoder) failNumber(err error, want string) {
	if errors.Is(err, strconv.ErrRange) {
		d.fail(OutOfRange, "does not fit "+want, nil)
		return
	}
	d.fail(WrongType, "want "+want+", have a fraction or an exponent", nil)
}

// wrong refuses what is at the cursor: it is not JSON, or of another type.
func (d *Decoder) wrong(want string) {
	if d.err != nil {
		return
	}
	dec, err := d.replay()
	if err != nil {
		d.failRead(err)
		return
	}
	raw, err := dec.ReadValue()
	if err != nil {
		d.failRead(err)
		return
	}
	d.stop(&Error{Pointer: string(dec.StackPointer()), Problem: WrongType, Detail: "want " + want + ", have " + kindOf(raw.Kind())})
}

// kindOf names a kind of value.
func kindOf(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	default:
		return "a number"
	}
}

// noEnd refuses what is there in place of the end of an object or array.
func (d *Decoder) noEnd() {
	if d.err != nil {
		return
	}
	dec, err := d.replay()
	if err == nil {
		_, err = dec.ReadToken()
	}
	if err != nil {
		d.failRead(err)
		return
	}
	d.stop(&Error{
		Pointer: string(dec.StackPointer()), Problem: WrongType,
		Detail: "more elements than the array has in Go",
	})
}

// readChecked checks the value at the cursor token by token and returns its end. If the
// value is invalid, it records the error and returns -1. It reads nothing before
// the value, so that many such values do not make reading quadratic.
func (d *Decoder) readChecked() int {
	if d.err != nil {
		return -1
	}
	end := -1
	switch d.peek() {
	case '{', '[':
		end, _ = composite(d.src, d.pos)
	case '"':
		end, _ = anyString(d.src, d.pos)
	}
	if end > 0 && walk(d.src[d.pos:end], d.depth) == nil {
		return end
	}
	d.refuse()
	return -1
}

// refuse refuses the value at the cursor for what is within it.
func (d *Decoder) refuse() {
	dec, err := d.replay()
	if err != nil {
		d.failRead(err)
		return
	}
	raw, err := dec.ReadValue()
	if err != nil {
		d.failRead(err)
		return
	}
	within := walk(raw, dec.StackDepth())
	if within == nil { // the cursor is wrong; never the source taken for good
		within = &Error{Problem: Syntax, Detail: "not JSON"}
	}
	within.Pointer = string(dec.StackPointer()) + within.Pointer
	d.stop(within)
}

// stop keeps an error, and leaves the cursor nothing to read.
func (d *Decoder) stop(err *Error) {
	d.err = err
	d.src, d.pos = nil, 0
}

// asError returns an error of the parser as ours.
func asError(err error) *Error {
	own := &Error{Problem: Syntax, Detail: "not JSON", Cause: err}
	errors.As(convert(err), &own)
	return own
}

// width says how wide a number may be.
func width(bits int) string { return strconv.Itoa(cmp.Or(bits, strconv.IntSize)) + " bits" }
