package segment_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/segment"
)

func TestMID23ConditionSQL(t *testing.T) {
	t.Parallel()
	s := segment.Predicate("some", "a = $2 OR b > $1 AND c IN ('$1', $2)", segment.Int(-5), segment.Text("x' OR '1'='1"))
	for dialect, want := range map[string]string{
		"postgres": "(a = $3 OR b > $4::bigint AND c IN ('$1', $5)) [x' OR '1'='1 -5 x' OR '1'='1]",
		"sqlite3":  "(a = ?3 OR b > CAST(?4 AS INTEGER) AND c IN ('$1', ?5)) [x' OR '1'='1 -5 x' OR '1'='1]",
	} {
		if text, args, err := s.SQL(dialect, "", 3); err != nil || fmt.Sprint(text, " ", args) != want {
			t.Errorf("%s %v, %v; want %s", text, args, err, want)
		}
	}
	var unsupported *segment.UnsupportedError
	large := segment.Predicate("large", "n > $1", segment.BigInt(pow2(64, 0)))
	if _, _, err := large.SQL("sqlite3", "", 1); !errors.As(err, &unsupported) {
		t.Error(err)
	}
	if text, _, err := large.SQL("postgres", "", 1); err != nil || text != "(n > $1::numeric)" {
		t.Error(text, err)
	}
	if got := s.String(); got != `some: a = "x' OR '1'='1" OR b > -5 AND c IN ('$1', "x' OR '1'='1")` {
		t.Error(got)
	}
	if got := segment.Predicate("long", "a = $1", segment.Text(strings.Repeat("x", 100))).String(); got != "long" {
		t.Error(got)
	}
	if s.HasNull() || s == segment.Predicate("some", "a = 1") || s != segment.Predicate("some", "a = $2 OR b > $1 AND c IN ('$1', $2)", segment.Int(-5), segment.Text("x' OR '1'='1")) {
		t.Error("predicates are not compared by their content")
	}
}

func TestMID23PredicateRefuses(t *testing.T) {
	t.Parallel()
	one := segment.Text("x")
	good := segment.Predicate("good", "a = $1", one)
	list := func(s ...segment.Segment) segment.Predicates { return segment.Predicates{Table: "t", Segments: s} }
	many := make([]segment.Segment, segment.MaxPredicates+1)
	for i := range many {
		many[i] = segment.Predicate(fmt.Sprint("p", i), "a = $1", one)
	}
	where := list(good)
	where.Where = segment.Null()
	rest := list(good)
	rest.Rest = "good"
	both := list(good)
	both.Rest, both.Partial = "rest", true
	name := list(good)
	name.Rest = " rest"
	for want, of := range map[string]segment.Predicates{
		"Table: it is empty: name the table":                                                                                                     {Segments: []segment.Segment{good}},
		"Segments: there are 0 and must be 1 to 100":                                                                                             list(),
		"Segments: there are 101 and must be 1 to 100":                                                                                           list(many...),
		`Segments[1]: the name "good" is there twice`:                                                                                            list(good, good),
		`Rest: the name "good" is there twice`:                                                                                                   rest,
		`Partial: the segment "rest" has all other rows: leave Partial out`:                                                                      both,
		"Segments[0]: the segment NULL is not made by Predicate":                                                                                 list(segment.Null()),
		"Where: the segment NULL is not made by Predicate":                                                                                       where,
		"Segments[0]: a predicate has no column for OrNull: write IS NULL in its condition":                                                      list(good.OrNull()),
		`Rest: the name " rest" of a predicate must have 1 to 100 characters, without white space at its ends`:                                   name,
		`Segments[0]: the name "" of a predicate must have 1 to 100 characters, without white space at its ends`:                                 list(segment.Predicate("", "a = 1")),
		`Segments[0]: the text "a\x00" has a NUL, which PostgreSQL cannot store`:                                                                 list(segment.Predicate("a\x00", "a = 1")),
		`Segments[0]: the argument $1 of the predicate "p": the value is missing`:                                                                list(segment.Predicate("p", "a = $1", segment.Value{})),
		`Segments[0]: the argument $1 of the predicate "p": the text "\xff" is not valid UTF-8`:                                                  list(segment.Predicate("p", "a = $1", segment.Text("\xff"))),
		`Segments[0]: the condition of the predicate "p" is empty`:                                                                               list(segment.Predicate("p", " ")),
		`Segments[0]: the condition of the predicate "p" is invalid: the text "\xff" is not valid UTF-8`:                                         list(segment.Predicate("p", "\xff")),
		`Segments[0]: the condition of the predicate "p" does not use the argument $1`:                                                           list(segment.Predicate("p", "a = '$1'", one)),
		`Segments[0]: the condition of the predicate "p" has the parameter $2, and there are 1 arguments: their parameters are $1, $2 and so on`: list(segment.Predicate("p", "a = $2", one)),
		`Segments[0]: the condition of the predicate "p" has the parameter $, and there are 0 arguments: their parameters are $1, $2 and so on`:  list(segment.Predicate("p", "a = $x$1$x$")),
		`Segments[0]: the condition of the predicate "p" has a semicolon: it must be one condition`:                                              list(segment.Predicate("p", "a = 1; DROP TABLE t")),
		`Segments[0]: the condition of the predicate "p" closes a parenthesis that it has not opened`:                                            list(segment.Predicate("p", "a = 1) OR (1 = 1")),
		`Segments[0]: the condition of the predicate "p" has a parenthesis that is not closed`:                                                   list(segment.Predicate("p", "(a = ')'")),
		`Segments[0]: the condition of the predicate "p" has a ' that is not closed`:                                                             list(segment.Predicate("p", "a = 'it's'")),
		`Segments[0]: the condition of the predicate "p" has a comment, which could hide what follows: remove it`:                                list(segment.Predicate("p", "a = 1 -- AND b")),
		`Segments[0]: the condition of the predicate "p" has a backslash, which the databases read differently: make the text an argument`:       list(segment.Predicate("p", `a = E'\'' `)),
	} {
		var refused *segment.ParameterError
		p, err := of.Prove(t.Context(), nil)
		if !errors.As(err, &refused) || err.Error() != "segment: Predicates."+want || p != nil {
			t.Errorf("%v\nwant segment: Predicates.%s", err, want)
		}
	}
	if _, err := explicit(good).Plan(); err == nil || err.Error() != `segment: Explicit.Segments[0]: the predicate "good" can only be proved by counting: use Predicates` {
		t.Error(err)
	}
}

