package taskkit

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"taskkit.dev/taskkit/taskjson"
)

// members is the JSON of an object around the value of one member.
type members struct{ before, after []byte }

// membersAround splits an object around the value of a member. An object without the
// member is split where it can be added.
func membersAround(object []byte, name string) (*members, error) {
	d := taskjson.NewDecoder(object)
	isObject, found, empty := d.BeginObject(), false, true
	begin, end := 0, bytes.IndexByte(object, '{')+1
	for !found && d.More() {
		found, empty = d.Key() == name, false
		begin, end = d.Span()
	}
	for d.More() { // the rest must be valid too
		d.Key()
		d.Span()
	}
	d.End()
	switch err := d.Finish(); {
	case !isObject:
		return nil, errNotObject
	case err != nil:
		return nil, fmt.Errorf("read the spec: %w", err)
	case found:
		return &members{bytes.Clone(object[:begin]), bytes.Clone(object[end:])}, nil
	}
	before := bytes.Clone(object[:end])
	if !empty {
		before = append(before, ',')
	}
	e := taskjson.NewEncoder(before)
	e.String(name)
	before, err := e.Finish()
	if err != nil {
		return nil, fmt.Errorf("add %q to the spec: %w", name, err)
	}
	return &members{append(before, ':'), bytes.Clone(object[end:])}, nil
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

// with returns the object with another value of the member.
func (m *members) with(value []byte) []byte { return slices.Concat(m.before, value, m.after) }

// cutList returns a list in the JSON of a spec, and the spec around it. A list that is
// missing or null has no elements.
func cutList(spec []byte, field string) (around *members, list []byte, err error) {
	around, err = membersAlong(spec, field)
	if err != nil {
		return nil, nil, err
	}
	if n := len(spec) - len(around.before) - len(around.after); n > 0 {
		list = bytes.TrimSpace(spec[len(around.before):][:n])
	}
	if len(list) == 0 || list[0] != '[' {
		list = []byte("[]")
	}
	return around, list, nil
}

var (
	errNotObject = errors.New("the spec of a task over targets must be an object in JSON")
	errNotAlone  = errors.New("the JSON of the spec must depend on its list of targets in nothing but the list")
)

// elements returns the elements of a JSON array, and at the end the error if it is
// not valid.
func elements(array []byte) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		d := taskjson.NewDecoder(array)
		more := true
		for d.BeginArray(); more && d.More(); {
			if begin, end := d.Span(); begin < end {
				more = yield(array[begin:end], nil)
			}
		}
		d.End()
		if err := d.Finish(); more && err != nil {
			yield(nil, fmt.Errorf("read the list of targets: %w", err))
		}
	}
}

// membersAlong is membersAround for a path of names with dots between them.
func membersAlong(object []byte, path string) (*members, error) {
	name, rest, nested := strings.Cut(path, ".")
	outer, err := membersAround(object, name)
	if err != nil || !nested {
		return outer, err
	}
	value := []byte("{}")
	if end := len(object) - len(outer.after); end > len(outer.before) {
		value = object[len(outer.before):end]
	}
	inner, err := membersAlong(value, rest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &members{slices.Concat(outer.before, inner.before), slices.Concat(inner.after, outer.after)}, nil
}
