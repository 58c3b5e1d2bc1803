package specform

import (
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
)

// Type is what a field contains.
type Type int

// The types. A field of type JSON takes any value as JSON: values without bounds, and what has no simpler form.
const (
	JSON Type = iota
	Text
	Choice // one of Enum
	Integer
	Number
	Boolean
	UUID
	Date
	Time
	Bytes // in base64
	Group // of Fields
	List  // of Item
	Map   // from texts to Item
)

// A Field is a value of a spec that a person enters.
type Field struct {
	// Name is the key of the field in [Values]: the names of JSON joined by dots, such as letter.subject. Where two fields would have the same name, the second has its Pointer.
	Name    string
	Pointer string // the place in the spec, as RFC 6901 writes it: /letter/subject
	Label   string // Subject
	Help    string // the Go comment
	Type    Type
	// Required: the field may not be left out. Nullable: to leave it out is different from an empty value.
	Required, Nullable bool
	// Secret values are never shown again: [Form.Values] leaves them out. HasSecrets: values within a list or map are.
	Secret, HasSecrets bool
	Enum               []string // the values of a Choice; "" is among them if it may be left empty
	Min, Max           string   // bounds of numbers, included; "": none
	MinLength          int      // in characters
	MaxLength          int      // 0: none
	MinItems, MaxItems int      // of a List or Map; MaxItems 0: none
	Unique             bool     // no element twice
	Default            string
	Fields             []*Field // of a Group
	Item               *Field   // of a List or Map; the fields of an object have their names in it

	node   *node
	values []any // of Enum
}

// commandFlags are the flags of the command that starts tasks which are no fields.
var commandFlags = []string{
	"at", "by", "csv", "database-url", "file", "header", "help", "key", "output", "owner", "preview", "reason", "schema", "timeout", "url", "wait",
}

// Flag returns the name of the flag of the field: its Name, with spec. before it where the command has another flag of that name.
func (f *Field) Flag() string {
	if f.Name == "" || slices.Contains(commandFlags, f.Name) {
		return "spec." + f.Name
	}
	return f.Name
}

// A Form has the fields of the specs of one kind. It is immutable and safe for concurrent use.
type Form struct {
	Help   string   // the Go comment of the Spec
	Fields []*Field // in the order of the Go struct
	// Targets is the list of the targets of a task, which x-taskkit-targets names; or nil.
	Targets *Field

	root   *Field
	defs   map[string]*node
	byName map[string]*Field
}

// Root is the name in [Values] of the whole spec, as JSON: fields with values of their own replace what it says of them.
const Root = "."

const (
	// maxGroups is how deep groups have fields of their own, and maxFields how many fields a form has; what is beyond is entered as JSON.
	maxGroups = 6
	maxFields = 2_000
	// maxApplied is how many schemas may apply to one value.
	maxApplied = 1_000
)

// New makes the form of a JSON Schema as taskgen writes it. The error says what of the text is no schema.
func New(schema []byte) (*Form, error) {
	v, err := decode(schema)
	if err != nil {
		return nil, fmt.Errorf("specform: the schema is no JSON: %w", err)
	}
	n, err := (&reader{patterns: map[string]*regexp.Regexp{}}).node(v)
	if err != nil {
		return nil, fmt.Errorf("specform: the schema: %w", err)
	}
	if name := unbounded(n.defs); name != "" {
		return nil, fmt.Errorf("specform: the schema: the definition %s leads to itself, or to more than %d others of the same value", quoted(name), maxApplied)
	}
	f := &Form{Help: n.description, defs: n.defs, byName: map[string]*Field{}}
	b := &builder{form: f, open: map[string]int{}}
	f.root = b.field(n, "", nil, 0)
	if f.root.Type == Group {
		f.Fields, f.root.Name = f.root.Fields, Root
	} else {
		f.root.Label, f.root.Required = "Spec", !f.root.Nullable
		f.Fields, f.byName[f.root.Name] = []*Field{f.root}, f.root
	}
	if n.targets != "" {
		f.Targets = f.byName[n.targets]
	}
	return f, nil
}

