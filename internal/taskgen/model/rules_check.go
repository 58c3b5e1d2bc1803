package model

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// checkRules finds validate tags of a spec that validator cannot use: it would
// panic, and every spec would be refused. Those of State and Result are never
// used, so nothing is said of types that only they hold.
func checkRules(x *Executor) (wrong []Diagnostic) {
	only := &Executor{Spec: x.Spec, State: x.Spec}
	for _, t := range Reachable(only) {
		for _, f := range t.Fields {
			if f.Type.Kind == reflect.Invalid {
				continue
			}
			c := ruleChecker{owner: t, field: f}
			if len(f.Rules.List) != 1 || f.Rules.List[0].Name != "-" || f.Rules.Elem != nil {
				c.rules(f.Type, f.Rules)
				if len(c.wrong) == 0 {
					c.together()
				}
			}
			wrong = append(wrong, c.wrong...)
		}
	}
	return wrong
}

// ruleChecker checks the tag of one field.
type ruleChecker struct {
	owner *Type
	field Field
	wrong []Diagnostic
}

func (c *ruleChecker) refuse(remedy, format string, args ...any) {
	c.wrong = append(c.wrong, Diagnostic{
		Pos: c.field.Pos, Remedy: remedy,
		Message: fmt.Sprintf("%s.%s: ", c.owner.Title, c.field.Go) + fmt.Sprintf(format, args...),
	})
}

// rules checks the rules of a value and of what is in it.
func (c *ruleChecker) rules(t *Type, rules Rules) {
	for t.Form == Pointer {
		t = t.Elem
	}
	if t.Kind == reflect.Invalid {
		return
	}
	for i, r := range rules.List {
		if problem, remedy := misread(rules.List[:i], r); problem != "" {
			c.refuse(remedy, "%s", problem)
			break // what follows is misread too
		}
		switch r.Name {
		case "omitempty", "omitzero", "omitnil":
			if r.Param != "" {
				c.refuse("remove the parameter", "%s takes no parameter, but has %q", r.Name, r.Param)
			}
		case "structonly", "nostructlevel":
			if t.Kind != reflect.Struct || t.Form == Time {
				c.refuse("remove it", "%s is for structs, and ends the rules of %s", r.Name, c.noun(t))
			}
		case "keys", "endkeys":
			c.refuse("write dive,keys,RULES,endkeys,RULES", "%s is for the keys of a map, after dive", r.Name)
		case "":
			c.refuse("remove a comma", "a rule is empty")
		default:
			for _, a := range r.Alternatives() {
				c.rule(t, a)
			}
		}
	}
	if rules.Elem == nil {
		return
	}
	if t.Kind != reflect.Slice && t.Kind != reflect.Array && t.Kind != reflect.Map {
		c.refuse("remove it; the fields of a struct are checked anyway", "dive is for lists and maps, not for %s", c.noun(t))
		return
	}
	if rules.Keys != nil {
		if t.Kind != reflect.Map {
			c.refuse("remove it", "keys is for maps, not for %s", c.noun(t))
			return
		}
		if t.Key != nil {
			c.rules(t.Key, *rules.Keys)
		}
	}
	if elem := elemOf(t); elem != nil {
		c.rules(elem, *rules.Elem)
	}
}

// misread says how a rule that validator does not have was probably meant, or returns "".
func misread(before []Rule, r Rule) (problem, remedy string) {
	all := r.Alternatives()
	unknown := slices.IndexFunc(all, func(a Rule) bool { return a.Name != "" && !KnownRule(a.Name) })
	listed := func(rules []Rule) bool {
		return slices.ContainsFunc(rules, func(b Rule) bool { return strings.Contains(b.Name, "oneof") && b.Param != "" })
	}
	if i := strings.IndexAny(r.Param, " "); i >= 0 && slices.Contains([]string{"min", "max", "len", "gt", "gte", "lt", "lte"}, r.Name) {
		return fmt.Sprintf("%s has a space in its number", r), "separate the rules by commas, without spaces: " + strings.Join(strings.Fields(r.String()), ",")
	}
	if unknown < 0 || slices.Contains(notRules, r.Name) {
		return "", ""
	}
	name := all[unknown].Name
	plain := strings.ToLower(strings.TrimSpace(name))
	switch {
	case plain != name && KnownRule(plain):
		return fmt.Sprintf("validator has no rule %q", name), "write " + plain + ", in small letters and without a space"
	case listed(before) || listed(all[:unknown]):
		return fmt.Sprintf("validator has no rule %q", name), "separate the values of oneof by spaces: oneof=a b"
	default:
		return "", ""
	}
}

// notRules are the words of a tag that are no rules of a value.
var notRules = []string{"omitempty", "omitzero", "omitnil", "structonly", "nostructlevel", "keys", "endkeys", "dive", "-"}

