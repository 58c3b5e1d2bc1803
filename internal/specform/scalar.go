package specform

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

var (
	integerForm = regexp.MustCompile(`^-?(?:0|[1-9][0-9]{0,399})$`)
	numberForm  = regexp.MustCompile(`^-?(?:0|[1-9][0-9]{0,399})(?:\.[0-9]{1,400})?(?:[eE][-+]?[0-9]{1,3})?$`)
)

// scalar returns the value of a text, or what is wrong with the text. Whether the value fits the schema is not checked.
func scalar(f *Field, text string) (v any, problem string) {
	switch {
	case !utf8.ValidString(text):
		return nil, "has bytes that are not UTF-8"
	case strings.ContainsRune(text, 0):
		return nil, "has a NUL character"
	}
	if f.Type == Text {
		return strings.ReplaceAll(text, "\r\n", "\n"), ""
	}
	text = strings.TrimSpace(text)
	switch f.Type {
	case Choice:
		return choice(f, text)
	case Integer:
		return integer(text)
	case Number:
		return number(text)
	case Boolean:
		switch strings.ToLower(text) {
		case "true", "yes", "on", "1":
			return true, ""
		case "false", "no", "off", "0":
			return false, ""
		}
		return nil, "must be true or false"
	case Time:
		return timestamp(text), ""
	default:
		return text, "" // the schema says its form
	}
}

// Choices lists the values of Enum, but for "".
func (f *Field) Choices() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(f.Enum), func(e string) bool { return e == "" }), ", ")
}

// choice returns the value of an enum.
func choice(f *Field, text string) (v any, problem string) {
	i := slices.Index(f.Enum, text)
	if i < 0 {
		if i = slices.IndexFunc(f.Enum, func(e string) bool { return strings.EqualFold(e, text) }); i < 0 {
			return nil, "must be one of " + f.Choices()
		}
	}
	return f.values[i], ""
}

func integer(text string) (v any, problem string) {
	if text == "-0" {
		return json.Number("0"), ""
	}
	if !integerForm.MatchString(text) {
		return nil, "must be a whole number in digits, such as 1500"
	}
	return json.Number(text), ""
}

func number(text string) (v any, problem string) {
	if !numberForm.MatchString(text) {
		return nil, "must be a number, such as 1500 or 0.5"
	}
	if _, err := strconv.ParseFloat(text, 64); err != nil {
		return nil, "is too large for a number"
	}
	return json.Number(text), ""
}

// timestamp returns a time in the form of RFC 3339. What is no time stays as it is, and the schema refuses it.
func timestamp(text string) string {
	for _, layout := range []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02 15:04:05", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.Format(time.RFC3339)
		}
	}
	return text
}