// unbounded returns a definition by which more than maxApplied schemas apply to one value, as in no schema of taskgen; "": none. A definition that
// leads to itself is one: to check a value by it would have no end.
func unbounded(defs map[string]*node) string {
	applied := map[string]int{}
	var count func(*node) int
	count = func(n *node) int {
		sum := 1
		if d := defs[n.ref]; n.ref != "" && d != nil {
			if _, seen := applied[n.ref]; !seen {
				applied[n.ref] = maxApplied + 1 // while it is counted
				applied[n.ref] = count(d)
			}
			sum += applied[n.ref]
		}
		for _, one := range slices.Concat(n.allOf, n.anyOf, []*node{n.not, n.condition, n.then}) {
			if one != nil && sum <= maxApplied {
				sum += count(one)
			}
		}
		return sum
	}
	for name := range defs {
		if count(&node{ref: name}) > maxApplied {
			return name
		}
	}
	return ""
}

// Field returns the field of a name, or nil.
func (f *Form) Field(name string) *Field { return f.byName[name] }

// All returns all fields, a group before its fields.
func (f *Form) All() iter.Seq[*Field] {
	return func(yield func(*Field) bool) { all(f.Fields, yield) }
}

func all(fields []*Field, yield func(*Field) bool) bool {
	for _, f := range fields {
		if !yield(f) || !all(f.Fields, yield) {
			return false
		}
	}
	return true
}

// Within returns the field that a pointer leads to or into, such as the list of an element; or nil.
func (f *Form) Within(pointer string) *Field {
	var best *Field
	for one := range f.All() {
		if (pointer == one.Pointer || len(pointer) > len(one.Pointer) && pointer[:len(one.Pointer)+1] == one.Pointer+"/") && (best == nil || len(one.Pointer) > len(best.Pointer)) {
			best = one
		}
	}
	return best
}

// builder makes the fields of a form.
type builder struct {
	form *Form
	open map[string]int // definitions around the field
	made int            // fields
}

// field makes the field of a schema.
func (b *builder) field(n *node, name string, at *location, groups int) *Field {
	s := &node{}
	refs := b.merge(s, n)
	b.made++
	f := &Field{Name: name, Pointer: at.pointer(), Help: s.description, node: n, Secret: s.secret, Nullable: slices.Contains(s.types, "null")}
	if f.Name == "" {
		f.Name = "spec"
	}
	if at != nil {
		if b.form.byName[f.Name] != nil {
			f.Name = f.Pointer
		}
		b.form.byName[f.Name], f.Label = f, label(at.name)
	}
	f.HasSecrets = b.hasSecrets(n, map[*node]bool{})
	if s.hasDefault {
		f.Default = scalarText(s.initial)
	}
	again := slices.ContainsFunc(refs, func(r string) bool { return b.open[r] > 0 })
	for _, r := range refs {
		b.open[r]++
	}
	defer func() {
		for _, r := range refs {
			b.open[r]--
		}
	}()
	f.Type = typeOf(s)
	switch {
	case f.Type > Bytes && again || f.Type == Group && (groups > maxGroups || b.made > maxFields):
		f.Type = JSON
	case f.Type == Group:
		for _, p := range s.properties {
			inner := p.name
			if name != "" {
				inner = name + "." + p.name
			}
			one := b.field(p.node, inner, at.member(p.name), groups+1)
			one.Required = slices.Contains(s.required, p.name)
			if f.Secret {
				conceal(one)
			}
			f.Fields = append(f.Fields, one)
		}
	case f.Type == List && s.items != nil:
		f.Item = b.item(s.items, f)
	case f.Type == Map && s.additional != nil:
		f.Item = b.item(s.additional, f)
	}
	f.bounds(s)
	return f
}

// conceal marks a field within a secret.
func conceal(f *Field) {
	f.Secret, f.HasSecrets = true, true
	for _, one := range f.Fields {
		conceal(one)
	}
}

// item makes the field of the elements of a list or map. The fields of an object have their names in it.
func (b *builder) item(n *node, of *Field) *Field {
	inner := &builder{form: &Form{defs: b.form.defs, byName: map[string]*Field{}}, open: b.open}
	item := inner.field(n, "", nil, 1)
	item.Label = of.Label
	if item.Type == Group {
		item.Name = Root
	}
	return item
}

