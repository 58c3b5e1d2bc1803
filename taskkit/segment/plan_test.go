package segment_test

import (
	"errors"
	"math/big"
	"runtime"
	"strings"
	"testing"
	"time"

	"taskkit.dev/taskkit/segment"
)

const digits = "0123456789"

var (
	day      = 24 * time.Hour
	year1969 = time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC)
)

// TestMidPointExamples has the examples of midPoint's documentation.
func TestMidPointExamples(t *testing.T) {
	t.Parallel()
	letters := segment.Range('a', 'z')
	for name, c := range map[string]struct {
		division  planner
		len       int
		at        map[int]string
		postgres  bool // too large for SQLite
		partially bool
	}{
		"0 to 100000 in 100": {
			division: segment.Numeric{To: big.NewInt(100_000), Count: 100}, len: 100,
			at: map[int]string{0: "below 1000 or NULL", 1: "from 1000 to below 2000", 99: "99000 and above"},
		},
		"0 to 100000 in 100, bounded": {
			division: segment.Numeric{To: big.NewInt(100_000), Count: 100, Partial: true}, len: 100, partially: true,
			at: map[int]string{0: "from 0 to below 1000", 99: "from 99000 to below 100000"},
		},
		"q or x and three digits, as prefixes": {
			division: segment.Strings{Characters: []string{"qx", digits, digits, digits}, Method: segment.Prefixes, Partial: true}, len: 2000, partially: true,
			at: map[int]string{0: `beginning with "q000"`, 1: `beginning with "q001"`, 1000: `beginning with "x000"`, 1999: `beginning with "x999"`},
		},
		"q or x and three digits, as exact values": {
			division: segment.Strings{Characters: []string{"qx", digits, digits, digits}, Method: segment.Exact, Partial: true}, len: 2000, partially: true,
			at: map[int]string{0: `equal to "q000"`, 1999: `equal to "x999"`},
		},
		"q or x and three digits: 2000 boundaries": {
			division: segment.Strings{Characters: []string{"qx", digits, digits, digits}}, len: 2001,
			at: map[int]string{0: `below "q000" or NULL`, 1: `from "q000" to below "q001"`, 1000: `from "q999" to below "x000"`, 2000: `"x999" and above`},
		},
		"a letter, then a letter or a digit": {
			division: segment.Strings{Characters: []string{segment.Range('a', 'y'), digits + segment.Range('a', 'y')}}, len: 25*35 + 1,
			at: map[int]string{0: `below "a0" or NULL`, 1: `from "a0" to below "a1"`, 35: `from "ay" to below "b0"`, 875: `"yy" and above`},
		},
		"26 letters": {
			division: segment.Strings{Characters: []string{letters}}, len: 27,
			at: map[int]string{0: `below "a" or NULL`, 1: `from "a" to below "b"`, 26: `"z" and above`},
		},
		"letters at two places": {
			division: segment.Strings{Characters: []string{letters}, Depth: 2}, len: 677,
			at: map[int]string{27: `from "ba" to below "bb"`},
		},
		"object identifiers with depth 2": {
			division: segment.UUID{Depth: 2}, len: 256,
			at: map[int]string{
				0:   "below 01000000-0000-0000-0000-000000000000 or NULL",
				16:  "from 10000000-0000-0000-0000-000000000000 to below 11000000-0000-0000-0000-000000000000",
				255: "ff000000-0000-0000-0000-000000000000 and above",
			},
		},
		"below 123, from 123 to 200, from 200": {
			division: segment.Explicit{Segments: []segment.Segment{
				segment.Below(segment.Int(123)), segment.Between(segment.Int(123), segment.Int(200)), segment.AtLeast(segment.Int(200)),
			}}, len: 3,
			at: map[int]string{0: "below 123 or NULL", 1: "from 123 to below 200", 2: "200 and above"},
		},
		"teacher, student, administrative and none": {
			division: segment.Explicit{Partial: true, Segments: []segment.Segment{
				segment.Exactly(segment.Text("teacher")), segment.Exactly(segment.Text("student")),
				segment.Exactly(segment.Text("administrative")), segment.Null(),
			}}, len: 4, partially: true,
			at: map[int]string{0: `equal to "teacher"`, 3: "NULL"},
		},
		"2^64 in 128": {
			division: segment.Numeric{To: pow2(64, 0), Count: 128}, len: 128, postgres: true,
			at: map[int]string{0: "below 144115188075855872 or NULL", 127: "18302628885633695744 and above"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan(t, c.division)
			if p.Len() != c.len || p.Partial() != c.partially {
				t.Errorf("%d segments, partial is %t; want %d and %t", p.Len(), p.Partial(), c.len, c.partially)
			}
			for i, want := range c.at {
				if got := p.At(i).String(); got != want {
					t.Errorf("segment %d is %s, want %s", i, got, want)
				}
			}
			if err := p.Verify("postgres"); err != nil {
				t.Error(err)
			}
			var unsupported *segment.UnsupportedError
			if err := p.Verify("sqlite3"); errors.As(err, &unsupported) != c.postgres || !c.postgres && err != nil {
				t.Errorf("on SQLite: %v", err)
			}
		})
	}
}

