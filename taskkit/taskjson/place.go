package taskjson

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Check reports whether JSON made elsewhere may be stored: one value, without
// duplicate names, bad UTF-8, lone surrogates or NUL, not too deep and of no
// more than [MaxSize] bytes. The error is an [*Error].
func Check(src []byte) error {
	d := NewDecoder(src)
	d.raw()
	return d.Finish()
}

// trailing is the error of something after the value.
func trailing() *Error {
	return &Error{Problem: TrailingData, Detail: "there is something after the value"}
}

// checkValue checks one value at a depth. The value is valid JSON, except that
// names may be duplicate.
func checkValue(raw []byte, depth int) *Error {
	if storable(raw, blank(raw, 0), depth) > 0 {
		return nil
	}
	return walk(raw, depth)
}

// walk reads a value token by token, to find what is wrong and where.
func walk(raw []byte, depth int) *Error {
	d := jsontext.NewDecoder(bytes.NewBuffer(raw))
	for {
		tok, err := d.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return asError(err)
		case d.StackDepth()+depth > MaxDepth:
			return &Error{Pointer: string(d.StackPointer()), Problem: TooDeep, Detail: tooDeep()}
		case tok.Kind() == '"' && strings.IndexByte(tok.String(), 0) >= 0:
			return &Error{Pointer: string(d.StackPointer()), Problem: NUL, Detail: noNUL}
		}
	}
}

const noNUL = `the NUL character (\u0000) cannot be stored`

func tooDeep() string { return "more than " + strconv.Itoa(MaxDepth) + " levels" }

// tooLarge is the error of a value with more than MaxSize bytes.
func tooLarge() *Error {
	return &Error{Problem: TooLarge, Detail: "more than " + strconv.Itoa(MaxSize) + " bytes"}
}

// pointerAt returns the JSON pointer of the value that follows a prefix of JSON.
// Only errors need it, so the encoder keeps no state for it.
func pointerAt(prefix []byte) string {
	d := jsontext.NewDecoder(bytes.NewBuffer(append(bytes.Clone(prefix), `""`...)))
	for {
		if _, err := d.ReadToken(); err != nil {
			return string(d.StackPointer())
		}
	}
}
