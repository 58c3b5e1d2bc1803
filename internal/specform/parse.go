package specform

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Values are the texts of fields by their names, as a form sends them and as flags have them.
type Values = map[string][]string

// A Problem is what is wrong with a field.
type Problem struct {
	Field   string // its name; "" for the spec as a whole
	Pointer string // the place, which may be an element of the field: /people/3
	Text    string // what is wrong, for people: "must be at least 1"
}

func (p Problem) String() string {
	if p.Field == "" {
		return "the spec " + p.Text
	}
	return p.Field + " " + p.Text
}

// Problems are all mistakes of a spec, in the order of the fields. At most 20 are about one field: the last of these counts the rest.
type Problems []Problem

// Of returns what is wrong with a field.
func (l Problems) Of(field string) (found []string) {
	for _, p := range l {
		if p.Field == field {
			found = append(found, p.Text)
		}
	}
	return found
}

const maxProblems = 20

// Parse makes a spec of texts. A text that is empty or absent leaves its field out, except a text that is required and may
// be empty. Problems are nil if the spec fits the schema; otherwise there is no spec, and the texts can be shown again
// beside what is wrong.
//
// How texts are read: spaces around numbers, ids and times do not count; line ends are line feeds; booleans are true or false, yes or no,
// on or off, 1 or 0; times are RFC 3339, and without a zone they are in UTC. A list has an element for each text, or for each line of
// a text; where elements cannot contain commas, also for what is between commas, semicolons, tabs and spaces. A map has lines of name=value.
// Lists, maps and groups can be written as JSON too: [], {} and null are different from nothing. A list of objects is JSON or CSV with a line of names.
// Names that no field has are ignored: see [Form.Unknown].
func (f *Form) Parse(values Values) (spec []byte, problems Problems) {
	return f.parse(&parser{form: f, values: values, broken: map[string]bool{}})
}

// Draft is Parse without the secrets: the spec has none, and what is wrong with them is not reported. It is for a form that is checked
// before a person enters them.
func (f *Form) Draft(values Values) (spec []byte, problems Problems) {
	return f.parse(&parser{form: f, values: values, broken: map[string]bool{}, draft: true})
}

func (f *Form) parse(p *parser) (spec []byte, problems Problems) {
	v, _ := p.field(f.root, nil)
	if v == nil && f.root.Type == Group {
		v = newObject()
	}
	p.check(v)
	if len(p.problems) > 0 {
		return nil, p.sorted()
	}
	return encode(nil, v), nil
}

