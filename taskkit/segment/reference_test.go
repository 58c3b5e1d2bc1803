package segment_test

import (
	"encoding/json"
	"math/big"
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

// contains is a second implementation of what a segment means, from its JSON.
func contains(t *testing.T, s segment.Segment, v stored) bool {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var w struct {
		Form, Type      string
		From, To, Value *string
		Null            bool
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		t.Fatal(err)
	}
	if v.text == nil {
		return w.Null || w.Form == "null"
	}
	less := func(a, b string) bool { return a < b }
	switch w.Type {
	case "number":
		less = func(a, b string) bool { return rat(t, a).Cmp(rat(t, b)) < 0 }
	case "time":
		less = func(a, b string) bool { return instant(t, a).Before(instant(t, b)) }
	}
	switch w.Form {
	case "interval":
		return (w.From == nil || !less(*v.text, *w.From)) && (w.To == nil || less(*v.text, *w.To))
	case "prefix":
		return strings.HasPrefix(*v.text, *w.Value)
	case "exact":
		return !less(*v.text, *w.Value) && !less(*w.Value, *v.text)
	}
	return false
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
func segmentOf(t *testing.T, p *segment.Plan, v stored) int {
	t.Helper()
	found := -1
	for i, s := range p.All() {
		if !contains(t, s, v) {
			continue
		}
		if found >= 0 {
			t.Fatalf("%s is in segment %d, %s, and in segment %d, %s", v, found, p.At(found), i, s)
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