// bounds sets what a schema says of the size of values, for people: Parse checks the schema itself.
func (f *Field) bounds(s *node) {
	if f.values = s.enum; f.Type == Choice && len(s.enum) == 0 {
		f.values = []any{s.constant}
	}
	for _, e := range f.values {
		f.Enum = append(f.Enum, scalarText(e))
	}
	f.Min, f.Max = string(s.minimum), string(s.maximum)
	f.Unique = s.unique
	for _, one := range []struct {
		to   *int
		from *int
	}{
		{&f.MinLength, s.minLength},
		{&f.MaxLength, s.maxLength},
		{&f.MinItems, s.minItems},
		{&f.MaxItems, s.maxItems},
		{&f.MinItems, s.minProperties},
		{&f.MaxItems, s.maxProperties},
	} {
		if one.from != nil {
			*one.to = *one.from
		}
	}
}

// typeOf returns the type of the values of a schema.
func typeOf(s *node) Type {
	for _, t := range s.types {
		switch t {
		case "object":
			if s.additional == nil && (s.closed || len(s.properties) > 0) {
				return Group
			}
			return Map
		case "array":
			return List
		case "boolean":
			return Boolean
		case "integer", "number":
			switch {
			case len(s.enum) > 0 || s.hasConst:
				return Choice
			case t == "integer":
				return Integer
			default:
				return Number
			}
		case "string":
			switch {
			case len(s.enum) > 0 || s.hasConst:
				return Choice
			case s.base64:
				return Bytes
			}
			if t, ok := map[string]Type{"uuid": UUID, "date-time": Time, "date": Date}[s.format]; ok {
				return t
			}
			return Text
		}
	}
	return JSON
}

// merge adds to a schema without alternatives what another one says. It returns the definitions that are referred to.
func (b *builder) merge(s, n *node) (refs []string) {
	describe(s, n)
	if d := b.form.defs[n.ref]; n.ref != "" && d != nil {
		refs = append(append(refs, n.ref), b.merge(s, d)...)
	}
	for _, one := range n.allOf {
		refs = append(refs, b.merge(s, one)...)
	}
	for _, one := range slices.Backward(n.anyOf) { // the zero value, which escapes rules, is before them
		if slices.Equal(one.types, []string{"null"}) {
			s.types = append(slices.Clip(s.types), "null")
			continue
		}
		if !one.hasConst || !zero(one.constant) || slices.Equal(s.types, []string{"null"}) {
			refs = append(refs, b.merge(s, one)...)
		}
	}
	return refs
}

// describe adds to a schema what the keywords of another say, but for its alternatives.
func describe(s, n *node) {
	if s.description == "" {
		s.description = n.description
	}
	if !slices.ContainsFunc(s.types, func(t string) bool { return t != "null" }) {
		s.types = append(slices.Clip(s.types), n.types...)
	}
	if len(s.enum) == 0 && !s.hasConst {
		s.enum, s.constant, s.hasConst = n.enum, n.constant, n.hasConst
	}
	if s.format == "" {
		s.format = n.format
	}
	if len(s.properties) == 0 {
		s.properties, s.required = n.properties, n.required
	}
	for _, p := range []struct{ to, from **int }{
		{&s.minLength, &n.minLength},
		{&s.maxLength, &n.maxLength},
		{&s.minItems, &n.minItems},
		{&s.maxItems, &n.maxItems},
		{&s.minProperties, &n.minProperties},
		{&s.maxProperties, &n.maxProperties},
	} {
		if *p.to == nil {
			*p.to = *p.from
		}
	}
	for _, p := range []struct{ to, from *json.Number }{{&s.minimum, &n.minimum}, {&s.maximum, &n.maximum}} {
		if *p.to == "" {
			*p.to = *p.from
		}
	}
	if s.items == nil {
		s.items = n.items
	}
	if s.additional == nil {
		s.additional = n.additional
	}
	if !s.hasDefault {
		s.initial, s.hasDefault = n.initial, n.hasDefault
	}
	s.closed, s.unique, s.base64, s.secret = s.closed || n.closed, s.unique || n.unique, s.base64 || n.base64, s.secret || n.secret
}

// hasSecrets reports whether a value of a schema may be or contain a secret.
func (b *builder) hasSecrets(n *node, seen map[*node]bool) bool {
	if n == nil || seen[n] {
		return false
	}
	seen[n] = true
	if n.secret || b.hasSecrets(b.form.defs[n.ref], seen) || b.hasSecrets(n.items, seen) || b.hasSecrets(n.additional, seen) {
		return true
	}
	for _, p := range n.properties {
		if b.hasSecrets(p.node, seen) {
			return true
		}
	}
	return slices.ContainsFunc(slices.Concat(n.anyOf, n.allOf), func(one *node) bool { return b.hasSecrets(one, seen) })
}
