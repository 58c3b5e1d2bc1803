package taskgen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// jsonPkg is the mark of the package that marshalling code stands on.
const jsonPkg = "«taskkit.dev/taskkit/taskjson|taskjson»"

// uuidSize is what a UUID takes in an array: quotes and a comma. Long lists of
// them are what most specs are made of, so room for them is made at once.
const uuidSize = 39

// printer writes the marshalling code of one executor. Some types have two
// functions, write and read; the others are written in place.
type printer struct {
	b     strings.Builder
	names map[string]string // by the source of a type: what its functions are called
}

// marshalling returns the body of json.go: the codecs of the roots, then the
// functions of each type.
func marshalling(x *Executor) string {
	p := &printer{names: map[string]string{}}
	all := reachable(x)
	used := map[string]bool{}
	for _, t := range all {
		if !t.ownFunctions() {
			continue
		}
		name := t.Title
		for n := 2; used[name]; n++ {
			name = fmt.Sprintf("%s%d", t.Title, n)
		}
		used[name] = true
		p.names[t.Source] = name
	}
	for _, r := range x.roots() {
		p.codec(r)
	}
	for _, t := range all {
		if !t.ownFunctions() {
			continue
		}
		p.write(t)
		p.read(t)
	}
	return p.b.String()
}

// ownFunctions reports whether a type has functions of its own in generated
// code: what holds other values, and enums.
func (t *Type) ownFunctions() bool { return t.Form >= Slice || len(t.Enum) > 0 }

// f writes formatted source.
func (p *printer) f(format string, args ...any) { fmt.Fprintf(&p.b, format, args...) }

