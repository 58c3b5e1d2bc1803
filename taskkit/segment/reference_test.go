package segment_test

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"taskkit.dev/taskkit/segment"
)

// A stored value of a column, as the reference compares it: NULL if text is nil.
type stored struct {
	text *string
}

func val(s string) stored { return stored{&s} }

// reference is a second implementation of what the segments of a plan mean, from their
// JSON.
type reference struct {
	plan     *segment.Plan
	segments []meaning
}

// meaning is the decoded JSON of one segment. A missing bound is nil.
type meaning struct {
	form, of, rule  string
	from, to, value *operand
	null            bool
}

// operand is a value as the reference compares it: by its number or its time where it is
// of that type, otherwise by its text.
type operand struct {
	of, text string
	number   *big.Rat
	at       time.Time
}

func newOperand(t *testing.T, of string, text *string) *operand {
	t.Helper()
	if text == nil {
		return nil
	}
	o := &operand{of: of, text: *text}
	switch of {
	case "number":
		o.number = rat(t, o.text)
	case "time":
		o.at = instant(t, o.text)
	}
	return o
}

func (o *operand) less(other *operand) bool {
	switch o.of {
	case "number":
		return o.number.Cmp(other.number) < 0
	case "time":
		return o.at.Before(other.at)
	}
	return o.text < other.text
}

// refer reads the JSON of each segment.
func refer(t *testing.T, p *segment.Plan) reference {
	t.Helper()
	r := reference{plan: p}
	for _, s := range p.All() {
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var w struct {
			Form, Type      string
			Matching        string
			From, To, Value *string
			Null            bool
		}
		if err := json.Unmarshal(raw, &w); err != nil {
			t.Fatal(err)
		}
		r.segments = append(r.segments, meaning{
			form: w.Form, of: w.Type, rule: w.Matching, null: w.Null,
			from: newOperand(t, w.Type, w.From), to: newOperand(t, w.Type, w.To), value: newOperand(t, w.Type, w.Value),
		})
	}
	return r
}

// contains reports whether a segment has a value, or NULL if it is nil.
func (m meaning) contains(v *operand) bool {
	if v == nil {
		return m.null || m.form == "null"
	}
	switch m.form {
	case "interval":
		return (m.from == nil || !v.less(m.from)) && (m.to == nil || v.less(m.to))
	case "prefix":
		return strings.HasPrefix(v.text, m.value.text)
	case "exact":
		return !v.less(m.value) && !m.value.less(v)
	}
	return false
}

// matched is what a rule makes of a text.
func matched(rule, text string) string {
	if rule == "norm" {
		text = strings.Trim(regexp.MustCompile("[ \t\n\v\f\r]+").ReplaceAllString(text, " "), " ")
	}
	if rule == "" {
		return text
	}
	return regexp.MustCompile("[A-Z]").ReplaceAllStringFunc(text, strings.ToLower)
}

func rat(t *testing.T, s string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		t.Fatalf("%q is not a number", s)
	}
	return r
}

func instant(t *testing.T, s string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// segmentOf returns the number of the segment that has the value; -1 if none has it. It
// fails if several have it.
func (r reference) segmentOf(t *testing.T, v stored) int {
	t.Helper()
	found := -1
	operands := map[string]*operand{} // of the value, by the type and the rule it is compared by
	for i, m := range r.segments {
		o, ok := operands[m.of+m.rule]
		if !ok {
			text := v.text
			if text != nil {
				text = new(matched(m.rule, *text))
			}
			o = newOperand(t, m.of, text)
			operands[m.of+m.rule] = o
		}
		if !m.contains(o) {
			continue
		}
		if found >= 0 {
			t.Fatalf("%s is in segment %d, %s, and in segment %d, %s", v, found, r.plan.At(found), i, r.plan.At(i))
		}
		found = i
	}
	return found
}

func (v stored) String() string {
	if v.text == nil {
		return "NULL"
	}
	return *v.text
}

// planner is a division.
type planner interface {
	Plan() (*segment.Plan, error)
}

func plan(t *testing.T, d planner) *segment.Plan {
	t.Helper()
	p, err := d.Plan()
	if err != nil {
		t.Fatalf("%+v: %v", d, err)
	}
	return p
}

// pow2 is 2^n + add.
func pow2(n uint, add int64) *big.Int {
	p := new(big.Int).Lsh(big.NewInt(1), n)
	return p.Add(p, big.NewInt(add))
}

func ints(ns ...int64) []*big.Int {
	var out []*big.Int
	for _, n := range ns {
		out = append(out, big.NewInt(n))
	}
	return out
}