// TestNumericEnds has the rules of From, To, Size and Count.
func TestNumericEnds(t *testing.T) {
	t.Parallel()
	n := ints(0, 1, 3, 4, 5, 10, -5, 12, 15)
	for name, c := range map[string]struct {
		division segment.Numeric
		want     string
	}{
		"the end counts from the begin":      {segment.Numeric{From: n[5], Size: n[2], Count: 2, Partial: true}, "from 10 to below 13; from 13 to below 16"},
		"the last takes what remains":        {segment.Numeric{To: n[5], Count: 3, Partial: true}, "from 0 to below 3; from 3 to below 6; from 6 to below 10"},
		"the last is smaller":                {segment.Numeric{To: n[5], Size: n[3], Partial: true}, "from 0 to below 4; from 4 to below 8; from 8 to below 10"},
		"all three":                          {segment.Numeric{To: n[5], Size: n[3], Count: 3, Partial: true}, "from 0 to below 4; from 4 to below 8; from 8 to below 10"},
		"below zero":                         {segment.Numeric{From: n[6], To: n[4], Count: 2}, "below 0 or NULL; 0 and above"},
		"one":                                {segment.Numeric{To: n[5], Count: 1}, "all values and NULL"},
		"one, bounded":                       {segment.Numeric{To: n[5], Size: n[8], Partial: true}, "from 0 to below 10"},
		"as many as numbers":                 {segment.Numeric{From: n[5], To: n[7], Count: 2}, "below 11 or NULL; 11 and above"},
		"around 2^63, in steps of more":      {segment.Numeric{From: pow2(63, -1), Size: pow2(64, 1), Count: 2, Partial: true}, "from 9223372036854775807 to below 27670116110564327424; from 27670116110564327424 to below 46116860184273879041"},
		"a size that is larger than the sum": {segment.Numeric{To: n[5], Size: pow2(70, 0)}, "all values and NULL"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := describe(plan(t, c.division)); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

func describe(p *segment.Plan) string {
	var out []string
	for _, s := range p.All() {
		out = append(out, s.String())
	}
	return strings.Join(out, "; ")
}

func TestTimeSteps(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("CET", 3600)
	for name, c := range map[string]struct {
		division segment.Time
		want     string
	}{
		"before 1970": {
			segment.Time{From: year1969, To: year1969.Add(60 * time.Hour), Step: day},
			"below 1969-01-02T00:00:00Z or NULL; from 1969-01-02T00:00:00Z to below 1969-01-03T00:00:00Z; 1969-01-03T00:00:00Z and above",
		},
		"bounded, the last is shorter": {
			segment.Time{From: year1969, To: year1969.Add(36 * time.Hour), Step: day, Partial: true},
			"from 1969-01-01T00:00:00Z to below 1969-01-02T00:00:00Z; from 1969-01-02T00:00:00Z to below 1969-01-02T12:00:00Z",
		},
		"in another zone": {
			segment.Time{From: year1969.In(berlin), To: year1969.Add(2 * time.Microsecond).In(berlin), Step: time.Microsecond},
			"below 1969-01-01T00:00:00.000001Z or NULL; 1969-01-01T00:00:00.000001Z and above",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := describe(plan(t, c.division)); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// TestRefused has the bad input of every division.
func TestRefused(t *testing.T) {
	t.Parallel()
	n := ints(0, 1, 10, 2_000_000)
	one := []string{"ab"}
	long := make([]segment.Segment, segment.MaxSegments+1)
	for name, c := range map[string]struct {
		division planner
		want     string
	}{
		"from is to":                 {segment.Numeric{From: n[2], To: n[2], Count: 1}, "Numeric.To: it is 10 and must be greater than From, which is 10"},
		"from above to":              {segment.Numeric{From: n[2], To: n[1], Count: 1}, "Numeric.To: it is 1 and must be greater than From, which is 10"},
		"size of 0":                  {segment.Numeric{To: n[2], Size: n[0]}, "Numeric.Size: it is 0 and must be at least 1"},
		"count below 1":              {segment.Numeric{To: n[2], Count: -1}, "Numeric.Count: it is -1 and must be at least 1"},
		"no size and no count":       {segment.Numeric{To: n[2]}, "Numeric: Size or Count is needed, and must be at least 1"},
		"no end and no size":         {segment.Numeric{Count: 3}, "Numeric: without To, Size is needed beside Count"},
		"no end and no count":        {segment.Numeric{Size: n[1]}, "Numeric: without To, Count is needed beside Size, and must be at least 1"},
		"count above the numbers":    {segment.Numeric{To: n[2], Count: 11}, "Numeric.Count: it is 11 and must be at most the number of integers from 0 to below 10"},
		"count does not agree":       {segment.Numeric{To: n[2], Size: n[1], Count: 9}, "Numeric.Count: it is 9, but From, To and Size make 10 segments: leave one of them out"},
		"count above the most":       {segment.Numeric{To: n[3], Count: 1_000_001}, "Numeric.Count: it is 1000001 and must be at most 1000000"},
		"size makes too many":        {segment.Numeric{To: n[3], Size: n[1]}, "Numeric.Size: it is 1, which makes 2000000 segments: 1000000 are the most"},
		"size makes far too many":    {segment.Numeric{To: pow2(200, 0), Size: n[1]}, "Numeric.Size: it is 1, which makes 16069380442589902755... (61 digits) segments: 1000000 are the most"},
		"a number of many digits":    {segment.Numeric{To: pow2(4000, 0), Count: 2}, "Numeric.To: the number has more than 1,000 digits"},
		"no characters":              {segment.Strings{}, "Strings.Characters: it is empty: give the characters of at least one position"},
		"no characters at a place":   {segment.Strings{Characters: []string{"a", ""}}, "Strings.Characters[1]: it is empty: give at least one character"},
		"a character twice":          {segment.Strings{Characters: []string{"a", "abb"}}, `Strings.Characters[1]: the character 'b' is there twice`},
		"unsorted":                   {segment.Strings{Characters: []string{"aBc"}}, `Strings.Characters[0]: the character 'B' comes after 'a', which is greater as bytes: sort them`},
		"sorted but not as bytes":    {segment.Strings{Characters: []string{"aäb"}}, `Strings.Characters[0]: the character 'b' comes after 'ä', which is greater as bytes: sort them`},
		"not UTF-8":                  {segment.Strings{Characters: []string{"a\xff"}}, `Strings.Characters[0]: the text "a\xff" is not valid UTF-8`},
		"NUL":                        {segment.Strings{Characters: []string{"\x00a"}}, `Strings.Characters[0]: the text "\x00a" has a NUL, which PostgreSQL cannot store`},
		"depth below 1":              {segment.Strings{Characters: one, Depth: -1}, "Strings.Depth: it is -1 and must be at least 1"},
		"depth makes too many":       {segment.Strings{Characters: one, Depth: 20}, "Strings: Characters and Depth make more than 1000000 segments"},
		"an interval too many":       {segment.Strings{Characters: []string{digits}, Depth: 6}, "Strings: Characters and Depth make more than 1000000 segments"},
		"depth of one character":     {segment.Strings{Characters: []string{"a"}, Depth: 1001}, "Strings.Depth: it makes boundaries of 1001 times 1 characters: 1000 are the most"},
		"unknown method":             {segment.Strings{Characters: one, Method: "like"}, `Strings.Method: "like" is unknown: it must be interval, prefix or exact`},
		"prefixes without partial":   {segment.Strings{Characters: one, Method: segment.Prefixes}, `Strings.Partial: the method "prefix" leaves out every other text and NULL: set Partial to state that they are not meant, or use intervals`},
		"exact without partial":      {segment.Strings{Characters: one, Method: segment.Exact}, `Strings.Partial: the method "exact" leaves out every other text and NULL: set Partial to state that they are not meant, or use intervals`},
		"partial intervals":          {segment.Strings{Characters: one, Partial: true}, "Strings.Partial: intervals cover everything: leave it out"},
		"UUID depth 0":               {segment.UUID{}, "UUID.Depth: it is 0 and must be 1 to 4"},
		"UUID depth 5":               {segment.UUID{Depth: 5}, "UUID.Depth: it is 5 and must be 1 to 4"},
		"times in reverse":           {segment.Time{From: year1969, To: year1969, Step: day}, "Time.To: it is 1969-01-01T00:00:00Z and must be after From, which is 1969-01-01T00:00:00Z"},
		"step of 0":                  {segment.Time{From: year1969, To: year1969.Add(day)}, "Time.Step: it is 0s and must be a whole number of microseconds, and at least one"},
		"step with nanoseconds":      {segment.Time{From: year1969, To: year1969.Add(day), Step: 1500}, "Time.Step: it is 1.5µs and must be a whole number of microseconds, and at least one"},
		"a time with nanoseconds":    {segment.Time{From: year1969.Add(1), To: year1969.Add(day), Step: day}, "Time.From: the time 1969-01-01T00:00:00.000000001Z has a part of a microsecond: truncate it"},
		"a time of the year 10000":   {segment.Time{From: year1969, To: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), Step: day}, "Time.To: the time 10000-01-01T00:00:00Z is outside the years 1 to 9999"},
		"step makes too many":        {segment.Time{From: year1969, To: year1969.AddDate(1, 0, 0), Step: time.Second}, "Time.Step: it is 1s, which makes 31536000 segments: 1000000 are the most"},
		"an empty list":              {segment.Explicit{}, "Explicit.Segments: it is empty: give at least one segment"},
		"a long list":                {segment.Explicit{Segments: long}, "Explicit.Segments: there are 1000001: 1000000 are the most"},
		"the zero segment":           {segment.Explicit{Segments: make([]segment.Segment, 1)}, "Explicit.Segments[0]: it is the zero Segment"},
		"an empty interval":          {explicit(segment.Between(segment.Int(9), segment.Int(9))), "Explicit.Segments[0]: it is empty: its end 9 must be greater than its begin 9"},
		"an interval in reverse":     {explicit(segment.Null(), segment.Between(segment.Text("b"), segment.Text("a"))), `Explicit.Segments[1]: it is empty: its end "a" must be greater than its begin "b"`},
		"an interval of two types":   {explicit(segment.Between(segment.Text("b"), segment.Int(1))), "Explicit.Segments[0]: it begins with a text and ends with a number"},
		"segments of two types":      {explicit(segment.Below(segment.Text("b")), segment.AtLeast(segment.Int(1))), "Explicit.Segments[1]: it has a number, but the segments before have a text: all values of a plan have one type"},
		"an empty prefix":            {explicit(segment.Prefix("")), "Explicit.Segments[0]: a prefix must be a text of at least one character"},
		"a prefix that is not UTF-8": {explicit(segment.Prefix("\xc3")), `Explicit.Segments[0]: the text "\xc3" is not valid UTF-8`},
		"no exact value":             {explicit(segment.Exactly(segment.Value{})), "Explicit.Segments[0]: an exact value is missing"},
		"a nil number":               {explicit(segment.Below(segment.BigInt(nil))), "Explicit.Segments[0]: the number is nil"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := c.division.Plan()
			var refused *segment.ParameterError
			if !errors.As(err, &refused) || err.Error() != "segment: "+c.want || p != nil {
				t.Errorf("%v\nwant segment: %s", err, c.want)
			}
		})
	}
}

func explicit(segments ...segment.Segment) segment.Explicit {
	return segment.Explicit{Segments: segments}
}

// TestManySegments proves that the largest plan can be verified and is not stored.
func TestManySegments(t *testing.T) {
	t.Parallel()
	for name, d := range map[string]planner{
		"numbers": segment.Numeric{To: big.NewInt(segment.MaxSegments), Count: segment.MaxSegments},
		"times":   segment.Time{From: year1969, To: year1969.Add(segment.MaxSegments * time.Second), Step: time.Second},
		"text":    segment.Strings{Characters: []string{segment.Range('a', 'z'), "012", digits, digits, digits, segment.Range('a', 'l')}},
		"UUID":    segment.UUID{Depth: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := plan(t, d)
			if err := p.Verify("sqlite3"); err != nil {
				t.Error(err)
			}
			if n := p.Len(); n < 65_536 || p.At(n-1).HasNull() || !p.At(0).HasNull() {
				t.Errorf("%d segments, first %s, last %s", n, p.At(0), p.At(n-1))
			}
		})
	}
}

func TestPlanIsSmall(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p := plan(t, segment.Numeric{To: pow2(64, 0), Count: segment.MaxSegments})
	for i := range p.Len() {
		if p.At(i).IsZero() {
			t.Fatal(i)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("a plan of %d segments takes %d bytes", p.Len(), grown)
	}
	runtime.KeepAlive(p)
}

func TestAtOutOfRange(t *testing.T) {
	t.Parallel()
	p := plan(t, segment.UUID{Depth: 1})
	defer func() {
		if got := recover(); got != "segment: the plan has 16 segments and none of number 16" {
			t.Error(got)
		}
	}()
	p.At(16)
}

func TestRangeSkipsSurrogates(t *testing.T) {
	t.Parallel()
	if got := segment.Range(0xD7FF, 0xE000); got != "\uD7FF\uE000" {
		t.Errorf("%q", got)
	}
}