// codec writes the two functions of a taskkit.Codec.
func (p *printer) codec(r root) {
	name := strings.ToLower(r.Name)
	p.f("// append%s appends the JSON of a %s to dst.\n", r.Name, name)
	p.f("func append%s(dst []byte, v *%s) ([]byte, error) {\n", r.Name, r.Name)
	p.f("e := %s.NewEncoderSize(dst, %s)\n%sreturn e.Finish()\n}\n\n", jsonPkg, wrapped(roomExpr(r.Type)), p.writeValue(r.Type, "*v", "&e"))
	p.f("// decode%s reads a %s.\n", r.Name, name)
	p.f("func decode%s(src []byte, v *%s) error {\n", r.Name, r.Name)
	p.f("d := %s.NewDecoder(src)\n*v = *new(%s)\n%sreturn d.Finish()\n}\n\n", jsonPkg, r.Name, p.readValue(r.Type, "*v"))
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
func (p *printer) writeValue(t *Type, x, e string) string {
	call := strings.TrimPrefix(e, "&")
	if len(t.Enum) > 0 {
		return fmt.Sprintf("write%s(%s, %s)\n", p.names[t.Source], e, x)
	}
	switch t.Form {
	case String:
		return fmt.Sprintf("%s.String(%s)\n", call, convert(x, t.Source, "string"))
	case Bool:
		return fmt.Sprintf("%s.Bool(%s)\n", call, convert(x, t.Source, "bool"))
	case Int:
		return fmt.Sprintf("%s.Int(%s)\n", call, convert(x, t.Source, "int64"))
	case Uint:
		return fmt.Sprintf("%s.Uint(%s)\n", call, convert(x, t.Source, "uint64"))
	case Float:
		return fmt.Sprintf("%s.Float(%s, %d)\n", call, convert(x, t.Source, "float64"), t.Bits)
	case Bytes:
		return fmt.Sprintf("%s.Bytes(%s)\n", call, x)
	case Raw:
		return fmt.Sprintf("%s.Raw(%s)\n", call, x)
	case Time:
		return fmt.Sprintf("%s.Time(%s)\n", call, x)
	case UUID:
		return fmt.Sprintf("%s.UUID(%s)\n", call, x)
	case JSON:
		return fmt.Sprintf("%s.JSON(%s)\n", call, addressOf(x))
	case Text:
		return fmt.Sprintf("%s.Text(%s)\n", call, addressOf(x))
	case Struct, Array:
		return fmt.Sprintf("write%s(%s, %s)\n", p.names[t.Source], e, addressOf(x))
	default:
		return fmt.Sprintf("write%s(%s, %s)\n", p.names[t.Source], e, x)
	}
}

// readExpr returns an expression that reads a value, for the forms that have
// one.
func readExpr(t *Type) (string, bool) {
	if len(t.Enum) > 0 {
		return "", false
	}
	return readBasic(t)
}

// readBasic is readExpr without a look at the values of an enum.
func readBasic(t *Type) (string, bool) {
	switch t.Form {
	case String:
		return convert("d.String()", "string", t.Source), true
	case Bool:
		return convert("d.Bool()", "bool", t.Source), true
	case Int:
		return convert(fmt.Sprintf("d.Int(%d)", t.Bits), "int64", t.Source), true
	case Uint:
		return convert(fmt.Sprintf("d.Uint(%d)", t.Bits), "uint64", t.Source), true
	case Float:
		return convert(fmt.Sprintf("d.Float(%d)", t.Bits), "float64", t.Source), true
	case Raw:
		return "d.Raw()", true
	case Time:
		return "d.Time()", true
	case UUID:
		return "d.UUID()", true
	default:
		return "", false
	}
}

// readValue returns a statement that reads into x, which is zero.
func (p *printer) readValue(t *Type, x string) string {
	if expr, ok := readExpr(t); ok {
		return fmt.Sprintf("%s = %s\n", x, expr)
	}
	switch t.Form {
	case Bytes:
		return fmt.Sprintf("if !d.Null() {\n%s = d.Bytes()\n}\n", x)
	case JSON:
		return fmt.Sprintf("d.JSON(%s)\n", addressOf(x))
	case Text:
		return fmt.Sprintf("d.Text(%s)\n", addressOf(x))
	default:
		return fmt.Sprintf("read%s(d, %s)\n", p.names[t.Source], addressOf(x))
	}
}

// write writes the function that writes a type.
func (p *printer) write(t *Type) {
	name := p.names[t.Source]
	param := t.Source
	if t.Form == Struct || t.Form == Array {
		param = "*" + param
	}
	p.f("// write%s writes a %s.\n", name, marked.ReplaceAllString(t.Source, "$2"))
	p.f("func write%s(e *%s.Encoder, v %s) {\n", name, jsonPkg, param)
	defer p.f("}\n\n")
	if t.Recursive {
		p.f("if e.Failed() {\nreturn // too deep, perhaps a circle\n}\n")
	}
	if len(t.Enum) > 0 {
		p.f("switch v {\ncase %s:\n", t.cases())
		basic := *t
		basic.Enum = nil
		p.f("%sdefault:\ne.Refuse(%s)\n}\n", p.writeValue(&basic, "v", "e"), wrapped(t.known()))
		return
	}
	switch t.Form {
	case Struct:
		p.writeFields(t.Fields)
		p.f("e.EndObject()\n")
	case Slice:
		p.f("if v == nil {\ne.Null()\nreturn\n}\n")
		if t.Elem.Form == UUID {
			p.f("e.Grow(%d * len(v))\n", uuidSize)
		}
		fallthrough
	case Array:
		p.f("e.BeginArray()\nfor i := range v {\ne.Element()\n%s}\ne.EndArray()\n", p.writeValue(t.Elem, "v[i]", "e"))
	case Map:
		p.f("if v == nil {\ne.Null()\nreturn\n}\ne.BeginObject()\n")
		value := p.writeValue(t.Elem, "x", "e")
		switch t.Key.Form {
		case Int, Uint:
			p.f("for _, key := range %s.NumberKeys(v) {\ne.Key(key.Text)\nx := v[key.Key]\n%s}\n", jsonPkg, value)
		case String:
			p.f("for _, key := range «slices|slices».Sorted(«maps|maps».Keys(v)) {\n")
			p.f("e.Key(%s)\nx := v[key]\n%s}\n", convert("key", t.Key.Source, "string"), value)
		default:
			p.f("for _, key := range %s.TextKeys(e, v) {\ne.Key(key.Text)\nx := v[key.Key]\n%s}\n", jsonPkg, value)
		}
		p.f("e.EndObject()\n")
	case Pointer:
		p.f("if v == nil {\ne.Null()\nreturn\n}\n%s", p.writeValue(t.Elem, "*v", "e"))
	default:
		panic("taskgen: " + t.Source + " is written in place")
	}
}

// writeFields writes the beginning and the members of an object. Once there is a
// member for certain, the names of the others are written in one piece with their
// comma.
func (p *printer) writeFields(fields []Field) {
	if len(fields) == 0 || fields[0].conditional() {
		p.f("e.BeginObject()\n")
	}
	certain := false
	for i, f := range fields {
		name := fmt.Sprintf("%q:", f.JSON) // nothing in it needs escaping
		switch {
		case i == 0 && !f.conditional():
			p.writeField(f, fmt.Sprintf("e.Open(%s)\n", literal("{"+name)))
		case certain:
			p.writeField(f, fmt.Sprintf("e.Next(%s)\n", literal(","+name)))
		default:
			p.writeField(f, fmt.Sprintf("e.Name(%q)\n", f.JSON))
		}
		certain = certain || !f.conditional()
	}
}

// literal writes a string without backquotes as source.
func literal(s string) string { return "`" + s + "`" }

// conditional reports whether a field may be left out.
func (f Field) conditional() bool { return f.Keep != "" || len(f.Through) > 0 }

// roomExpr returns an expression for about how many bytes the root v takes: what
// its own strings and lists of UUIDs need is asked of them.
func roomExpr(t *Type) []string {
	if t.Form != Struct {
		return []string{strconv.Itoa(t.room(nil))}
	}
	static := 2
	var terms []string
	for _, f := range t.Fields {
		static += len(f.JSON) + 4
		switch {
		case len(f.Through) == 0 && f.Type.Form == String:
			terms = append(terms, fmt.Sprintf("len(v.%s)", f.Go))
		case len(f.Through) == 0 && f.Type.Form == Slice && f.Type.Elem.Form == UUID:
			terms = append(terms, fmt.Sprintf("%d*len(v.%s)", uuidSize, f.Go))
		default:
			static += f.Type.room(nil)
		}
	}
	return []string{strings.Join(append([]string{strconv.Itoa(min(static, 1024))}, terms...), "+")}
}

// room returns about how many bytes a value takes: a little too many for most,
// and little for what may be of any size.
func (t *Type) room(around []*Type) int {
	const most = 512
	if slices.Contains(around, t) {
		return 4
	}
	switch t.Form {
	case String, Text, UUID, Time:
		return 40
	case Bool, Int, Uint, Float:
		return 8
	case Pointer:
		return t.Elem.room(append(around, t))
	case Struct:
		n := 2
		for _, f := range t.Fields {
			n += len(f.JSON) + 4 + f.Type.room(append(around, t))
		}
		return min(n, most)
	default:
		return 32
	}
}

// writeField writes one member, whose name is written by a statement.
func (p *printer) writeField(f Field, name string) {
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

// known returns the values of an enum as arguments that name them.
func (t *Type) known() []string {
	var out []string
	for _, c := range t.Enum {
		out = append(out, fmt.Sprintf("%q", strings.Trim(c.Value, `"`)))
	}
	return out
}

// cases returns the values of an enum as Go source, the zero value first: a field
// that is not set.
func (t *Type) cases() string {
	zero := "0"
	if t.Form == String {
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

// read writes the function that reads a type.
func (p *printer) read(t *Type) {
	name := p.names[t.Source]
	p.f("// read%s reads a %s.\n", name, marked.ReplaceAllString(t.Source, "$2"))
	p.f("func read%s(d *%s.Decoder, v *%s) {\n", name, jsonPkg, t.Source)
	defer p.f("}\n\n")
	if len(t.Enum) > 0 {
		expr, _ := readBasic(t)
		p.f("x := %s\nswitch x {\ncase %s:\ndefault:\nd.Refuse(%s)\n}\n*v = x\n", expr, t.cases(), wrapped(t.known()))
		return
	}
	switch t.Form {
	case Struct:
		p.readStruct(t)
	case Slice:
		p.f("if d.Null() || !d.BeginArray() {\nreturn\n}\n")
		if t.Elem.Form == UUID {
			p.f("list := make(%s, 0, d.Hint(%d))\nfor d.More() {\nlist = append(list, d.UUID())\n}\n", t.Source, uuidSize)
		} else if expr, ok := readExpr(t.Elem); ok {
			p.f("list := %s{}\nfor d.More() {\nlist = append(list, %s)\n}\n", t.Source, expr)
		} else {
			p.f("list := %s{}\nvar zero %s\nfor d.More() {\nlist = append(list, zero)\n%s}\n",
				t.Source, t.Elem.Source, p.readValue(t.Elem, "list[len(list)-1]"))
		}
		p.f("d.End()\n*v = list\n")
	case Array:
		p.f("if !d.BeginArray() {\nreturn\n}\n")
		p.f("for i := range v {\nif !d.More() {\nd.Short(i, len(v))\nreturn\n}\n%s}\nd.End()\n", p.readValue(t.Elem, "v[i]"))
	case Map:
		p.f("if d.Null() || !d.BeginObject() {\nreturn\n}\nm := %s{}\nfor d.More() {\n", t.Source)
		switch t.Key.Form {
		case String:
			p.f("key := %s\n", convert("d.Key()", "string", t.Key.Source))
		case Int:
			p.f("key := %s\n", convert(fmt.Sprintf("d.IntKey(%d)", t.Key.Bits), "int64", t.Key.Source))
		case Uint:
			p.f("key := %s\n", convert(fmt.Sprintf("d.UintKey(%d)", t.Key.Bits), "uint64", t.Key.Source))
		default:
			p.f("var key %s\nd.TextKey(&key)\n", t.Key.Source)
		}
		p.f("if _, ok := m[key]; ok {\nd.Repeated()\n}\n")
		if expr, ok := readExpr(t.Elem); ok {
			p.f("m[key] = %s\n}\n", expr)
		} else {
			p.f("var x %s\n%sm[key] = x\n}\n", t.Elem.Source, p.readValue(t.Elem, "x"))
		}
		p.f("d.End()\n*v = m\n")
	case Pointer:
		p.f("if d.Null() {\nreturn\n}\n*v = new(%s)\n%s", t.Elem.Source, p.readValue(t.Elem, "**v"))
	default:
		panic("taskgen: " + t.Source + " is read in place")
	}
}

// readStruct writes the loop over the members of an object.
func (p *printer) readStruct(t *Type) {
	p.f("if !d.BeginObject() {\nreturn\n}\n")
	words := (len(t.Fields) + 63) / 64
	switch {
	case words == 1:
		p.f("var seen uint64\n")
	case words > 1:
		p.f("var seen [%d]uint64\n", words)
	}
	p.f("for d.More() {\nswitch name := d.Name(); string(name) {\n")
	var known []string
	for i, f := range t.Fields {
		seen := "seen"
		if words > 1 {
			seen = fmt.Sprintf("seen[%d]", i/64)
		}
		p.f("case %q:\nd.Once(&%s, %d)\n", f.JSON, seen, i%64)
		for _, t := range f.Through {
			p.f("if v.%s == nil {\nv.%s = new(%s)\n}\n", t.Go, t.Go, t.Source)
		}
		p.b.WriteString(p.readValue(f.Type, "v."+f.Go))
		known = append(known, fmt.Sprintf("%q", f.JSON))
	}
	p.f("default:\nd.Unknown(%s)\n}\n}\nd.End()\n", wrapped(append([]string{"name"}, known...)))
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