// elemOf returns the type of what dive comes to, or nil when it is not known.
func elemOf(t *Type) *Type {
	switch {
	case t.Elem != nil:
		return t.Elem
	case t.Form == Bytes || t.Form == Raw || t.Form == UUID:
		return &Type{Form: Uint, Source: "byte", Bits: 8, Kind: reflect.Uint8}
	default:
		return nil
	}
}

// notOnlyStrings are rules that other values than strings can keep.
var notOnlyStrings = slices.Concat(SiblingRules, []string{
	"required", "isdefault", "len", "min", "max", "eq", "ne", "lt", "lte", "gt", "gte", "oneof", "noneof", "unique",
	"boolean", "numeric", "number", "latitude", "longitude", "port", "luhn_checksum", "json", "validateFn",
})

// byString are rules of strings that a type with a String method can keep.
var byString = []string{
	"uuid", "uuid3", "uuid4", "uuid5", "uuid7", "uuid_rfc4122", "uuid3_rfc4122", "uuid4_rfc4122", "uuid5_rfc4122", "ulid",
}

// withParam are rules that mean nothing without a parameter, and do not panic.
var withParam = slices.Concat(SiblingRules, []string{
	"oneof", "oneofci", "noneof", "noneofci", "contains", "containsany", "containsrune",
	"excludes", "excludesall", "excludesrune", "startswith", "endswith", "startsnotwith", "endsnotwith", "datetime",
})

// rule checks one rule.
func (c *ruleChecker) rule(t *Type, r Rule) {
	switch {
	case !KnownRule(r.Name):
		c.refuse("use one of https://pkg.go.dev/github.com/go-playground/validator/v10, or write a Validate method on the spec",
			"validator has no rule %q", r.Name)
	case r.Param == "" && slices.Contains(withParam, r.Name):
		c.refuse("write "+exampleOf(t, r.Name), "%s has no parameter", r.Name)
	case t.Kind != reflect.String && !slices.Contains(notOnlyStrings, r.Name) && !c.writesItself(t, r):
		c.refuse("drop it, or make the value a string", "%s is for strings, not for %s", r.Name, c.noun(t))
	case r.ComparesSiblings():
		c.siblings(r)
	case (r.Name == "oneof" || r.Name == "noneof") && t.Kind != reflect.String:
		for _, v := range r.Listed() {
			if _, err := strconv.ParseInt(v, 10, 64); err != nil {
				if _, err := strconv.ParseUint(v, 10, 64); err != nil {
					c.refuse("write whole numbers", "%s: %q is never equal to %s", r, v, c.noun(t))
				}
			}
		}
		c.probe(t, r)
	case r.Name != "validateFn": // which calls a method of the type
		c.probe(t, r)
	}
}

// writesItself reports whether a rule of strings reads the value's String.
func (c *ruleChecker) writesItself(t *Type, r Rule) bool {
	return slices.Contains(byString, r.Name) && (t.Form == UUID || t.Form == Text || t.Form == JSON)
}

// KnownRule reports whether validator has a rule. The tag is read whole before
// its first alternative holds.
func KnownRule(name string) (known bool) {
	defer func() {
		if recover() != nil {
			known = false
		}
	}()
	return ruleValidator().Var("", "len=0|"+name) == nil
}

// siblings checks that the fields exist that a rule compares with.
func (c *ruleChecker) siblings(r Rule) {
	words := r.Listed()
	pairs := strings.HasSuffix(r.Name, "_if") || strings.HasSuffix(r.Name, "_unless")
	if pairs && len(words)%2 != 0 {
		c.refuse("write field and value in turn, as in "+r.Name+"=Kind other", "%s has a field without a value", r)
		return
	}
	if !declares(c.owner, c.field.Go) {
		return // it is promoted, and its siblings are the fields of the struct it comes from
	}
	for i, w := range words {
		if pairs && i%2 == 1 {
			continue
		}
		name, _, _ := strings.Cut(w, ".")
		name, _, _ = strings.Cut(name, "[")
		if _, stored := c.owner.Sibling(c.field, name); !stored && !declares(c.owner, name) {
			c.refuse("name a field of the same struct as it is called in Go", "%s: %s has no field %s", r, c.owner.Title, name)
		}
	}
}

// declares reports whether a struct itself has a field.
func declares(t *Type, name string) bool {
	return slices.ContainsFunc(t.Declared, func(d Declared) bool { return d.Name == name })
}

// Sibling returns the stored field that a rule of another one names: one of the same
// struct, or promoted from a struct that is embedded there. Validator finds it as Go
// does; one behind an embedded pointer is left out, since that may be nil.
func (t *Type) Sibling(of Field, name string) (Field, bool) {
	beside := of.Go[:strings.LastIndexByte(of.Go, '.')+1] // of is promoted itself
	depth := func(f Field) int { return strings.Count(f.Go, ".") }
	var found Field
	for _, f := range t.Fields {
		inside, ok := strings.CutPrefix(f.Go, beside)
		switch {
		case !ok || inside != name && !strings.HasSuffix(inside, "."+name), inside != name && (len(f.Through) > len(of.Through) || beside == "" && declares(t, name)):
		case found.Go == "" || depth(f) < depth(found):
			found = f
		}
	}
	return found, found.Go != ""
}