// Unknown returns the names of values that are no fields of the form, sorted.
func (f *Form) Unknown(values Values) []string {
	var names []string
	for name := range values {
		if f.byName[name] == nil && name != Root {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// parser makes one spec.
type parser struct {
	form     *Form
	values   Values
	problems Problems
	more     map[string]int  // problems that are left out, by field
	broken   map[string]bool // pointers to texts that have no value
	draft    bool            // without secrets
}

// problem reports what is wrong with the text of a field, or with an element of it.
func (p *parser) problem(f *Field, pointer, text string) {
	name := f.Name
	if f == p.form.root && f.Type == Group {
		name = ""
	}
	if len(p.problems.Of(name)) >= maxProblems {
		if p.more == nil {
			p.more = map[string]int{}
		}
		p.more[name]++
		return
	}
	p.problems = append(p.problems, Problem{Field: name, Pointer: pointer, Text: text})
}

// fail is problem for a text without a value, so that nothing more is said of its place.
func (p *parser) fail(f *Field, pointer, text string) {
	p.broken[pointer] = true
	p.problem(f, pointer, text)
}

// check reports where a spec does not fit the schema.
func (p *parser) check(v any) {
	c := &checker{defs: p.form.defs, report: func(at *location, v any, text string) {
		pointer := at.pointer()
		for around := at; around != nil; around = around.up {
			if p.broken[around.pointer()] {
				return
			}
		}
		f := cmp.Or(p.form.Within(pointer), p.form.root)
		if element := strings.TrimPrefix(pointer, f.Pointer); element != "" && f != p.form.root {
			text = p.elementText(f, element, v, text)
		}
		p.problem(f, pointer, text)
	}}
	c.check(p.form.root.node, v, nil)
}

// elementText says in which part of a field something is wrong.
func (p *parser) elementText(f *Field, pointer string, v any, text string) string {
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	where := strings.Join(parts, ".")
	if f.Type == List {
		var i int
		if _, err := fmt.Sscan(parts[0], &i); err == nil {
			where = strings.Join(append([]string{"element " + thousands(i+1)}, parts[1:]...), ", ")
		}
	}
	switch v.(type) {
	case nil, []any, *object:
	default:
		if !f.Secret && !f.HasSecrets {
			where += " (" + shown(v) + ")"
		}
	}
	return where + ": " + text
}

// sorted returns the problems in the order of the fields, with the counts of those that are left out.
func (p *parser) sorted() Problems {
	order := map[string]int{}
	for f := range p.form.All() {
		order[f.Name] = len(order) + 1
	}
	all := p.problems
	for name, n := range p.more {
		all = append(all, Problem{Field: name, Text: "and " + thousands(n) + " more problems"})
	}
	slices.SortStableFunc(all, func(a, b Problem) int { return order[a.Field] - order[b.Field] })
	return all
}

// own returns the text of a field, the last if there are several.
func (p *parser) own(f *Field) string {
	given := p.values[f.Name]
	if len(given) == 0 {
		return ""
	}
	return given[len(given)-1]
}

// field returns the value of a field, if it has one. Without a text it is the member of the object around it, as the JSON of that says.
func (p *parser) field(f *Field, around *object) (v any, present bool) {
	if f.Type == Group && !f.Secret {
		return p.group(f, around)
	}
	if p.draft && f.HasSecrets {
		p.broken[f.Pointer] = true
		if around != nil {
			around.delete(f.name())
		}
		return nil, false
	}
	if f.Type == Group {
		return p.group(f, around)
	}
	if v, present = p.typed(f); present || p.broken[f.Pointer] {
		return v, present
	}
	if around != nil {
		v, present = around.members[f.name()]
	}
	return v, present
}

// tooLarge reports, with a problem, whether the texts of a field are more than any spec has, with room for spaces: its value would take many times the memory.
func (p *parser) tooLarge(f *Field) bool {
	size := 0
	for _, text := range p.values[f.Name] {
		size += len(text) + 1
	}
	if size <= 2*maxListBytes {
		return false
	}
	p.fail(f, f.Pointer, "is larger than the 4 MiB that a spec may have")
	return true
}

// typed returns the value of the text of a field that is no group.
func (p *parser) typed(f *Field) (v any, present bool) {
	if p.tooLarge(f) {
		return nil, false
	}
	switch f.Type {
	case List:
		return p.list(f)
	case Map:
		return p.mapping(f)
	case JSON:
		return p.json(f)
	default:
		return p.scalar(f)
	}
}

// scalar returns the value of the text of a field that is a line. An empty text is a value only of a text that is required and may be empty.
func (p *parser) scalar(f *Field) (v any, present bool) {
	text := p.own(f)
	empty := f.Required && f.Type == Text && len(p.values[f.Name]) > 0 && f.MinLength == 0
	if text == "" && !empty {
		return nil, false
	}
	v, problem := scalar(f, text)
	if problem != "" {
		p.fail(f, f.Pointer, problem)
		return nil, false
	}
	return v, v != nil
}

// json returns the value of the text of a field as JSON.
func (p *parser) json(f *Field) (v any, present bool) {
	text := p.own(f)
	if strings.TrimSpace(text) == "" {
		return nil, false
	}
	v, err := decode([]byte(text))
	if err != nil {
		p.fail(f, f.Pointer, "must be JSON: "+err.Error())
		return nil, false
	}
	return v, true
}

// group returns an object: its own text, as JSON, or the member of the object around it, and the values of its fields.
func (p *parser) group(f *Field, around *object) (v any, present bool) {
	if !p.tooLarge(f) {
		v, present = p.json(f)
	}
	if !present && !p.broken[f.Pointer] && around != nil {
		v, present = around.members[f.name()]
	}
	o, ok := v.(*object)
	if !ok && v != nil {
		p.fail(f, f.Pointer, "must be a JSON object, such as {}")
		return nil, false
	}
	if !ok {
		o = newObject()
	}
	broken := len(p.problems)
	for _, one := range f.Fields {
		if inner, ok := p.field(one, o); ok {
			o.set(one.name(), inner)
			v, present = o, true
		}
	}
	// A group that is required, or has a text that is no value, is there, so that the rest of it is checked.
	if !present && (f.Required || len(p.problems) > broken) {
		return o, true
	}
	return v, present
}

// name returns the name of a field in its object.
func (f *Field) name() string {
	name := f.Pointer[strings.LastIndexByte(f.Pointer, '/')+1:]
	return pointerNames.Replace(name)
}

var pointerNames = strings.NewReplacer("~1", "/", "~0", "~")

// list returns a list.
func (p *parser) list(f *Field) (v any, present bool) {
	given := p.values[f.Name]
	if text := strings.TrimSpace(strings.Join(given, "")); text == "" {
		return nil, false
	}
	if first := strings.TrimSpace(given[0]); len(given) == 1 && (first == "null" || first[0] == '[') || f.Item == nil || f.Item.Type > Group || f.Item.Type == JSON {
		return p.json(f)
	}
	if f.Item.Type == Group {
		return p.rows(f, strings.Join(given, "\n"))
	}
	var elements []string
	for _, text := range given {
		elements = append(elements, split(f.Item, text)...)
	}
	list := make([]any, 0, len(elements))
	for i, text := range elements {
		v, problem := scalar(f.Item, text)
		if problem != "" {
			if f.Secret {
				text = ""
			}
			p.fail(f, fmt.Sprintf("%s/%d", f.Pointer, i), p.elementText(f, fmt.Sprintf("/%d", i), text, problem))
		}
		list = append(list, v)
	}
	return list, true
}

// rows returns a list of objects from CSV.
func (p *parser) rows(f *Field, text string) (v any, present bool) {
	table, list, err := p.form.readCSV(f, strings.NewReader(text), CSVOptions{})
	if err != nil {
		p.fail(f, f.Pointer, err.Error())
		return nil, false
	}
	for _, one := range table.Problems {
		where := "line " + thousands(one.Line)
		if one.Column != "" {
			where += ", " + one.Column
		}
		if one.Value != "" && !f.HasSecrets {
			where += " (" + quoted(one.Value) + ")"
		}
		p.fail(f, f.Pointer, where+": "+one.Text)
	}
	return list, true
}

// split returns the elements of a text: its lines, and what is between commas where elements cannot contain them.
func split(item *Field, text string) (elements []string) {
	cut := func(r rune) bool { return r == '\n' }
	if item.Type != Text && item.Type != Bytes && !slices.ContainsFunc(item.Enum, func(e string) bool { return strings.ContainsAny(e, ",; \t") }) {
		cut = func(r rune) bool { return strings.ContainsRune("\n\r,; \t", r) }
		if item.Type == Time {
			cut = func(r rune) bool { return strings.ContainsRune("\n\r,;\t", r) }
		}
	}
	for one := range strings.FieldsFuncSeq(text, cut) {
		if one = strings.TrimSpace(one); one != "" {
			elements = append(elements, one)
		}
	}
	return elements
}

// mapping returns an object from lines of name=value, or from JSON.
func (p *parser) mapping(f *Field) (v any, present bool) {
	given := p.values[f.Name]
	if text := strings.TrimSpace(strings.Join(given, "")); text == "" {
		return nil, false
	}
	if first := strings.TrimSpace(given[0]); len(given) == 1 && (first == "null" || first[0] == '{') || f.Item == nil || f.Item.Type > Bytes || f.Item.Type == JSON {
		return p.json(f)
	}
	o := newObject()
	for _, text := range given {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				p.entry(f, o, line)
			}
		}
	}
	return o, true
}

// entry adds a line of a map.
func (p *parser) entry(f *Field, o *object, line string) {
	name, text, ok := strings.Cut(line, "=")
	name = strings.TrimSpace(name)
	shown := " " + quoted(line)
	if f.HasSecrets {
		shown = ""
	}
	if !ok {
		p.fail(f, f.Pointer, "the line"+shown+" must have the form name=value")
		return
	}
	if _, twice := o.members[name]; twice {
		p.fail(f, f.Pointer, "the name of the line"+shown+" is there twice")
		return
	}
	v, problem := scalar(f.Item, strings.TrimSpace(text))
	if problem != "" {
		p.fail(f, f.Pointer, "the line"+shown+": "+problem)
		return
	}
	o.set(name, v)
}
