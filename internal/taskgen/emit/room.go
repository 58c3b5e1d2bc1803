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

// roomExpr returns an expression that estimates the size of the root v in bytes. The
// lengths of its own strings and lists of UUIDs are taken from the value.
func roomExpr(t *model.Type) []string {
	if t.Form != model.Struct {
		return []string{strconv.Itoa(room(t, nil))}
	}
	static := 2
	var terms []string
	for _, f := range t.Fields {
		static += len(f.JSON) + 4
		switch {
		case len(f.Through) == 0 && f.Type.Form == model.String:
			terms = append(terms, fmt.Sprintf("len(v.%s)", f.Go))
		case len(f.Through) == 0 && f.Type.Form == model.Slice && f.Type.Elem.Form == model.UUID:
			terms = append(terms, fmt.Sprintf("%d*len(v.%s)", uuidSize, f.Go))
		default:
			static += room(f.Type, nil)
		}
	}
	return []string{strings.Join(append([]string{strconv.Itoa(min(static, 1024))}, terms...), "+")}
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
