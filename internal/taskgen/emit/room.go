package emit

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// uuidSize is the length of a UUID in an array, with quotes and comma. Most large
// specs consist of UUIDs, so space for all of them is allocated at once.
const uuidSize = 39

// sizeFunction writes the function that estimates the size of a root in bytes. The
// lengths of strings and of lists of UUIDs are taken from the value, also in structs
// within it.
func (p *printer) sizeFunction(r model.Root) {
	if r.Type.Form != model.Struct {
		p.f("func sizeOf%s(*%s) int { return %d }\n\n", r.Name, r.Name, room(r.Type, nil))
		return
	}
	static, terms, optional := sizeTerms(r.Type, "v.", 0)
	total := strings.Join(append([]string{strconv.Itoa(min(static, 1024))}, terms...), " + ")
	switch {
	case len(terms) == 0 && optional == "":
		p.f("func sizeOf%s(*%s) int { return %s }\n\n", r.Name, r.Name, total)
	case optional == "":
		p.f("func sizeOf%s(v *%s) int { return %s }\n\n", r.Name, r.Name, total)
	default:
		p.f("func sizeOf%s(v *%s) int {\nn := %s\n%sreturn n\n}\n\n", r.Name, r.Name, total, optional)
	}
}

// sizeTerms returns what the size of a struct is made of: bytes that every value takes,
// lengths to add, and statements that add the lengths behind pointers.
func sizeTerms(t *model.Type, at string, depth int) (static int, terms []string, optional string) {
	const most = 3 // levels of structs
	static = 2
	for _, f := range t.Fields {
		static += len(f.JSON) + 4
		x := at + f.Go
		switch form := f.Type.Form; {
		case len(f.Through) > 0:
			static += room(f.Type, nil)
		case form == model.String && len(f.Type.Enum) == 0:
			terms = append(terms, "len("+x+")")
		case form == model.Slice && f.Type.Elem.Form == model.UUID:
			terms = append(terms, fmt.Sprintf("%d*len(%s)", uuidSize, x))
		case form == model.Struct && depth < most:
			n, more, behind := sizeTerms(f.Type, x+".", depth+1)
			static, terms, optional = static+n, append(terms, more...), optional+behind
		case form == model.Pointer && f.Type.Elem.Form == model.Struct && depth < most:
			n, more, behind := sizeTerms(f.Type.Elem, x+".", depth+1)
			total := strings.Join(append([]string{strconv.Itoa(n)}, more...), " + ")
			optional += fmt.Sprintf("if %s != nil {\nn += %s\n%s}\n", x, total, behind)
		default:
			static += room(f.Type, nil)
		}
	}
	return static, terms, optional
}

// room returns about how many bytes a value takes: a little too many for most,
// and little for what may be of any size.
func room(t *model.Type, around []*model.Type) int {
	const most = 512
	if slices.Contains(around, t) {
		return 4
	}
	switch t.Form {
	case model.String, model.Text, model.UUID, model.Time:
		return 40
	case model.Bool, model.Int, model.Uint, model.Float:
		return 8
	case model.Pointer:
		return room(t.Elem, append(around, t))
	case model.Struct:
		n := 2
		for _, f := range t.Fields {
			n += len(f.JSON) + 4 + room(f.Type, append(around, t))
		}
		return min(n, most)
	default:
		return 32
	}
}
