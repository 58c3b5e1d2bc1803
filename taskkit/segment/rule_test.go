package segment_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/segment"
)

// ruleTable has texts that differ in case, in white space and in letters which are equal under
// other rules, in columns with collations for which lower means something else.
func ruleTable(t *testing.T, db *testdb.DB) table {
	t.Helper()
	values := []stored{{}, {}}
	for _, s := range []string{
		"", " ", "\t \n", "A", "a", "Z", "z", "[", "_", "@", "I", "i", "\u0130", "\u0131", "\u017f", "s", "S", "K", "k", "\u212a",
		"M\u00dcLLER", "m\u00fcller", "Mu\u0308ller", "STRASSE", "Stra\u00dfe", "\u00c5", "\u212b", "\uff21", "\uff41", "\U00010400", "\U00010428", "\u01c5",
		"van  der Berg", "Van der Berg", " VAN\tDER\r\nBERG\v", "vander Berg", "a\u00a0b", "a\u2003b", "a\u0085b", "a\x1cb", "a\x01b", "a b", "a  b",
		"a" + strings.Repeat(" ", 1000) + "b", "\t\na\n\tb\t\n", "a\n\t\n\tb", "it's", `a\b`, "a%b", "$1", "?",
	} {
		values = append(values, val(s))
	}
	r := rand.New(rand.NewPCG(8, 8))
	letters := []rune("AaBbZz  \t\n\v\f\r\u00a0\u00c4\u00e4\u0130")
	for range 200 {
		text := make([]rune, r.IntN(8))
		for i := range text {
			text[i] = letters[r.IntN(len(letters))]
		}
		values = append(values, val(string(text)))
	}
	tab := table{db: db, values: values, columns: []string{"plain text", "short varchar(2000)", "nocase text COLLATE NOCASE", "trim text COLLATE RTRIM"}}
	if db.Dialect == dialect.Postgres {
		if _, err := db.ExecContext(testdb.Within(t), `CREATE COLLATION caseless (provider = icu, locale = 'und-u-ks-level1', deterministic = false)`); err != nil {
			t.Fatal(err)
		}
		tab.columns = []string{
			"plain text", `bytes text COLLATE "C"`, `turkish text COLLATE "tr-x-icu"`, `short varchar(2000) COLLATE "und-x-icu"`, "equal text COLLATE caseless",
		}
	}
	tab.create(t, nil)
	return tab
}

// TestMID26RuleInDatabases shows that both databases compute a rule as Go does: each value is
// in one segment, which is the one that the second implementation finds.
func TestMID26RuleInDatabases(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		tab := ruleTable(t, db)
		for _, rule := range []segment.Rule{segment.Lower, segment.Norm} {
			tab.check(t, segment.Strings{Characters: []string{segment.Range('A', 'Z')}, Matching: rule})
			tab.check(t, segment.Strings{Characters: []string{"_AbZ\u00c4\u00e4\u0130"}, Depth: 2, Matching: rule})
			tab.check(t, segment.Strings{Characters: []string{"AbIKZ\u00c4\u212a"}, Method: segment.Prefixes, Partial: true, Matching: rule})
			tab.check(t, segment.Strings{Characters: []string{"aBZ"}, Method: segment.Exact, Partial: true, Matching: rule})
			tab.check(t, segment.Explicit{Matching: rule, Segments: []segment.Segment{
				segment.Below(segment.Text("a")), segment.Between(segment.Text("A"), segment.Text("Van DER berg")),
				segment.AtLeast(segment.Text("van der BERG")), segment.Null(),
			}})
			tab.check(t, segment.Explicit{Matching: rule, Partial: true, Segments: []segment.Segment{
				segment.Prefix("VAN  Der ").OrNull(), segment.Prefix("STRAS"), segment.Prefix("@"),
			}})
			// Each value is in the segment of those that equal it.
			seen := map[string]bool{}
			all := segment.Explicit{Matching: rule, Partial: true}
			for _, v := range tab.values {
				if v.text == nil || seen[matched(string(rule), *v.text)] {
					continue
				}
				seen[matched(string(rule), *v.text)] = true
				all.Segments = append(all.Segments, segment.Exactly(segment.Text(*v.text)))
			}
			tab.check(t, all)
		}
	})
}

