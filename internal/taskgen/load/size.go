package load

import "taskkit.dev/internal/taskgen/model"

// maxStored is the most that is stored of one value, in bytes.
const maxStored = 4 << 20

// fits reports whether any value of a type can be stored.
func fits(t *model.Type) bool { return least(t, map[string]int64{}) <= maxStored }

// maxDepth is how many levels of objects and lists a value may have that is stored.
const maxDepth = 100

// depth returns the levels of a type that does not contain itself, or of one turn of it.
func depth(t *model.Type, known map[string]int) (n int) {
	if t == nil {
		return 0
	}
	if n, ok := known[t.Source]; ok {
		return n
	}
	known[t.Source] = 0 // what is within itself
	defer func() { known[t.Source] = n }()
	switch t.Form {
	case model.Raw:
		return 1
	case model.Pointer:
		return depth(t.Elem, known)
	case model.Slice, model.Array, model.Map:
		return 1 + depth(t.Elem, known)
	case model.Struct:
		for _, f := range t.Fields {
			n = max(n, depth(f.Type, known))
		}
		return n + 1
	default:
		return 0
	}
}

// least returns a number of bytes that every value of a type takes as JSON. It counts
// no further than a little over maxStored, and each type once.
func least(t *model.Type, known map[string]int64) (n int64) {
	if n, ok := known[t.Source]; ok {
		return n
	}
	defer func() { known[t.Source] = n }()
	switch t.Form {
	case model.String, model.Bytes, model.Text, model.Slice, model.Map:
		return 2 // quotes or brackets
	case model.Bool:
		return 4
	case model.Time:
		return int64(len(`"2006-01-02T15:04:05Z"`))
	case model.UUID:
		return int64(len(`"0190b3a1-7c3e-7000-8000-000000000001"`))
	case model.Pointer: // or null
		if t.Elem.Recursive {
			return 1
		}
		return min(4, least(t.Elem, known))
	case model.Array:
		each := 1 + least(t.Elem, known) // with a comma or a bracket
		if t.Len > maxStored/each {
			return maxStored + 1
		}
		return t.Len*each + 1
	case model.Struct:
		n = 1
		for _, f := range t.Fields {
			if f.Keep == "" && len(f.Through) == 0 && n <= maxStored {
				n += int64(len(f.JSON)) + 4 + least(f.Type, known) // with quotes, a colon and a comma or brace
			}
		}
		return n
	default:
		return 1
	}
}
