package specform

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// named writes the types of a value for people.
func named(types []string) string {
	var words []string
	for _, t := range types {
		word, ok := map[string]string{
			"string": "a text", "integer": "a whole number", "number": "a number", "boolean": "true or false", "array": "a list", "object": "an object",
		}[t]
		if ok {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return "null"
	}
	return strings.Join(words, " or ")
}

// choices writes the values of an enum, but for the empty text.
func choices(values []any) string {
	var words []string
	for _, v := range values {
		if v != "" {
			words = append(words, scalarText(v))
		}
	}
	return strings.Join(words, ", ")
}

// shown writes a value, shortened.
func shown(v any) string {
	if s, ok := v.(string); ok {
		return quoted(s)
	}
	return shorten(string(encode(nil, v)))
}

// quoted writes a text in quotes, shortened, with escapes for what is not printed.
func quoted(s string) string { return strconv.Quote(shorten(s)) }

func shorten(s string) string {
	const most = 60
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

// scalarText writes a value as a person types it.
func scalarText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case json.Number:
		return string(v)
	default:
		return string(encode(nil, v))
	}
}

// counted writes a number of things.
func counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	if stem, ok := strings.CutSuffix(thing, "y"); ok {
		return thousands(n) + " " + stem + "ies"
	}
	return thousands(n) + " " + thing + "s"
}

// thousands writes a number with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// label turns the name of a field into words: "first_name" becomes "First name".
func label(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' || unicode.IsSpace(r) })
	text := strings.Join(words, " ")
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return name
	}
	return fmt.Sprintf("%c%s", unicode.ToUpper(first), text[size:])
}