// TestMID11MatchingOfSample has a rule and a number of buckets together: the sample is sorted by
// what is compared.
func TestMID11MatchingOfSample(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		tab := ruleTable(t, db)
		for _, rule := range []segment.Rule{"", segment.Lower, segment.Norm} {
			d, err := segment.Even{Table: "t", Column: "plain", Type: segment.TypeText, Count: 8, Matching: rule}.Sample(testdb.Within(t), db.DB)
			if err != nil {
				t.Fatal(err)
			}
			if d.Matching != rule || len(d.Segments) != 8 {
				t.Errorf("%q: %d segments, matching %q", rule, len(d.Segments), d.Matching)
			}
			for i, s := range d.Segments {
				if n := len(tab.ids(t, plan(t, d).At(i), "plain", false)); n == 0 || n > len(tab.values)/2 {
					t.Errorf("%q: segment %d, %s, has %d rows of %d", rule, i, s, n, len(tab.values))
				}
			}
			tab.check(t, d)
		}
	})
}

func TestMID26RuleIsStored(t *testing.T) {
	t.Parallel()
	p := plan(t, segment.Explicit{Matching: segment.Norm, Segments: []segment.Segment{
		segment.Below(segment.Text(" De ")), segment.AtLeast(segment.Text("DE")),
	}})
	if got, want := describe(p), `below "de" or NULL, matching norm; "de" and above, matching norm`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	raw, err := json.Marshal(p.At(1))
	if want := `{"form":"interval","type":"text","from":"de","matching":"norm"}`; err != nil || string(raw) != want {
		t.Errorf("%s, %v; want %s", raw, err, want)
	}
	var back segment.Segment
	if err := json.Unmarshal(raw, &back); err != nil || back != p.At(1) {
		t.Errorf("%s comes back as %s, %v", raw, back, err)
	}
	// The division of segments that have a rule keeps it.
	again := plan(t, segment.Explicit{Segments: []segment.Segment{p.At(0), p.At(1)}})
	if again.At(1) != p.At(1) || again.Verify("sqlite3") != nil {
		t.Errorf("%s, %v", describe(again), again.Verify("sqlite3"))
	}
	for raw, want := range map[string]string{
		`{"form":"interval","type":"text","from":"A","matching":"lower"}`:  "its text is not as the rule lower writes it",
		`{"form":"prefix","type":"text","value":" a","matching":"norm"}`:   "its text is not as the rule norm writes it",
		`{"form":"interval","type":"number","from":"1","matching":"norm"}`: "the rule norm is for texts",
		`{"form":"interval","type":"text","from":"a","matching":"nfkd"}`:   unknownRule("nfkd"),
	} {
		var refused *segment.ParameterError
		if err := json.Unmarshal([]byte(raw), &back); !errors.As(err, &refused) || refused.Problem != want {
			t.Errorf("%s: %v, want %s", raw, err, want)
		}
	}
}

func unknownRule(name string) string {
	return fmt.Sprintf("the rule %q is unknown: it must be lower or norm. PostgreSQL, SQLite and Go do not compute others alike: divide by a column with the normalised text", name)
}

