package model

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-playground/validator/v10"
)

// ruleValidator is configured as the validator of package taskkit, so that it says
// what a tag means at run time.
var ruleValidator = sync.OnceValue(func() *validator.Validate {
	return validator.New(validator.WithRequiredStructEnabled())
})

// ParseRules reads a validate tag in the grammar of validator: rules after
// commas, alternatives after pipes, 0x2C and 0x7C for the characters in a
// parameter. Words in a wrong place, such as keys without dive, are kept as
// rules, for checkRules to find.
func ParseRules(tag string) Rules {
	if tag == "" {
		return Rules{}
	}
	return parseWords(strings.Split(tag, ","))
}

func parseWords(words []string) (rules Rules) {
	for i, word := range words {
		if word != "dive" {
			rules.List = append(rules.List, parseRule(word))
			continue
		}
		rest := words[i+1:]
		if len(rest) > 0 && rest[0] == "keys" {
			end := slices.Index(rest, "endkeys")
			if end < 0 {
				end = len(rest)
			}
			keys := parseWords(rest[1:end])
			rules.Keys, rest = &keys, rest[min(end+1, len(rest)):]
		}
		elem := parseWords(rest)
		rules.Elem = &elem
		break
	}
	return rules
}

func parseRule(word string) Rule {
	if strings.Contains(word, "|") {
		return Rule{Name: word}
	}
	name, param, _ := strings.Cut(word, "=")
	return Rule{Name: name, Param: unescapeParam.Replace(param)}
}

var (
	unescapeParam = strings.NewReplacer("0x2C", ",", "0x7C", "|")
	escapeParam   = strings.NewReplacer(",", "0x2C", "|", "0x7C")
)

// Alternatives returns the rules of which one suffices: most often the rule
// alone.
func (r Rule) Alternatives() (all []Rule) {
	if !strings.Contains(r.Name, "|") {
		return []Rule{r}
	}
	for word := range strings.SplitSeq(r.Name, "|") {
		all = append(all, parseRule(word))
	}
	return all
}

// Listed splits the parameter of oneof as validator does: at spaces, but not
// between quotes.
func (r Rule) Listed() []string {
	words := listedWord.FindAllString(r.Param, -1)
	for i, w := range words {
		words[i] = strings.ReplaceAll(w, "'", "")
	}
	return words
}

// Quoted splits a parameter as [Rule.Listed] does, and keeps the quotes.
func (r Rule) Quoted() []string { return listedWord.FindAllString(r.Param, -1) }

var listedWord = regexp.MustCompile(`'[^']*'|\S+`)

// String returns the rule as it stands in a tag.
func (r Rule) String() string {
	if r.Param == "" {
		return r.Name
	}
	return r.Name + "=" + escapeParam.Replace(r.Param)
}

// String returns the rules as a validate tag.
func (r Rules) String() string {
	var words []string
	for _, rule := range r.List {
		words = append(words, rule.String())
	}
	if r.Elem != nil {
		words = append(words, "dive")
		if r.Keys != nil {
			words = append(words, "keys")
			if keys := r.Keys.String(); keys != "" {
				words = append(words, keys)
			}
			words = append(words, "endkeys")
		}
		if elem := r.Elem.String(); elem != "" {
			words = append(words, elem)
		}
	}
	return strings.Join(words, ",")
}

// SiblingRules compare with other fields of the struct. What they say of a
// field cannot be told from the field alone.
var SiblingRules = []string{
	"required_if", "required_unless", "required_with", "required_with_all", "required_without", "required_without_all",
	"excluded_if", "excluded_unless", "excluded_with", "excluded_with_all", "excluded_without", "excluded_without_all",
	"skip_unless", "eqfield", "nefield", "gtfield", "gtefield", "ltfield", "ltefield", "fieldcontains", "fieldexcludes",
	"eqcsfield", "necsfield", "gtcsfield", "gtecsfield", "ltcsfield", "ltecsfield", "postcode_iso3166_alpha2_field",
}

// ComparesSiblings reports whether a rule, or one of its alternatives, depends on
// other fields.
func (r Rule) ComparesSiblings() bool {
	return slices.ContainsFunc(r.Alternatives(), func(a Rule) bool { return slices.Contains(SiblingRules, a.Name) })
}

// AcceptsAbsent reports whether rules take a value that is left out, whatever
// the other fields are.
func AcceptsAbsent(t *Type, rules Rules) bool {
	for _, r := range rules.List {
		if slices.Contains([]string{"omitempty", "omitzero", "omitnil"}, r.Name) && omits(t, r.Name) {
			break
		}
		if r.ComparesSiblings() && !strings.HasPrefix(r.Name, "excluded_") {
			return false
		}
	}
	return !RefusesAbsent(t, rules)
}

// RefusesAbsent reports whether rules refuse a value that is left out, whatever
// the other fields are. It asks validator about a zero value of the kind.
func RefusesAbsent(t *Type, rules Rules) bool {
	if t.Kind == reflect.Invalid {
		return len(rules.List) > 0 && rules.List[0].Name == "required"
	}
	alone := rules
	alone.List = slices.DeleteFunc(slices.Clone(rules.List), Rule.ComparesSiblings)
	tag := alone.String()
	if tag == "" && t.Form != Struct && t.Form != Array {
		return false
	}
	v := reflect.New(reflect.StructOf([]reflect.StructField{{
		Name: "F", Type: zeroLike(t), Tag: ValidateTag(tag),
	}}))
	failed, panicked := Validates(v)
	return failed || panicked != ""
}

// omits reports whether a word such as omitempty ends the rules of a value that
// is left out.
func omits(t *Type, word string) bool {
	return word != "omitnil" || t.Form == Pointer || t.Kind == reflect.Slice || t.Kind == reflect.Map
}