// TestMID23StoredConditionIsNotExecuted shows that what stands in the database cannot become
// SQL: the condition comes from the code.
func TestMID23StoredConditionIsNotExecuted(t *testing.T) {
	t.Parallel()
	of := segment.Predicates{Table: "t", Segments: []segment.Segment{segment.Predicate("some", "a = $1", segment.Int(1))}, Rest: "rest"}
	const raw = `{"form":"predicate","name":"some","condition":"a = $1","args":[{"type":"number","value":"7"}]}`
	read := func(raw string) segment.Segment {
		var s segment.Segment
		if err := json.Unmarshal([]byte(raw), &s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	stored := read(raw)
	if again, err := json.Marshal(stored); err != nil || string(again) != raw {
		t.Errorf("%s, %v", again, err)
	}
	var refused *segment.ParameterError
	_, _, err := stored.SQL("postgres", "a", 1)
	if !errors.As(err, &refused) || err.Error() != `segment: Segment: the predicate "some" was read from JSON: Predicates.Find returns it with the condition of the code` {
		t.Error(err)
	}
	if _, err := (segment.Predicates{Table: "t", Segments: []segment.Segment{stored}}).Prove(t.Context(), nil); err == nil ||
		err.Error() != `segment: Predicates.Segments[0]: the predicate "some" was read from JSON: write its condition in code` {
		t.Error(err)
	}
	// The arguments are the stored ones, also if those of the code depend on something else now.
	back, err := of.Find(stored)
	if text, args, err2 := back.SQL("sqlite3", "", 1); err != nil || err2 != nil || text != "(a = CAST(?1 AS INTEGER))" || fmt.Sprint(args) != "[7]" {
		t.Error(text, args, err, err2)
	}
	for raw, want := range map[string]string{
		`{"form":"predicate","name":"some","condition":"a = a"}`: `Predicates: the condition of the predicate "some" is a = $1, and was a = a when the segments were made: keep conditions while tasks are open, or submit the task again`,
		`{"form":"predicate","name":"else","condition":"a = a"}`: `Predicates: there is no predicate "else", for which a segment was made: keep predicates while tasks are open, or submit the task again`,
		`{"form":"null"}`: `Predicates: the segment NULL has no predicate`,
	} {
		if _, err := of.Find(read(raw)); !errors.As(err, &refused) || err.Error() != "segment: "+want {
			t.Errorf("%v\nwant segment: %s", err, want)
		}
	}
	for raw, want := range map[string]string{
		`{"form":"predicate","name":"some","condition":"a = $1"}`:                                        `the condition of the predicate "some" has the parameter $1, and there are 0 arguments: their parameters are $1, $2 and so on`,
		`{"form":"predicate","name":"some","condition":"a = $1","args":[{"type":"number","value":"x"}]}`: `the argument $1 of the predicate "some": "x" is not an integer in decimal digits`,
		`{"form":"predicate","name":"some","condition":"a = $1","args":5}`:                               `its JSON has arguments that cannot be read: json: cannot unmarshal number into Go value of type []segment.wireValue`,
		`{"form":"predicate","name":"some","condition":"a IS NULL","from":"1"}`:                          `its JSON has the wrong members for the form "predicate"`,
		`{"form":"predicate","name":"some","condition":"a IS NULL","null":true}`:                         `a predicate has no column for OrNull: write IS NULL in its condition`,
		`{"form":"predicate","name":"some","condition":"a IS NULL","type":"text"}`:                       `its JSON has the type "text" without a value of it`,
		`{"form":"null","name":"some"}`:                                                                  `its JSON has the wrong members for the form "null"`,
	} {
		s := segment.Null()
		err := json.Unmarshal([]byte(raw), &s)
		if !errors.As(err, &refused) || refused.Problem != want || s != segment.Null() {
			t.Errorf("%s: %v, and the segment is %s\nwant %s", raw, err, s, want)
		}
	}
}

// TestMID3PlanIsProvedForOneDatabase refuses a plan whose rows were counted elsewhere.
func TestMID3PlanIsProvedForOneDatabase(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		peopleTable(t, db)
		of := segment.Predicates{Table: "person", Segments: []segment.Segment{segment.Predicate("all", "id >= 0")}}
		p, err := of.Prove(testdb.Within(t), db.DB)
		if err != nil {
			t.Fatal(err)
		}
		for _, dialect := range []string{"postgres", "sqlite3"} {
			var unsupported *segment.UnsupportedError
			if err := p.Verify(dialect); (err == nil) != (dialect == string(db.Dialect)) || err != nil && !errors.As(err, &unsupported) {
				t.Errorf("%s: %v", dialect, err)
			}
		}
	})
}
