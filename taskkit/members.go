package taskkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
)

// members is the JSON of an object around the value of one member.
type members struct{ before, after []byte }

// membersAround splits an object around the value of a member. An object without the
// member is split where it can be added.
func membersAround(object []byte, name string) (*members, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, errNotObject
	}
	empty := true
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, fmt.Errorf("read the spec: %w", err)
		}
		begin := int(d.InputOffset())
		begin += bytes.IndexByte(object[begin:], ':') + 1
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("read the spec: %w", err)
		}
		if key == name {
			return &members{bytes.Clone(object[:begin]), bytes.Clone(object[d.InputOffset():])}, nil
		}
		empty = false
	}
	end := int(d.InputOffset())
	before := bytes.Clone(object[:end])
	if !empty {
		before = append(before, ',')
	}
	before = append(fmt.Appendf(before, "%q", name), ':')
	return &members{before, bytes.Clone(object[end:])}, nil
}

// between returns the value of the member in an object that differs from the one
// that was split in nothing else.
func (m *members) between(object []byte) ([]byte, error) {
	inner, ok := bytes.CutPrefix(object, m.before)
	if ok {
		inner, ok = bytes.CutSuffix(inner, m.after)
	}
	if !ok || len(inner) < 2 || inner[0] != '[' {
		return nil, errNotAlone
	}
	return inner, nil
}

var (
	errNotObject = errors.New("the spec of a task over targets must be an object in JSON")
	errNotAlone  = errors.New("the JSON of the spec must depend on its list of targets in nothing but the list")
)

// elements returns the elements of a JSON array. White space around them stays.
func elements(array []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		depth, quoted, begin := 0, false, 1
		for i := 1; i < len(array); i++ {
			switch c := array[i]; {
			case quoted:
				switch c {
				case '\\':
					i++
				case '"':
					quoted = false
				}
			case c == '"':
				quoted = true
			case c == '[' || c == '{':
				depth++
			case depth > 0:
				if c == ']' || c == '}' {
					depth--
				}
			case c == ',' || c == ']':
				if i > begin && !yield(array[begin:i]) {
					return
				}
				begin = i + 1
			}
		}
	}
}
