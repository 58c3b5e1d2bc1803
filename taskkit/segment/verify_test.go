package segment_test

import (
	"errors"
	"slices"
	"testing"

	"taskkit.dev/taskkit/segment"
)

// TestVerify has gaps and overlaps, each with its values.
func TestVerify(t *testing.T) {
	t.Parallel()
	n, s := segment.Int, segment.Text
	for name, c := range map[string]struct {
		segments []segment.Segment
		partial  bool
		want     string // empty: covered
	}{
		"all":                    {[]segment.Segment{segment.Below(n(5)), segment.AtLeast(n(5))}, false, ""},
		"in any order":           {[]segment.Segment{segment.AtLeast(n(10)), segment.Null(), segment.Below(n(-5)), segment.Between(n(-5), n(10))}, false, ""},
		"NULL in the last":       {[]segment.Segment{segment.Below(n(5)), segment.AtLeast(n(5)).OrNull()}, false, ""},
		"gap":                    {[]segment.Segment{segment.Below(n(5)), segment.AtLeast(n(9))}, false, "values from 5 to below 9 in no segment, between segments 0 and 1"},
		"gap, partial":           {[]segment.Segment{segment.Below(n(5)), segment.AtLeast(n(9))}, true, ""},
		"gap below":              {[]segment.Segment{segment.AtLeast(s("a")), segment.Null()}, false, `values below "a" in no segment, beside segment 0`},
		"gap above":              {[]segment.Segment{segment.Below(s("a")), segment.Between(s("a"), s("b"))}, false, `values of "b" and above in no segment, beside segment 1`},
		"bounded":                {[]segment.Segment{segment.Between(s("a"), s("b"))}, true, ""},
		"only NULL":              {[]segment.Segment{segment.Null()}, false, "all values in no segment"},
		"only NULL, partial":     {[]segment.Segment{segment.Null()}, true, ""},
		"overlap":                {[]segment.Segment{segment.Below(n(9)), segment.AtLeast(n(5))}, false, "values from 5 to below 9 in segment 0 and in segment 1"},
		"overlap, partial":       {[]segment.Segment{segment.AtLeast(n(5)), segment.Below(n(9))}, true, "values from 5 to below 9 in segment 1 and in segment 0"},
		"overlap of open ends":   {[]segment.Segment{segment.AtLeast(n(5)), segment.AtLeast(n(9))}, true, "values of 9 and above in segment 0 and in segment 1"},
		"two open below":         {[]segment.Segment{segment.Below(n(5)), segment.Below(n(9))}, true, "values below 5 in segment 0 and in segment 1"},
		"one inside another":     {[]segment.Segment{segment.Below(n(99)), segment.Between(n(4), n(6)), segment.AtLeast(n(99))}, false, "values from 4 to below 6 in segment 0 and in segment 1"},
		"NULL twice":             {[]segment.Segment{segment.Below(n(5)).OrNull(), segment.AtLeast(n(5)), segment.Null()}, false, "NULL in segment 0 and in segment 2"},
		"NULL twice, partial":    {[]segment.Segment{segment.Null(), segment.Null()}, true, "NULL in segment 0 and in segment 1"},
		"exact values":           {[]segment.Segment{segment.Exactly(s("b")), segment.Exactly(s("a")), segment.Exactly(s(""))}, true, ""},
		"exact values alone":     {[]segment.Segment{segment.Exactly(s("a")), segment.Null()}, false, `values below "a" in no segment, beside segment 0`},
		"above an exact value":   {[]segment.Segment{segment.Below(s("a")), segment.Exactly(s("a"))}, false, `values above "a" in no segment, beside segment 1`},
		"after an exact value":   {[]segment.Segment{segment.Below(n(5)), segment.Exactly(n(5)), segment.AtLeast(n(6))}, false, `values above 5 to below 6 in no segment, between segments 1 and 2`},
		"exact twice":            {[]segment.Segment{segment.Exactly(s("a")), segment.Exactly(s("a"))}, true, `the value "a" in segment 0 and in segment 1`},
		"exact in an interval":   {[]segment.Segment{segment.Below(s("b")), segment.Exactly(s("a"))}, true, `the value "a" in segment 0 and in segment 1`},
		"exact at the end":       {[]segment.Segment{segment.Below(s("a")), segment.Exactly(s("a"))}, true, ""},
		"exact at the begin":     {[]segment.Segment{segment.AtLeast(s("a")), segment.Exactly(s("a"))}, true, `the value "a" in segment 0 and in segment 1`},
		"prefix between":         {[]segment.Segment{segment.Below(s("b")), segment.Prefix("b"), segment.AtLeast(s("c"))}, false, ""},
		"prefix of a prefix":     {[]segment.Segment{segment.Prefix("ab"), segment.Prefix("a")}, true, `values from "ab" to below "ac" in segment 1 and in segment 0`},
		"prefix and exact":       {[]segment.Segment{segment.Prefix("ab"), segment.Exactly(s("abc"))}, true, `the value "abc" in segment 0 and in segment 1`},
		"prefix without an end":  {[]segment.Segment{segment.Below(s("\U0010FFFF")), segment.Prefix("\U0010FFFF")}, false, ""},
		"upper case is below":    {[]segment.Segment{segment.Below(s("a")), segment.Between(s("Z"), s("a"))}, true, `values from "Z" to below "a" in segment 0 and in segment 1`},
		"numbers, not as text":   {[]segment.Segment{segment.Below(n(9)), segment.Between(n(9), n(10)), segment.AtLeast(n(10))}, false, ""},
		"negative, not as text":  {[]segment.Segment{segment.Below(n(-10)), segment.Between(n(-10), n(-9)), segment.AtLeast(n(-9))}, false, ""},
		"negative below overlap": {[]segment.Segment{segment.Below(n(-9)), segment.AtLeast(n(-10))}, false, "values from -10 to below -9 in segment 0 and in segment 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := plan(t, segment.Explicit{Segments: c.segments, Partial: c.partial}).Verify("postgres")
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var coverage *segment.CoverageError
			if !errors.As(err, &coverage) {
				t.Fatalf("%v, want a CoverageError", err)
			}
			want := "segment: " + c.want + ": let one of them end where the other begins"
			if !coverage.Overlap {
				want = "segment: " + c.want + ": add a segment, or state with Partial that the rows outside of all segments are not meant"
			}
			if err.Error() != want {
				t.Errorf("%v\nwant %s", err, want)
			}
		})
	}
}

func TestVerifyNamesTheValues(t *testing.T) {
	t.Parallel()
	var e *segment.CoverageError
	err := plan(t, explicit(segment.Below(segment.Int(5)), segment.AtLeast(segment.Int(9)))).Verify("sqlite3")
	if !errors.As(err, &e) || e.Overlap || e.From != segment.Int(5) || e.To != segment.Int(9) || !slices.Equal(e.Segments, []int{0, 1}) {
		t.Errorf("%+v", e)
	}
	if err := new(segment.Plan).Verify("sqlite3"); err == nil || err.Error() != "segment: Plan: it has no segments" {
		t.Error(err)
	}
}
