package emit

import (
	"fmt"

	"taskkit.dev/internal/taskgen/model"
)

// readExpr returns an expression that reads a value, for the forms that have
// one.
func readExpr(t *model.Type) (string, bool) {
	if len(t.Enum) > 0 {
		return "", false
	}
	return readBasic(t)
}

// readBasic is readExpr for the basic type, without checking the values of an enum.
func readBasic(t *model.Type) (string, bool) {
	switch t.Form {
	case model.String:
		return convert("d.String()", "string", t.Source), true
	case model.Bool:
		return convert("d.Bool()", "bool", t.Source), true
	case model.Int:
		return convert(fmt.Sprintf("d.Int(%d)", t.Bits), "int64", t.Source), true
	case model.Uint:
		return convert(fmt.Sprintf("d.Uint(%d)", t.Bits), "uint64", t.Source), true
	case model.Float:
		return convert(fmt.Sprintf("d.Float(%d)", t.Bits), "float64", t.Source), true
	case model.Raw:
		return "d.Raw()", true
	case model.Time:
		return "d.Time()", true
	case model.UUID:
		return "d.UUID()", true
	default:
		return "", false
	}
}

// readValue returns a statement that reads into x, which is zero.
func (p *printer) readValue(t *model.Type, x string) string {
	if expr, ok := readExpr(t); ok {
		return fmt.Sprintf("%s = %s\n", x, expr)
	}
	switch t.Form {
	case model.Bytes:
		return fmt.Sprintf("if !d.Null() {\n%s = d.Bytes()\n}\n", x)
	case model.JSON:
		return fmt.Sprintf("d.JSON(%s)\n", addressOf(x))
	case model.Text:
		return fmt.Sprintf("d.Text(%s)\n", addressOf(x))
	default:
		return fmt.Sprintf("%s(d, %s)\n", p.names[t.Source].read, addressOf(x))
	}
}

// read writes the function that reads a type.
func (p *printer) read(t *model.Type) {
	name := p.names[t.Source].read
	p.f("// %s reads a %s.\n", name, model.Marked.ReplaceAllString(t.Source, "$2"))
	p.f("func %s(d *%s.Decoder, v *%s) {\n", name, jsonPkg, t.Source)
	defer p.f("}\n\n")
	if len(t.Enum) > 0 {
		expr, _ := readBasic(t)
		p.f("x := %s\nswitch x {\ncase %s:\ndefault:\nd.Refuse(%s)\n}\n*v = x\n", expr, cases(t), wrapped(knownValues(t)))
		return
	}
	switch t.Form {
	case model.Struct:
		p.readStruct(t)
	case model.Slice:
		p.f("if d.Null() || !d.BeginArray() {\nreturn\n}\n")
		if t.Elem.Form == model.UUID {
			p.f("list := make(%s, 0, d.Capacity(%d))\nfor d.More() {\nlist = append(list, d.UUID())\n}\n", t.Source, uuidSize)
		} else if expr, ok := readExpr(t.Elem); ok {
			p.f("list := %s{}\nfor d.More() {\nlist = append(list, %s)\n}\n", t.Source, expr)
		} else {
			p.f("list := %s{}\nvar zero %s\nfor d.More() {\nlist = append(list, zero)\n%s}\n",
				t.Source, t.Elem.Source, p.readValue(t.Elem, "list[len(list)-1]"))
		}
		p.f("d.End()\n*v = list\n")
	case model.Array:
		p.f("if !d.BeginArray() {\nreturn\n}\n")
		p.f("for i := range v {\nif !d.More() {\nd.Short(i, len(v))\nreturn\n}\n%s}\nd.End()\n", p.readValue(t.Elem, "v[i]"))
	case model.Map:
		p.readMap(t)
	case model.Pointer:
		p.f("if d.Null() {\nreturn\n}\n*v = new(%s)\n%s", t.Elem.Source, p.readValue(t.Elem, "**v"))
	default:
		panic("taskgen: " + t.Source + " is read in place")
	}
}

// readMap writes the loop over the members of a map. Keys that rise need not be
// searched for: those that this package has written do.
func (p *printer) readMap(t *model.Type) {
	p.f("if d.Null() || !d.BeginObject() {\nreturn\n}\nm := make(%s, d.Members())\n", t.Source)
	again := "if _, ok := m[key]; ok {\nd.Repeated()\n}\n"
	key := ""
	switch t.Key.Form {
	case model.String:
		key = convert("d.Key()", "string", t.Key.Source)
	case model.Int:
		key = convert(fmt.Sprintf("d.IntKey(%d)", t.Key.Bits), "int64", t.Key.Source)
	case model.Uint:
		key = convert(fmt.Sprintf("d.UintKey(%d)", t.Key.Bits), "uint64", t.Key.Source)
	default: // read by its UnmarshalText
	}
	if key != "" {
		p.f("var last %s\nfor d.More() {\nkey := %s\n", t.Key.Source, key)
		p.f("if key > last {\nlast = key\n} else %s", again)
	} else {
		p.f("for d.More() {\nvar key %s\nd.TextKey(&key)\n%s", t.Key.Source, again)
	}
	if expr, ok := readExpr(t.Elem); ok {
		p.f("m[key] = %s\n}\n", expr)
	} else {
		p.f("var x %s\n%sm[key] = x\n}\n", t.Elem.Source, p.readValue(t.Elem, "x"))
	}
	p.f("d.EndMap(len(m))\n*v = m\n")
}

// readStruct writes the loop over the members of an object.
func (p *printer) readStruct(t *model.Type) {
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