// probe runs a rule on values like those of a type, to see whether it panics.
func (c *ruleChecker) probe(t *Type, r Rule) {
	like := valueLike(t, map[string]bool{})
	field := reflect.StructField{Name: "F", Type: like, Tag: ValidateTag(r.String())}
	for _, v := range []reflect.Value{reflect.Zero(like), filled(like)} {
		at := reflect.New(reflect.StructOf([]reflect.StructField{field}))
		at.Elem().Field(0).Set(v)
		if _, panicked := Validates(at); panicked != "" {
			if strings.HasPrefix(panicked, "Bad field type") {
				panicked = "it says nothing of such values"
			}
			c.refuse(remedyFor(t, r), "%s cannot be used on %s: %s", r, c.noun(t), panicked)
			return
		}
	}
}

// together runs the whole tag on a value that is left out: rules that are right
// alone may panic when a nil pointer comes to them.
func (c *ruleChecker) together() {
	like := structLike(c.owner, func(f Field) reflect.StructField {
		made := reflect.StructField{Type: valueLike(f.Type, map[string]bool{})}
		if f.Go == c.field.Go {
			made.Tag = ValidateTag(f.Rules.String())
		}
		return made
	})
	if slices.ContainsFunc(c.field.Rules.List, func(r Rule) bool { return strings.Contains(r.Name, "validateFn") }) {
		return // the method it calls is not on what we have
	}
	if _, panicked := Validates(reflect.New(like)); panicked != "" {
		c.refuse("put omitempty in front", "validate:%q cannot be used when the field is left out: %s", c.field.Rules, panicked)
	}
}

// noun names what validator sees, for people.
func (c *ruleChecker) noun(t *Type) string {
	switch {
	case t.Form == Time:
		return "a time"
	case t.Form == UUID:
		return "a UUID"
	case t.Kind == reflect.Slice:
		return "a list"
	case t.Kind == reflect.Array:
		return "an array"
	case t.Kind == reflect.Map:
		return "a map"
	case t.Kind == reflect.Struct:
		return "a struct"
	default:
		return "a value of type " + t.Kind.String()
	}
}

// exampleOf returns an example of a rule with its parameter.
func exampleOf(t *Type, name string) string {
	switch {
	case strings.HasPrefix(name, "oneof") || strings.HasPrefix(name, "noneof"):
		if t.Kind == reflect.String {
			return name + "=red green"
		}
		return name + "=1 2 3"
	case strings.HasSuffix(name, "_if") || strings.HasSuffix(name, "_unless"):
		return name + "=Field value"
	case slices.Contains(SiblingRules, name):
		return name + "=Field"
	case name == "datetime":
		return "datetime=2006-01-02"
	default:
		return name + "=text"
	}
}

// remedyFor returns what to do about a rule on which validator panics.
func remedyFor(t *Type, r Rule) string {
	sized := slices.Contains([]string{"len", "min", "max", "eq", "ne", "lt", "lte", "gt", "gte"}, r.Name)
	switch {
	case sized && t.Source == DurationSource:
		return "write a duration, as in " + r.Name + "=1h30m"
	case sized && (t.Kind == reflect.Float32 || t.Kind == reflect.Float64):
		return "write a number, as in " + r.Name + "=0.5"
	case sized && t.Kind == reflect.Bool && (r.Name == "eq" || r.Name == "ne"):
		return "write true or false, as in " + r.Name + "=true"
	case sized && t.Kind != reflect.Bool && t.Kind != reflect.Struct:
		return "write a whole number, as in " + r.Name + "=100"
	default:
		return "drop it; a Validate method on the spec can check what no rule can"
	}
}

// valueLike returns a type that validator treats as t, elements included.
func valueLike(t *Type, open map[string]bool) reflect.Type {
	if t.Kind == reflect.Invalid || open[t.Source] {
		return reflect.TypeFor[bool]()
	}
	open[t.Source] = true
	defer delete(open, t.Source)
	switch t.Form {
	case Slice:
		return reflect.SliceOf(valueLike(t.Elem, open))
	case Array:
		return reflect.ArrayOf(int(t.Len), valueLike(t.Elem, open))
	case Map:
		return reflect.MapOf(reflect.TypeFor[string](), valueLike(t.Elem, open))
	case Pointer:
		return reflect.PointerTo(valueLike(t.Elem, open))
	case Struct:
		return structLike(t, func(f Field) reflect.StructField {
			return reflect.StructField{Type: valueLike(f.Type, open)}
		})
	default:
		return ScalarLike(t)
	}
}

// filled returns a value with an element in lists and maps, and the zero value
// for all else.
func filled(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Slice:
		v.Set(reflect.MakeSlice(t, 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.Zero(t.Key()), reflect.Zero(t.Elem()))
	default:
	}
	return v
}
