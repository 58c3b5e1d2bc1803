package emit

import (
	"fmt"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// jsonPkg is the mark of the package that marshalling code stands on.
const jsonPkg = "«taskkit.dev/taskkit/taskjson|taskjson»"

// printer writes the marshalling code of one file. Some types have two functions,
// write and read; the others are written in place.
type printer struct {
	b     strings.Builder
	names map[string]functions // by the source of a type
}

// functions are what the functions of a type are called in a file.
type functions struct{ write, read string }

// newPrinter returns a printer for a file in which the given types have functions
// of their own. The functions of shared types are called in their packages; own is
// the package that the file is in, or nil.
func newPrinter(types []*model.Type, shared sharing, own *sharedPackage) *printer {
	p := &printer{names: map[string]functions{}}
	for source, in := range shared.byType {
		qualifier := ""
		if in != own {
			qualifier = "«" + in.path + "|" + in.name + "»."
		}
		title := in.titles[source]
		p.names[source] = functions{qualifier + "Write" + title, qualifier + "Read" + title}
	}
	used := map[string]bool{}
	for _, t := range types {
		if _, known := p.names[t.Source]; known || !ownFunctions(t) {
			continue
		}
		name := t.Title
		for n := 2; used[name]; n++ {
			name = fmt.Sprintf("%s%d", t.Title, n)
		}
		used[name] = true
		p.names[t.Source] = functions{"write" + name, "read" + name}
	}
	return p
}

// marshalling returns the body of json.go: the codecs of the roots, then the
// functions of each type that is not shared.
func marshalling(x *model.Executor, shared sharing) string {
	types := shared.local(x)
	p := newPrinter(types, shared, nil)
	for _, r := range x.Roots() {
		p.codec(r)
	}
	p.functions(types)
	return p.b.String()
}

// functions writes the functions of types.
func (p *printer) functions(types []*model.Type) {
	for _, t := range types {
		if ownFunctions(t) {
			p.write(t)
			p.read(t)
		}
	}
}

// ownFunctions reports whether a type has functions of its own in generated
// code: what holds other values, and enums.
func ownFunctions(t *model.Type) bool { return t.Form >= model.Slice || len(t.Enum) > 0 }

// f writes formatted source.
func (p *printer) f(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

// codec writes the two functions of a taskjson.Codec.
func (p *printer) codec(r model.Root) {
	name := strings.ToLower(r.Name)
	p.f("// append%s appends the JSON of a %s to dst.\n", r.Name, name)
	p.f("func append%s(dst []byte, v *%s) ([]byte, error) {\n", r.Name, r.Name)
	p.f("e := %s.NewEncoderSize(dst, %s)\n%sreturn e.Finish()\n}\n\n", jsonPkg, wrapped(roomExpr(r.Type)), p.writeValue(r.Type, "*v", "&e"))
	p.f("// decode%s reads a %s.\n", r.Name, name)
	p.f("func decode%s(src []byte, v *%s) error {\n", r.Name, r.Name)
	zero := r.Name + "{}"
	if r.Type.Form != model.Struct {
		zero = "*new(" + r.Name + ")"
	}
	p.f("d := %s.NewDecoder(src)\n*v = %s\n%sreturn d.Finish()\n}\n\n", jsonPkg, zero, p.readValue(r.Type, "*v"))
}

// addressOf returns the source of an address.
func addressOf(x string) string {
	if inner, ok := strings.CutPrefix(x, "*"); ok {
		return inner
	}
	return "&" + x
}

// convert returns x as the basic type to, when it is of another.
func convert(x, from, to string) string {
	if from == to {
		return x
	}
	if strings.HasPrefix(to, "*") {
		to = "(" + to + ")"
	}
	return to + "(" + x + ")"
}

// writeValue returns a statement that writes x, with an encoder e.
func (p *printer) writeValue(t *model.Type, x, e string) string {
	call := strings.TrimPrefix(e, "&")
	if len(t.Enum) > 0 {
		return fmt.Sprintf("%s(%s, %s)\n", p.names[t.Source].write, e, x)
	}
	switch t.Form {
	case model.String:
		return fmt.Sprintf("%s.String(%s)\n", call, convert(x, t.Source, "string"))
	case model.Bool:
		return fmt.Sprintf("%s.Bool(%s)\n", call, convert(x, t.Source, "bool"))
	case model.Int:
		return fmt.Sprintf("%s.Int(%s)\n", call, convert(x, t.Source, "int64"))
	case model.Uint:
		return fmt.Sprintf("%s.Uint(%s)\n", call, convert(x, t.Source, "uint64"))
	case model.Float:
		return fmt.Sprintf("%s.Float(%s, %d)\n", call, convert(x, t.Source, "float64"), t.Bits)
	case model.Bytes:
		return fmt.Sprintf("%s.Bytes(%s)\n", call, x)
	case model.Raw:
		return fmt.Sprintf("%s.Raw(%s)\n", call, x)
	case model.Time:
		return fmt.Sprintf("%s.Time(%s)\n", call, x)
	case model.UUID:
		return fmt.Sprintf("%s.UUID(%s)\n", call, x)
	case model.JSON:
		return fmt.Sprintf("%s.JSON(%s)\n", call, addressOf(x))
	case model.Text:
		return fmt.Sprintf("%s.Text(%s)\n", call, addressOf(x))
	case model.Struct, model.Array:
		return fmt.Sprintf("%s(%s, %s)\n", p.names[t.Source].write, e, addressOf(x))
	default:
		return fmt.Sprintf("%s(%s, %s)\n", p.names[t.Source].write, e, x)
	}
}

// write writes the function that writes a type.
func (p *printer) write(t *model.Type) {
	name := p.names[t.Source].write
	param := t.Source
	if t.Form == model.Struct || t.Form == model.Array {
		param = "*" + param
	}
	p.f("// %s writes a %s.\n", name, model.Marked.ReplaceAllString(t.Source, "$2"))
	p.f("func %s(e *%s.Encoder, v %s) {\n", name, jsonPkg, param)
	defer p.f("}\n\n")
	if t.Recursive {
		p.f("if e.Failed() {\nreturn // too deep, perhaps a circle\n}\n")
	}
	if len(t.Enum) > 0 {
		p.f("switch v {\ncase %s:\n", cases(t))
		basic := *t
		basic.Enum = nil
		p.f("%sdefault:\ne.Refuse(%s)\n}\n", p.writeValue(&basic, "v", "e"), wrapped(knownValues(t)))
		return
	}
	switch t.Form {
	case model.Struct:
		p.writeFields(t.Fields)
		p.f("e.EndObject()\n")
	case model.Slice:
		p.f("if v == nil {\ne.Null()\nreturn\n}\n")
		if t.Elem.Form == model.UUID {
			p.f("e.Grow(%d * len(v))\n", uuidSize)
		}
		fallthrough
	case model.Array:
		p.f("e.BeginArray()\nfor i := range v {\ne.Element()\n%s}\ne.EndArray()\n", p.writeValue(t.Elem, "v[i]", "e"))
	case model.Map:
		p.f("if v == nil {\ne.Null()\nreturn\n}\ne.BeginObject()\n")
		value := p.writeValue(t.Elem, "x", "e")
		switch t.Key.Form {
		case model.Int, model.Uint:
			p.f("for _, key := range %s.NumberKeys(v) {\ne.Key(key.Text)\nx := v[key.Key]\n%s}\n", jsonPkg, value)
		case model.String:
			p.f("for key, x := range %s.Members(v) {\ne.Key(key)\n%s}\n", jsonPkg, value)
		default:
			p.f("for _, key := range %s.TextKeys(e, v) {\ne.Key(key.Text)\nx := v[key.Key]\n%s}\n", jsonPkg, value)
		}
		p.f("e.EndObject()\n")
	case model.Pointer:
		p.f("if v == nil {\ne.Null()\nreturn\n}\n%s", p.writeValue(t.Elem, "*v", "e"))
	default:
		panic("taskgen: " + t.Source + " is written in place")
	}
}

// writeFields writes the beginning and the members of an object. Once there is a
// member for certain, the names of the others are written in one piece with their
// comma.
func (p *printer) writeFields(fields []model.Field) {
	if len(fields) == 0 || conditional(fields[0]) {
		p.f("e.BeginObject()\n")
	}
	certain := false
	for i, f := range fields {
		name := fmt.Sprintf("%q:", f.JSON) // nothing in it needs escaping
		switch {
		case i == 0 && !conditional(f):
			p.writeField(f, fmt.Sprintf("e.Open(%s)\n", literal("{"+name)))
		case certain:
			p.writeField(f, fmt.Sprintf("e.Next(%s)\n", literal(","+name)))
		default:
			p.writeField(f, fmt.Sprintf("e.Name(%q)\n", f.JSON))
		}
		certain = certain || !conditional(f)
	}
}

// literal writes a string without backquotes as source.
func literal(s string) string { return "`" + s + "`" }

// conditional reports whether a field may be left out.
func conditional(f model.Field) bool { return f.Keep != "" || len(f.Through) > 0 }

// writeField writes one member, whose name is written by a statement.
func (p *printer) writeField(f model.Field, name string) {
	x := "v." + f.Go
	one := name + p.writeValue(f.Type, x, "e")
	var conditions []string
	for _, t := range f.Through {
		conditions = append(conditions, "v."+t.Go+" != nil")
	}
	if f.Keep != "" {
		conditions = append(conditions, keep(f.Keep, x))
	}
	if len(conditions) > 0 {
		one = fmt.Sprintf("if %s {\n%s}\n", strings.Join(conditions, " && "), one)
	}
	p.b.WriteString(one)
}

// knownValues returns the values of an enum as arguments that name them.
func knownValues(t *model.Type) []string {
	var out []string
	for _, c := range t.Enum {
		out = append(out, fmt.Sprintf("%q", strings.Trim(c.Value, `"`)))
	}
	return out
}

// cases returns the values of an enum as Go source, the zero value first: a field
// that is not set.
func cases(t *model.Type) string {
	zero := "0"
	if t.Form == model.String {
		zero = `""`
	}
	out := []string{zero}
	for _, c := range t.Enum {
		if c.Value != zero {
			out = append(out, c.Value)
		}
	}
	return strings.Join(out, ", ")
}

// keep writes the condition of a field.
func keep(cond, x string) string {
	parts := strings.Split(cond, " && ")
	for i, part := range parts {
		if strings.Contains(part, "%") {
			parts[i] = fmt.Sprintf(part, x)
		}
	}
	return strings.Join(parts, " && ")
}

// wrapped joins arguments, with line breaks where they are long.
func wrapped(args []string) string {
	if len(strings.Join(args, ", ")) <= 70 {
		return strings.Join(args, ", ")
	}
	var b strings.Builder
	width := 0
	b.WriteString("\n")
	for _, a := range args {
		if width += len(a) + 2; width > 76 {
			b.WriteString("\n")
			width = len(a) + 2
		}
		b.WriteString(a + ", ")
	}
	return b.String() + "\n"
}
