package tasktest

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
)

// Snapshots are compared by values, and what differs is printed as rows.
func TestDiff(t *testing.T) {
	t.Parallel()
	type hidden struct {
		n    int
		f    func()
		self *hidden
	}
	cycle := func(n int) *hidden {
		h := &hidden{n: n, f: func() {}}
		h.self = h
		return h
	}
	one, at := 1, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	type tables struct {
		People []string
		Mails  map[string]int
		At     time.Time
	}
	for name, c := range map[string]struct {
		got, want any
		diff      string
	}{
		"nothing":          {nil, nil, ""},
		"equal":            {[]string{"a", "b"}, []string{"a", "b"}, ""},
		"nil and empty":    {[]string(nil), []string{}, ""},
		"rows":             {[]string{"a", "c", "c"}, []string{"a", "b", "c"}, "- \"b\"\n+ \"c\"\n"},
		"order":            {[]int{2, 1}, []int{1, 2}, "the same rows in another order: order them in Snapshot\n"},
		"map":              {map[string]int{"a": 1, "b": 2}, map[string]int{"b": 3, "a": 1}, "- \"b\": 3\n+ \"b\": 2\n"},
		"pointers":         {[]*int{&one, nil}, []*int{new(int), nil}, "- 0\n+ 1\n"},
		"times":            {at.In(time.FixedZone("x", 3600)), at, ""},
		"other time":       {at.Add(1), at, "- 2026-01-02T03:04:05Z\n+ 2026-01-02T03:04:05.000000001Z\n"},
		"unexported field": {cycle(1), cycle(2), "- n: 2\n- self: {n:2 self:...}\n+ n: 1\n+ self: {n:1 self:...}\n"},
		"functions":        {cycle(1), cycle(1), ""},
		"text and number":  {[]any{"1"}, []any{1}, "- 1\n+ \"1\"\n"},
		"tables": {
			tables{[]string{"a"}, map[string]int{"m": 1}, at},
			tables{[]string{"a", "b"}, map[string]int{"m": 1}, at},
			"- People: \"b\"\n",
		},
	} {
		d := diff(c.got, c.want)
		if got := d.rows(); got != c.diff || d.equal() != (c.diff == "") {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.diff)
		}
	}
}

// Entities of ent that were read from two databases are equal when their values are.
func TestDiffOfEntities(t *testing.T) {
	t.Parallel()
	read := func(school string) []*ent.Person {
		db := Open(t)
		if err := caseload.Create(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		c, err := caseload.Open(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		c.Person.Create().SetID(uuid.Max).SetSchoolID(school).SetFirstName("Ada").SetLastName("Lovelace").SetNameKey("lovelace, ada").
			SetCoach("Kurt").SetCreatedDate(time.Unix(0, 0)).SaveX(t.Context())
		return c.Person.Query().WithEnrolments().AllX(t.Context())
	}
	people := read("S1")
	if d := diff(people, read("S1")); !d.equal() {
		t.Errorf("equal entities differ:\n%s", d)
	}
	if diff(people, read("S2")).equal() {
		t.Error("entities with another value are equal")
	}
}

// A difference ends with the mistakes that cause such rows.
func TestDifferenceNamesMistakes(t *testing.T) {
	t.Parallel()
	const position, outside = "rows are missing: does the executor keep its position in b.State, and only there?\n",
		"rows were added or changed: does it write other than through b.Tx?\n"
	for name, c := range map[string]struct {
		got, want []string
		text      string
	}{
		"missing": {[]string{"a"}, []string{"a", "b"}, "- \"b\"\n" + position},
		"added":   {[]string{"a", "a"}, []string{"a"}, "+ \"a\"\n" + outside},
		"changed": {[]string{"b"}, []string{"a"}, "- \"a\"\n+ \"b\"\n" + position + outside},
		"order":   {[]string{"b", "a"}, []string{"a", "b"}, "the same rows in another order: order them in Snapshot\n"},
	} {
		if got := diff(c.got, c.want).String(); got != c.text {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.text)
		}
	}
}
