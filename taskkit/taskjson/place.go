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
// duplicate names, bad UTF-8, lone surrogates or NUL, and not too deep. The
// error is an [*Error].
func Check(src []byte) error {
	d := jsontext.NewDecoder(bytes.NewBuffer(src))
	raw, err := d.ReadValue()
	if err != nil {
		return Convert(err)
	}
	if suspect(raw, 0) {
		if err := walk(raw, 0); err != nil {
			return err
		}
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return trailing()
	}
	return nil
}

// trailing is the error of something after the value.
func trailing() *Error {
	return &Error{Problem: TrailingData, Detail: "there is something after the value"}
}

// checkValue holds one value, valid but for duplicate names, to the rules, at a
// depth.
func checkValue(raw []byte, depth int) *Error {
	if !suspect(raw, depth) && (bytes.IndexByte(raw, '{') < 0 || jsontext.Value(raw).IsValid()) {
		return nil
	}
	return walk(raw, depth)
}

// suspect reports whether a value is too deep or may hold NUL. It errs where a
// string says \\u0000.
func suspect(raw []byte, depth int) bool {
	return bytes.Contains(raw, []byte(`\u0000`)) || levels(raw)+depth > MaxDepth
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
			own := &Error{Problem: Syntax, Detail: "not JSON", Cause: err}
			errors.As(Convert(err), &own)
			return own
		case d.StackDepth()+depth > MaxDepth:
			return &Error{Pointer: string(d.StackPointer()), Problem: TooDeep, Detail: tooDeep()}
		case tok.Kind() == '"' && strings.IndexByte(tok.String(), 0) >= 0:
			return &Error{Pointer: string(d.StackPointer()), Problem: NUL, Detail: noNUL}
		}
	}
}

const noNUL = `the NUL character (\u0000) cannot be stored`

func tooDeep() string { return "more than " + strconv.Itoa(MaxDepth) + " levels" }

// levels returns how deep raw is, which must be valid.
func levels(raw []byte) int {
	deepest, now := 0, 0
	quoted := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++ // and the escaped byte
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

// pointerAt returns the place of the value that comes next after a beginning of
// JSON. Only errors need it, so nothing is kept for it while writing.
func pointerAt(prefix []byte) string {
	d := jsontext.NewDecoder(bytes.NewBuffer(append(bytes.Clone(prefix), `""`...)))
	for {
		if _, err := d.ReadToken(); err != nil {
			return string(d.StackPointer())
		}
	}
}
