package taskkit

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"taskkit.dev/taskkit/taskjson"
)

// masked replaces a secret.
const masked = "***"

// secrets are JSON pointers (RFC 6901) over an object of a task's spec and
// state, in which * is any element or member: /spec/token, /spec/rows/*/ssn.
type secrets [][]string

// parseSecrets reads pointers.
func parseSecrets(pointers []string) (out secrets) {
	for _, p := range pointers {
		var path []string
		for word := range strings.SplitSeq(strings.TrimPrefix(p, "/"), "/") {
			path = append(path, strings.NewReplacer("~1", "/", "~0", "~").Replace(word))
		}
		out = append(out, path)
	}
	return out
}

// below returns the secrets within a member or element.
func (s secrets) below(name string) (out secrets) {
	for _, path := range s {
		if len(path) > 0 && (path[0] == name || path[0] == "*") {
			out = append(out, path[1:])
		}
	}
	return out
}

// whole reports whether a value itself is secret.
func (s secrets) whole() bool {
	return slices.ContainsFunc(s, func(path []string) bool { return len(path) == 0 })
}

// mask replaces every secret in JSON by "***" and copies the rest byte for byte. A
// pointer that matches nothing in the JSON is ignored. Text that is not JSON is
// replaced as a whole.
func (s secrets) mask(raw json.RawMessage) json.RawMessage {
	if len(s) == 0 || len(raw) == 0 {
		return raw
	}
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true))
	out, err := s.copy(nil, d)
	if err != nil {
		return json.RawMessage(strconv.Quote(masked))
	}
	return out
}

// copy appends the next value of a decoder, without its secrets.
func (s secrets) copy(dst []byte, d *jsontext.Decoder) ([]byte, error) {
	open := d.PeekKind()
	switch {
	case s.whole():
		if err := d.SkipValue(); err != nil {
			return nil, err
		}
		return strconv.AppendQuote(dst, masked), nil
	case len(s) == 0 || open != '{' && open != '[':
		value, err := d.ReadValue()
		return append(dst, value...), err
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, err
	}
	dst = append(dst, byte(open))
	for n := 0; d.PeekKind() != '}' && d.PeekKind() != ']'; n++ {
		if n > 0 {
			dst = append(dst, ',')
		}
		name := strconv.Itoa(n)
		if open == '{' {
			raw, err := d.ReadValue()
			if err != nil {
				return nil, err
			}
			plain, err := jsontext.AppendUnquote(nil, raw)
			if err != nil {
				return nil, err
			}
			name = string(plain)
			dst = append(append(dst, raw...), ':')
		}
		var err error
		if dst, err = s.below(name).copy(dst, d); err != nil {
			return nil, err
		}
	}
	end, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	return append(dst, byte(end.Kind())), nil
}

// cut returns the names of a pointer without those within a secret, which may be keys of a
// map, and the secrets at that place and below it.
func (s secrets) cut(names []string) ([]string, secrets) {
	for i, name := range names {
		if s.whole() {
			return append(slices.Clone(names[:i]), masked), s
		}
		s = s.below(name)
	}
	return names, s
}

// hide masks what is secret in an error of JSON whose pointer begins at s.
func (s secrets) hide(e *taskjson.Error) {
	var names []string
	for name := range jsontext.Pointer(e.Pointer).Tokens() {
		names = append(names, name)
	}
	names, within := s.cut(names)
	if e.Pointer = pointerOf(names); within.whole() {
		e.Cause = nil
		if e.Problem == taskjson.InvalidValue {
			e.Detail = "refused by its type"
		}
	}
}

// secretPointer matches a pointer to a secret: into a spec or state, and without a
// line break, since pointers are stored one per line.
var secretPointer = regexp.MustCompile(`^/(spec|state)(/([^~/\n\x00]|~[01])*)*$`)

// hidden returns the pointers to a kind's secrets as they are stored.
func (k *Kind[Spec, State, Result]) hidden() string { return strings.Join(k.def.Secrets, "\n") }
