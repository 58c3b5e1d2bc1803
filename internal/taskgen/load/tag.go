package load

import (
	"fmt"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// tagKeys returns the keys of a tag, and why [reflect.StructTag] does not read it to its end, so
// that Go ignores the rest of it, or "". go vet has the same rules.
func tagKeys(tag string) (keys []string, problem string) {
	last := "the tag"
	for rest, first := tag, true; ; first = false {
		trimmed := strings.TrimLeft(rest, " ")
		if trimmed == "" {
			return keys, ""
		}
		if !first && trimmed == rest {
			return keys, fmt.Sprintf("after %s there is %q where a space must be", last, rest[:1])
		}
		end := strings.IndexFunc(trimmed, func(c rune) bool { return c <= ' ' || c == ':' || c == '"' || c == 0x7f })
		if end < 0 {
			return keys, fmt.Sprintf("%q has no value in quotes", trimmed)
		}
		key, value := trimmed[:end], trimmed[end:]
		switch {
		case key == "":
			return keys, fmt.Sprintf("there is %q where the name of a key must be", trimmed[:1])
		case !strings.HasPrefix(value, ":"):
			return keys, fmt.Sprintf("after %s there is %q where a colon must be", key, value[:1])
		case !strings.HasPrefix(value, ":\""):
			return keys, fmt.Sprintf("the value of %s does not follow its colon in double quotes", key)
		}
		quoted, err := strconv.QuotedPrefix(value[1:])
		if err != nil {
			return keys, fmt.Sprintf("the value of %s is no string of Go", key)
		}
		keys = append(keys, key)
		last, rest = key+":"+quoted, value[1+len(quoted):]
	}
}

// tag refuses a tag that Go does not read to its end, and one with a key that was meant as ours:
// nothing would read it, and a secret would be shown. In another module nothing can be done
// about it.
func (r *resolver) tag(tag string, declared token.Pos, at location) bool {
	keys, problem := tagKeys(tag)
	if !r.changeable(declared) {
		return true
	}
	if problem != "" {
		return r.refuse(at, "write `json:\"name\" validate:\"rules\"`, with one space between the keys", "Go does not read the tag %#q: %s", tag, problem)
	}
	for i, key := range keys {
		for _, own := range []string{"json", "validate", "taskkit"} {
			switch {
			case key == own && slices.Contains(keys[:i], own):
				return r.refuse(at, "join the two", "the tag has the key %s twice, and the second is not read", own)
			case key != own && (strings.EqualFold(key, own) || own != "json" && edits(strings.ToLower(key), own) <= 2):
				return r.refuse(at, "did you mean "+own+"?", "nothing reads the key %s of the tag", key)
			}
		}
	}
	return true
}
