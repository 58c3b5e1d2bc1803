package taskjson

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions here find where a token or value ends. They accept nothing that
// the grammar refuses, and return -1 when they find no end. jsontext then reads the
// source again to say what is wrong and where (replay.go).

// blank returns where the white space at i ends.
func blank(src []byte, i int) int {
	for i < len(src) && (src[i] == ' ' || src[i] == '\n' || src[i] == '\r' || src[i] == '\t') {
		i++
	}
	return i
}

// literal returns the end of a word at i.
func literal(src []byte, i int, word string) int {
	if end := i + len(word); end <= len(src) && string(src[i:end]) == word {
		return end
	}
	return -1
}

// number returns the end of the number at i.
func number(src []byte, i int) int {
	if i < len(src) && src[i] == '-' {
		i++
	}
	switch {
	case i == len(src):
		return -1
	case src[i] == '0':
		i++ // what follows is not of this number
	default:
		if i = digits(src, i); i < 0 {
			return -1
		}
	}
	if i < len(src) && src[i] == '.' {
		if i = digits(src, i+1); i < 0 {
			return -1
		}
	}
	if i < len(src) && src[i]|0x20 == 'e' {
		if i++; i < len(src) && (src[i] == '+' || src[i] == '-') {
			i++
		}
		return digits(src, i)
	}
	return i
}

// digits returns the end of one digit or more.
func digits(src []byte, i int) int {
	start := i
	for i < len(src) && src[i]-'0' <= 9 {
		i++
	}
	if i == start {
		return -1
	}
	return i
}

const (
	ones  = 0x0101010101010101
	highs = 0x80 * ones
)

// plainString returns where the closing quote of the string at i is, when all
// of it is ASCII and nothing is escaped. It tests eight bytes at a time: a byte
// that ends the search sets its high bit in stop. The lowest bit set is always
// right, since a subtraction borrows only from the bytes above it.
func plainString(src []byte, i int) int {
	if i >= len(src) || src[i] != '"' {
		return -1
	}
	for i++; i+8 <= len(src); i += 8 {
		x := binary.LittleEndian.Uint64(src[i:])
		stop := (x | (x - ' '*ones) | ((x ^ '"'*ones) - ones) | ((x ^ '\\'*ones) - ones)) & highs
		if stop == 0 {
			continue
		}
		if i += bits.TrailingZeros64(stop) / 8; src[i] == '"' {
			return i
		}
		return -1
	}
	for ; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			return i
		case c < ' ' || c == '\\' || c >= utf8.RuneSelf:
			return -1
		}
	}
	return -1
}

// anyString returns the end of the string at i, after its quote, and whether
// anything is escaped in it. It does not check UTF-8 or the escapes.
func anyString(src []byte, i int) (end int, escaped bool) {
	if i >= len(src) || src[i] != '"' {
		return -1, false
	}
	for i++; i < len(src); i++ {
		switch c := src[i]; {
		case c == '"':
			return i + 1, escaped
		case c == '\\':
			escaped = true
			i++ // and the escaped byte
		case c < ' ':
			return -1, escaped
		}
	}
	return -1, escaped
}

// unquote returns the text of a string in quotes, or nil when it is not valid.
// It appends to scratch when there are escapes to resolve.
func unquote(scratch, quoted []byte, escaped bool) []byte {
	if escaped {
		text, err := jsontext.AppendUnquote(scratch, quoted)
		if err != nil {
			return nil
		}
		return text
	}
	if text := quoted[1 : len(quoted)-1]; utf8.Valid(text) {
		return text
	}
	return nil
}

// composite returns the end of the object or array at i and how many levels it
// has, by its brackets alone.
func composite(src []byte, i int) (end, levels int) {
	open := 0
	for i < len(src) {
		switch src[i] {
		case '"':
			if i, _ = anyString(src, i); i < 0 {
				return -1, 0
			}
			continue
		case '{', '[':
			open++
			levels = max(levels, open)
		case '}', ']':
			if open--; open == 0 {
				return i + 1, levels
			}
		}
		i++
	}
	return -1, 0
}

// storable returns the end of the value at i, when it certainly follows all the
// rules at that depth, and otherwise -1. It may return -1 for a valid value.
func storable(src []byte, i, depth int) int {
	if i >= len(src) {
		return -1
	}
	switch src[i] {
	case '{', '[':
		end, levels := composite(src, i)
		if end < 0 || depth+levels > MaxDepth || !jsontext.Value(src[i:end]).IsValid() || maybeNUL(src[i:end]) {
			return -1
		}
		return end
	case '"':
		if end := plainString(src, i); end > 0 {
			return end + 1
		}
		end, escaped := anyString(src, i)
		if end < 0 || maybeNUL(src[i:end]) || unquote(nil, src[i:end], escaped) == nil {
			return -1
		}
		return end
	case 'n':
		return literal(src, i, "null")
	case 't':
		return literal(src, i, "true")
	case 'f':
		return literal(src, i, "false")
	default:
		return number(src, i)
	}
}

// maybeNUL reports whether valid JSON may hold the NUL character. It errs where
// a string says \\u0000.
func maybeNUL(src []byte) bool { return bytes.Contains(src, []byte(`\u0000`)) }
