package emit

import (
	"fmt"
	"strconv"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// readExpr returns an expression that reads a value, for the forms that have one.
func (p *printer) readExpr(t *model.Type) (string, bool) {
	if own, ok := p.names[t.Source]; ok {
		return own.read + "(d)", len(t.Enum) > 0
	}
	return readBasic(t)
}

// readBasic is readExpr without calling a function of the type itself.
func readBasic(t *model.Type) (string, bool) {
	switch t.Form {
	case model.String:
		return convert("d.String()", "string", t.Source), true
	case model.Bool:
		return convert("d.Bool()", "bool", t.Source), true
	case model.Int:
		return number("Int", "int", t), true
	case model.Uint:
		return number("Uint", "uint", t), true
	case model.Float:
		return number("Float", "float", t), true
	case model.Bytes, model.Raw, model.Time, model.UUID:
		return "d." + methods[t.Form] + "()", true
	case model.Slice:
		switch {
		case isStrings(t):
			return "d.Strings()", true
		case t.Elem.Form == model.UUID:
			return "d.UUIDs()", true
		default:
			return "", false
		}
	default:
		return "", false
	}
}

// number returns an expression that reads a number of the width of a type.
func number(method, basic string, t *model.Type) string {
	bits := ""
	if t.Bits > 0 {
		bits = strconv.Itoa(t.Bits)
	}
	return convert("d."+method+bits+"()", basic+bits, t.Source)
}

// readValue returns a statement that reads into x, which is zero.
func (p *printer) readValue(t *model.Type, x string) string {
	if expr, ok := p.readExpr(t); ok {
		return fmt.Sprintf("%s = %s\n", x, expr)
	}
	if own, ok := p.names[t.Source]; ok {
		return fmt.Sprintf("%s(d, %s)\n", own.read, addressOf(x))
	}
	return p.readInPlace(t, x)
}

// readInPlace is readValue without calling a function of the type itself.
func (p *printer) readInPlace(t *model.Type, x string) string {
	generic := func(name, x, elem string) string { return fmt.Sprintf("%s.%s(d, %s, %s)\n", jsonPkg, name, x, elem) }
	switch t.Form {
	case model.Slice:
		if _, ok := p.readExpr(t.Elem); !ok {
			return generic("ReadSlicePtr", addressOf(x), p.readerPtr(t.Elem))
		}
		return generic("ReadSlice", addressOf(x), p.reader(t.Elem))
	case model.Array:
		return generic("ReadArray", strings.TrimPrefix(x, "*")+"[:]", p.readerPtr(t.Elem))
	case model.Map:
		return generic("Read"+mapKind(t), addressOf(x), p.reader(t.Elem))
	case model.Pointer:
		return generic("ReadPointer", addressOf(x), p.readerPtr(t.Elem))
	default:
		return fmt.Sprintf("d.%s(%s)\n", methods[t.Form], addressOf(x))
	}
}

// reader returns a function that reads and returns a value of a type.
func (p *printer) reader(t *model.Type) string {
	own, hasOwn := p.names[t.Source]
	expr, ok := p.readExpr(t)
	switch {
	case ok && hasOwn:
		return own.read
	case ok:
		if method, only := onlyCall(expr, "d.", "()"); only && exactly(t) {
			return "(*" + jsonPkg + ".Decoder)." + method
		}
		return fmt.Sprintf("func(d *%s.Decoder) %s { return %s }", jsonPkg, t.Source, expr)
	default:
		stmt := strings.TrimSuffix(p.readValue(t, "v"), "\n")
		if param := parameter(t.Source); param != t.Source {
			return fmt.Sprintf("func(d *%s.Decoder) (v %s) {\n%s\nreturn v\n}", jsonPkg, param, stmt)
		}
		return fmt.Sprintf("func(d *%s.Decoder) (v %s) { %s; return v }", jsonPkg, t.Source, stmt)
	}
}

// exactly reports whether the methods for a type take and return just that type.
func exactly(t *model.Type) bool {
	return !t.Named || t.Form == model.Raw || t.Form == model.Time || t.Form == model.UUID
}

// readerPtr returns a function that reads into a place.
func (p *printer) readerPtr(t *model.Type) string {
	if own, ok := p.names[t.Source]; ok && len(t.Enum) == 0 {
		return own.read
	}
	stmt := strings.TrimSuffix(p.readValue(t, "*v"), "\n")
	return fmt.Sprintf("func(d *%s.Decoder, v *%s) { %s }", jsonPkg, parameter(t.Source), stmt)
}

// read writes the function that reads a type.
func (p *printer) read(t *model.Type) {
	own := p.names[t.Source]
	if len(t.Enum) > 0 {
		p.exported(own.read, "reads what "+own.write+" writes.")
		p.f("func %s(d *%s.Decoder) %s { return %s.Read%s(d, %s) }\n\n", own.read, jsonPkg, t.Source, jsonPkg, enumKind(t), own.table)
		return
	}
	p.exported(own.read, "reads JSON into v, which is zero.")
	p.f("func %s(d *%s.Decoder, v *%s) {\n", own.read, jsonPkg, parameter(t.Source))
	defer p.f("}\n\n")
	if t.Form == model.Struct {
		p.readStruct(t)
		return
	}
	p.b.WriteString(p.readInPlace(t, "*v"))
}

// readStruct writes the loop over the members of an object.
func (p *printer) readStruct(t *model.Type) {
	if len(t.Fields) == 0 {
		p.f("o := d.Object(nil)\nfor d.Next(&o) {\n}\n")
		return
	}
	p.f("o := d.Object(%s)\nfor d.Next(&o) {\nswitch o.Field {\n", p.names[t.Source].table)
	for i, f := range t.Fields {
		p.f("case %d: // %s\n", i, f.JSON)
		for _, t := range f.Through {
			p.f("if v.%s == nil {\nv.%s = new(%s)\n}\n", t.Go, t.Go, t.Source)
		}
		p.b.WriteString(p.readValue(f.Type, "v."+f.Go))
	}
	p.f("}\n}\n")
}
