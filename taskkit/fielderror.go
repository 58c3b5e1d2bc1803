package taskkit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// String says in a sentence what is wrong with the field. Rules that name other fields are put
// into words.
func (e FieldError) String() string {
	rule, param, _ := strings.Cut(e.Rule, "=")
	var phrase string
	switch {
	case rule == "unique" && param == "":
		phrase = "must not repeat a value"
	case rule == "unique":
		phrase = "must not have two elements with the same " + param
	case comparisons[rule] != "":
		phrase = comparisons[rule] + " " + param
	case conditions[rule].phrase != "":
		c := conditions[rule]
		phrase = c.phrase + " " + c.on(strings.Fields(param))
	default:
		phrase = "breaks the rule " + e.Rule
	}
	return fmt.Sprintf("%s %s (it is %s)", cmp.Or(e.Pointer, "the top"), phrase, e.Value)
}

// comparisons are the rules that compare a field with another one.
var comparisons = map[string]string{
	"eqfield": "must be equal to", "eqcsfield": "must be equal to",
	"nefield": "must differ from", "necsfield": "must differ from",
	"gtfield": "must be greater than", "gtcsfield": "must be greater than",
	"gtefield": "must not be less than", "gtecsfield": "must not be less than",
	"ltfield": "must be less than", "ltcsfield": "must be less than",
	"ltefield": "must not be greater than", "ltecsfield": "must not be greater than",
	"fieldcontains": "must contain the value of", "fieldexcludes": "must not contain the value of",
}

// A condition is a rule that requires or excludes a field, depending on others.
type condition struct {
	phrase string
	word   string // between the other fields: "and" or "or"
	values bool   // each field is followed by its value
}

// conditions are the rules with a condition.
var conditions = map[string]condition{
	"required_with":        {"is required with", "or", false},
	"required_with_all":    {"is required with", "and", false},
	"required_without":     {"is required without", "or", false},
	"required_without_all": {"is required without", "and", false},
	"required_if":          {"is required if", "and", true},
	"required_unless":      {"is required unless", "or", true},
	"excluded_with":        {"must be left out with", "or", false},
	"excluded_with_all":    {"must be left out with", "and", false},
	"excluded_without":     {"must be left out without", "or", false},
	"excluded_without_all": {"must be left out without", "and", false},
	"excluded_if":          {"must be left out if", "and", true},
	"excluded_unless":      {"must be left out unless", "and", true},
}

// on names the other fields of a condition, given the words of its parameter.
func (c condition) on(words []string) string {
	if !c.values {
		return list(words, c.word)
	}
	var pairs []string
	for pair := range slices.Chunk(words, 2) {
		pairs = append(pairs, strings.Join(pair, " is "))
	}
	return list(pairs, c.word)
}
