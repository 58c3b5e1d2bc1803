package emit

import (
	"fmt"
	"regexp"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// jsonPkg is the mark of the package that marshalling code stands on.
const jsonPkg = "«taskkit.dev/taskkit/taskjson|taskjson»"

// printer writes the marshalling code of one file. Structs, enums and containers that
// contain themselves have two functions, write and read; other types are written in place.
type printer struct {
	b     strings.Builder
	names map[string]functions // by the source of a type
}

// functions are what the functions of a type are called in a file. Table is the variable
// with the names of its fields or the values of an enum.
type functions struct{ write, read, table string }

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
		p.names[source] = functions{qualifier + "Write" + title, qualifier + "Read" + title, "namesOf" + title}
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
		p.names[t.Source] = functions{"write" + name, "read" + name, "namesOf" + name}
	}
	return p
}

// marshalling returns the body of json.go: the sizes of the roots, then the functions of
// each type that is not shared.
func marshalling(x *model.Executor, shared sharing) string {
	types := shared.local(x)
	p := newPrinter(types, shared, nil)
	for _, r := range x.Roots() {
		p.sizeFunction(r)
	}
	p.functions(types)
	return p.b.String()
}

// codecs returns the fields of a Definition with the codecs of the roots.
func codecs(x *model.Executor, shared sharing) string {
	p := newPrinter(shared.local(x), shared, nil)
	for _, r := range x.Roots() {
		p.f("%s: %s.NewCodec(sizeOf%s, %s, %s),\n", r.Name, jsonPkg, r.Name, p.writerPtr(r.Type), p.readerPtr(r.Type))
	}
	return strings.TrimSuffix(p.b.String(), "\n")
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

// ownFunctions reports whether a type has functions of its own in generated code.
func ownFunctions(t *model.Type) bool {
	return t.Form == model.Struct || len(t.Enum) > 0 || t.Named && t.Recursive
}

// exported writes the comment of a function that other packages call.
func (p *printer) exported(name, does string) {
	if name[0] >= 'A' && name[0] <= 'Z' {
		p.f("// %s %s\n", name, does)
	}
}

// f writes formatted source.
func (p *printer) f(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

// addressOf returns the source of an address.
func addressOf(x string) string {
	if inner, ok := strings.CutPrefix(x, "*"); ok {
		return inner
	}
	return "&" + x
}

// anonymous finds a struct with fields and without a name, which gofmt writes in several lines.
var anonymous = regexp.MustCompile(`\bstruct\{[^}]`)

// parameter returns the type of the last parameter of a function. After several lines the
// parenthesis stands on its own.
func parameter(source string) string {
	if anonymous.MatchString(source) {
		return source + ",\n"
	}
	return source
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

// writeValue returns a statement that writes x with the encoder that e is, an expression.
func (p *printer) writeValue(t *model.Type, x, e string) string {
	if own, ok := p.names[t.Source]; ok {
		if t.Form == model.Struct {
			x = addressOf(x)
		}
		return fmt.Sprintf("%s(%s, %s)\n", own.write, e, x)
	}
	return p.writeInPlace(t, x, e)
}

// writeInPlace is writeValue without calling a function of the type itself.
func (p *printer) writeInPlace(t *model.Type, x, e string) string {
	generic := func(name, x, elem string) string {
		return fmt.Sprintf("%s.%s(%s, %s, %s)\n", jsonPkg, name, e, x, elem)
	}
	switch t.Form {
	case model.String:
		return fmt.Sprintf("%s.String(%s)\n", e, convert(x, t.Source, "string"))
	case model.Bool:
		return fmt.Sprintf("%s.Bool(%s)\n", e, convert(x, t.Source, "bool"))
	case model.Int:
		return fmt.Sprintf("%s.Int(%s)\n", e, convert(x, t.Source, "int64"))
	case model.Uint:
		return fmt.Sprintf("%s.Uint(%s)\n", e, convert(x, t.Source, "uint64"))
	case model.Float:
		return fmt.Sprintf("%s.Float(%s, %d)\n", e, convert(x, t.Source, "float64"), t.Bits)
	case model.JSON, model.Text:
		return fmt.Sprintf("%s.%s(%s)\n", e, methods[t.Form], addressOf(x))
	case model.Slice, model.Array:
		if t.Form == model.Array {
			x = strings.TrimPrefix(x, "*") + "[:]"
		}
		switch {
		case isStrings(t):
			return fmt.Sprintf("%s.Strings(%s)\n", e, x)
		case t.Elem.Form == model.UUID:
			return fmt.Sprintf("%s.UUIDs(%s)\n", e, x)
		case inPlace(t.Elem):
			return generic("WriteSlicePtr", x, p.writerPtr(t.Elem))
		default:
			return generic("WriteSlice", x, p.writer(t.Elem))
		}
	case model.Map:
		return generic("Write"+mapKind(t), x, p.writer(t.Elem))
	case model.Pointer:
		return generic("WritePointer", x, p.writerPtr(t.Elem))
	default:
		return fmt.Sprintf("%s.%s(%s)\n", e, methods[t.Form], x)
	}
}

// methods are the methods of Encoder and Decoder for forms that need no conversion.
var methods = map[model.Form]string{
	model.Bytes: "Bytes", model.Raw: "Raw", model.Time: "Time", model.UUID: "UUID", model.JSON: "JSON", model.Text: "Text",
}

// isStrings reports whether a slice or array has elements of type string.
func isStrings(t *model.Type) bool { return t.Elem.Source == "string" }

// inPlace reports whether values are written and read by their address.
func inPlace(t *model.Type) bool {
	return t.Form == model.Struct || t.Form == model.Array || t.Form == model.JSON || t.Form == model.Text
}

// mapKind returns the end of the names of the functions for a map, after its keys.
func mapKind(t *model.Type) string {
	switch t.Key.Form {
	case model.Int, model.Uint:
		return "NumberMap"
	case model.String:
		return "Map"
	default:
		return "TextMap"
	}
}

// writer returns a function that writes a value of a type.
func (p *printer) writer(t *model.Type) string {
	if own, ok := p.names[t.Source]; ok && t.Form != model.Struct {
		return own.write
	}
	stmt := p.writeValue(t, "v", "e")
	if method, ok := onlyCall(stmt, "e.", "(v)\n"); ok && exactly(t) {
		return "(*" + jsonPkg + ".Encoder)." + method
	}
	return fmt.Sprintf("func(e *%s.Encoder, v %s) { %s }", jsonPkg, parameter(t.Source), strings.TrimSuffix(stmt, "\n"))
}

// writerPtr returns a function that writes a value by its address.
func (p *printer) writerPtr(t *model.Type) string {
	if t.Form == model.Struct {
		return p.names[t.Source].write
	}
	return fmt.Sprintf("func(e *%s.Encoder, v *%s) { %s }", jsonPkg, parameter(t.Source), strings.TrimSuffix(p.writeValue(t, "*v", "e"), "\n"))
}

// onlyCall returns the name of the method if a statement is nothing but its call.
func onlyCall(stmt, before, after string) (method string, ok bool) {
	method, ok = strings.CutPrefix(stmt, before)
	if ok {
		method, ok = strings.CutSuffix(method, after)
	}
	return method, ok && !strings.ContainsAny(method, "(. ")
}

// write writes the function that writes a type.
func (p *printer) write(t *model.Type) {
	own := p.names[t.Source]
	if len(t.Enum) > 0 {
		p.f("var %s = []%s{%s}\n\n", own.table, t.Source, wrapped(values(t)))
		p.exported(own.write, "writes v as JSON.")
		p.f("func %s(e *%s.Encoder, v %s) { %s.Write%s(e, v, %s) }\n\n", own.write, jsonPkg, t.Source, jsonPkg, enumKind(t), own.table)
		return
	}
	param := t.Source
	if t.Form == model.Struct {
		param = "*" + param
		if len(t.Fields) > 0 {
			p.f("var %s = []string{%s}\n\n", own.table, wrapped(fieldNames(t)))
		}
	}
	p.exported(own.write, "writes v as JSON.")
	p.f("func %s(e *%s.Encoder, v %s) {\n", own.write, jsonPkg, parameter(param))
	defer p.f("}\n\n")
	if t.Recursive {
		p.f("if e.Failed() {\nreturn // too deep, perhaps a circle\n}\n")
	}
	if t.Form == model.Struct {
		p.writeFields(t.Fields)
		p.f("e.EndObject()\n")
		return
	}
	p.b.WriteString(p.writeInPlace(t, "v", "e"))
}

// enumKind returns the end of the names of the functions for an enum.
func enumKind(t *model.Type) string {
	if t.Form == model.String {
		return "Enum"
	}
	return "NumberEnum"
}

// fieldNames returns the names of the fields of a struct as Go source.
func fieldNames(t *model.Type) []string {
	var out []string
	for _, f := range t.Fields {
		out = append(out, fmt.Sprintf("%q", f.JSON))
	}
	return out
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
			p.writeField(f, fmt.Sprintf("e.Open(%s)", literal("{"+name)))
		case certain:
			p.writeField(f, fmt.Sprintf("e.Next(%s)", literal(","+name)))
		default:
			p.writeField(f, fmt.Sprintf("e.Name(%q)", f.JSON))
		}
		certain = certain || !conditional(f)
	}
}

// literal writes a string without backquotes as source.
func literal(s string) string { return "`" + s + "`" }

// conditional reports whether a field may be left out.
func conditional(f model.Field) bool { return f.Keep != "" || len(f.Through) > 0 }

// writeField writes one member. The encoder is an expression that writes its name.
func (p *printer) writeField(f model.Field, e string) {
	x, t := "v."+f.Go, f.Type
	var conditions []string
	for _, t := range f.Through {
		conditions = append(conditions, "v."+t.Go+" != nil")
	}
	if f.Keep != "" {
		conditions = append(conditions, keep(f.Keep, x))
	}
	if _, own := p.names[t.Source]; !own && t.Form == model.Pointer && strings.Contains(f.Keep, "%s != nil") {
		t, x = t.Elem, "*"+x
	}
	one := p.writeValue(t, x, e)
	if len(conditions) > 0 {
		one = fmt.Sprintf("if %s {\n%s}\n", strings.Join(conditions, " && "), one)
	}
	p.b.WriteString(one)
}

// values returns the values of an enum as Go source.
func values(t *model.Type) []string {
	var out []string
	for _, c := range t.Enum {
		out = append(out, c.Value)
	}
	return out
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