func TestMID26RuleRefuses(t *testing.T) {
	t.Parallel()
	between := func(from, to string) segment.Segment { return segment.Between(segment.Text(from), segment.Text(to)) }
	list := func(rule segment.Rule, segments ...segment.Segment) segment.Explicit {
		return segment.Explicit{Matching: rule, Segments: segments}
	}
	other := plan(t, list(segment.Norm, segment.Below(segment.Text("a")))).At(0)
	for name, c := range map[string]struct {
		division planner
		want     string
	}{
		"boundaries that become equal":   {list(segment.Lower, between("A", "a")), `Explicit.Segments[0]: with the rule lower it is empty: its end "a" must be greater than its begin "a"`},
		"boundaries in another order":    {list(segment.Lower, between("Z", "b")), `Explicit.Segments[0]: with the rule lower it is empty: its end "b" must be greater than its begin "z"`},
		"segments that become equal":     {list(segment.Norm, segment.Exactly(segment.Text("de ")), segment.Exactly(segment.Text("De"))), `Explicit.Segments[1]: with the rule norm it is the same as segment 0: remove one of them`},
		"a prefix of white space":        {list(segment.Norm, segment.Prefix(" \t")), "Explicit.Segments[0]: with the rule norm a prefix must be a text of at least one character"},
		"numbers":                        {list(segment.Lower, segment.Below(segment.Int(1))), "Explicit.Matching: the rule lower is for texts, and segment 0 has a number"},
		"an unknown rule":                {list("polyStringNorm", segment.Null()), "Explicit.Matching: " + unknownRule("polyStringNorm")},
		"two rules":                      {list("", other, segment.AtLeast(segment.Text("a"))), "Explicit.Segments[1]: it has another rule: all segments of a plan have one"},
		"another rule":                   {list(segment.Lower, other), "Explicit.Segments[0]: it has another rule: all segments of a plan have one"},
		"a letter in both cases":         {segment.Strings{Characters: []string{"Aa"}, Matching: segment.Lower}, "Strings.Characters[0]: the character 'a' is there twice with the rule lower"},
		"letters in the order of bytes":  {segment.Strings{Characters: []string{"Za"}, Matching: segment.Lower}, "Strings.Characters[0]: the character 'a' comes after 'z', which is greater as bytes with the rule lower: sort them"},
		"a character that does not stay": {segment.Strings{Characters: []string{"a", " a"}, Matching: segment.Norm}, "Strings.Characters[1]: the rule norm removes the character ' ': leave it out"},
		"characters by an unknown rule":  {segment.Strings{Characters: []string{"a"}, Matching: "nfkd"}, "Strings.Matching: " + unknownRule("nfkd")},
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
	for want, e := range map[string]segment.Even{
		"Even.Matching: the rule lower is for texts, and Type is uuid": {Type: segment.TypeUUID, Matching: segment.Lower},
		"Even.Matching: " + unknownRule("nfc"):                         {Type: segment.TypeText, Matching: "nfc"},
	} {
		e.Table, e.Column, e.Count = "t", "c", 1
		if _, err := e.Sample(t.Context(), nil); err == nil || err.Error() != "segment: "+want {
			t.Errorf("%v\nwant segment: %s", err, want)
		}
	}
	// What is empty as bytes need not be empty with a rule.
	if err := plan(t, list(segment.Lower, segment.Below(segment.Text("A")), between("a", "B"), segment.AtLeast(segment.Text("b")))).Verify("postgres"); err != nil {
		t.Error(err)
	}
}

// TestMID26RuleUsesIndex has the indexes that the documentation of Rule names.
func TestMID26RuleUsesIndex(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		explain, index := "EXPLAIN QUERY PLAN ", "CREATE INDEX t_c ON t (lower(c))"
		setup := []string{"CREATE TABLE t (c text)"}
		if db.Dialect == dialect.Postgres {
			db.SetMaxOpenConns(1) // for the setting
			explain, index = "EXPLAIN ", `CREATE INDEX t_c ON t (lower(c COLLATE "C") COLLATE "C")`
			setup = append(setup, "SET enable_seqscan = off")
		}
		for _, query := range append(setup, index) {
			if _, err := db.ExecContext(testdb.Within(t), query); err != nil {
				t.Fatal(err)
			}
		}
		where, args, err := plan(t, segment.Strings{Characters: []string{"abc"}, Matching: segment.Lower}).At(1).SQL(string(db.Dialect), "c", 1)
		if err != nil {
			t.Fatal(err)
		}
		steps := strings.Join(selectTexts(t, db, explain+"SELECT 1 FROM t WHERE "+where, args...), "\n")
		if !strings.Contains(steps, "t_c") || !strings.Contains(steps, "Index Cond") && !strings.Contains(steps, "SEARCH t USING") {
			t.Errorf("%s does not use the index:\n%s", where, steps)
		}
	})
}
