package taskkit

import (
	"slices"
	"testing"
)

// TestMembersAround: an object is split around a member, or where it can be added.
func TestMembersAround(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ object, before, after string }{
		{`{"ids":[1,2]}`, `{"ids":`, `}`},
		{` { "a" : {"ids":[3]}, "ids" : null , "b":"}" } `, ` { "a" : {"ids":[3]}, "ids" : `, ` , "b":"}" } `},
		{`{"\u0069ds":[]}`, `{"\u0069ds":`, `}`},
		{`{}`, `{"ids":`, `}`},
		{` { } `, ` {"ids":`, ` } `},
		{`{"a":[1,2] }`, `{"a":[1,2],"ids":`, ` }`},
	} {
		m, err := membersAround([]byte(c.object), "ids")
		if err != nil || string(m.before) != c.before || string(m.after) != c.after {
			t.Errorf("%s: %v, split to %q", c.object, err, m)
			continue
		}
		if got, err := m.between([]byte(c.before + `["x"]` + c.after)); err != nil || string(got) != `["x"]` {
			t.Errorf("%s: %s between, %v", c.object, got, err)
		}
		for _, other := range []string{"", c.before + "[]", "[]" + c.after, c.before + "null" + c.after, c.before + c.after, "[" + c.before + "[]" + c.after} {
			if got, err := m.between([]byte(other)); err == nil {
				t.Errorf("%s: %s is between in %s", c.object, got, other)
			}
		}
	}
	m, err := membersAround([]byte(`{"a":1}`), "<\t\u00e9>")
	if err != nil || string(m.before) != "{\"a\":1,\"\\u003c\\t\u00e9\\u003e\":" {
		t.Errorf("a name that JSON escapes: %v, %q", err, m)
	}
	for _, object := range []string{``, `[]`, `null`, `{"ids":`, `{"ids":[1}`, `{"ids":[]`, `{"ids":[]}{}`, `{"ids":[],"a"}`, `{"a":1 "ids":[]}`} {
		if m, err := membersAround([]byte(object), "ids"); err == nil {
			t.Errorf("%s is split to %q", object, m)
		}
	}
}

// TestElements: the elements of an array come in their order, without the space
// around them, and what is not JSON is an error.
func TestElements(t *testing.T) {
	t.Parallel()
	read := func(array string, n int) (got []string, err error) {
		for e, err := range elements([]byte(array)) {
			if err != nil {
				return got, err
			}
			if got = append(got, string(e)); len(got) == n {
				break
			}
		}
		return got, nil
	}
	for array, want := range map[string][]string{
		`[]`:    nil,
		` [ ] `: nil,
		`[1]`:   {"1"},
		` [ "a,]\"" , {"b":[1,{}]},[[]],-1.5e3 ,true, null ] `: {`"a,]\""`, `{"b":[1,{}]}`, `[[]]`, `-1.5e3`, `true`, `null`},
	} {
		if got, err := read(array, -1); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", array, got, err, want)
		}
	}
	if got, err := read(`[1,2,`, 2); err != nil || !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("after a stop: %q, %v", got, err)
	}
	for _, array := range []string{``, `{}`, `[1`, `[1,]`, `[1 2]`, `[1]]`, `[tru]`, `["a]`} {
		if got, err := read(array, -1); err == nil {
			t.Errorf("%s has the elements %q", array, got)
		}
	}
}
