package segment_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"time"

	"taskkit.dev/taskkit/segment"
)

// A task that exports people is divided by last name, so that 27 children can export
// one part each.
func Example() {
	plan, err := segment.Strings{Characters: []string{segment.Range('a', 'z')}}.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	// Before the first child is submitted: no row is left out, and none is in two.
	if err := plan.Verify("postgres"); err != nil {
		fmt.Println(err)
		return
	}
	// The segment is stored with the child.
	stored, err := json.Marshal(plan.At(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	var mine segment.Segment
	if err := json.Unmarshal(stored, &mine); err != nil {
		fmt.Println(err)
		return
	}
	where, args, err := mine.SQL("postgres", "last_name", 1)
	fmt.Println(plan.Len(), "segments")
	fmt.Println(string(stored))
	fmt.Println(mine)
	fmt.Println(where, args, err)
	// Output:
	// 27 segments
	// {"form":"interval","type":"text","from":"a","to":"b"}
	// from "a" to below "b"
	// (last_name COLLATE "C" >= $1 AND last_name COLLATE "C" < $2) [a b] <nil>
}

func ExampleNumeric() {
	plan, err := segment.Numeric{To: big.NewInt(10), Count: 3}.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, s := range plan.All() {
		fmt.Println(i, s)
	}
	// Output:
	// 0 below 3 or NULL
	// 1 from 3 to below 6
	// 2 6 and above
}

func ExampleStrings() {
	plan, err := segment.Strings{
		Characters: []string{"qx", "0123456789"}, Method: segment.Prefixes, Partial: true,
	}.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Len(), plan.At(0), plan.At(19))
	// Output:
	// 20 beginning with "q0" beginning with "x9"
}

func ExampleUUID() {
	plan, err := segment.UUID{Depth: 2}.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Len(), "segments, the last is", plan.At(255))
	// Output:
	// 256 segments, the last is ff000000-0000-0000-0000-000000000000 and above
}

func ExampleTime() {
	plan, err := segment.Time{
		From: time.Date(1969, 12, 31, 0, 0, 0, 0, time.UTC), To: time.Date(1970, 1, 2, 0, 0, 0, 0, time.UTC), Step: 24 * time.Hour,
	}.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.At(0))
	fmt.Println(plan.At(1))
	// Output:
	// below 1970-01-01T00:00:00Z or NULL
	// 1970-01-01T00:00:00Z and above
}

func ExampleExplicit() {
	roles := segment.Explicit{
		Segments: []segment.Segment{
			segment.Exactly(segment.Text("teacher")), segment.Exactly(segment.Text("student")), segment.Null(),
		},
		Partial: true, // other roles are not meant
	}
	plan, err := roles.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Len(), plan.Verify("sqlite3"))
	// Output:
	// 3 <nil>
}

func ExamplePlan_Verify() {
	plan, err := segment.Explicit{Segments: []segment.Segment{
		segment.Below(segment.Int(123)), segment.AtLeast(segment.Int(200)),
	}}.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Verify("postgres"))
	// Output:
	// segment: values from 123 to below 200 in no segment, between segments 0 and 1: add a segment, or state with Partial that the rows outside of all segments are not meant
}

func ExampleEven() {
	db := open() // a database with a table of people, as in the other examples
	defer db.Close()
	list, err := segment.Even{Table: "person", Column: "last_name", Type: segment.TypeText, Count: 2}.Sample(ctx, db)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range list.Segments {
		fmt.Println(s)
	}
	// Output:
	// below "Lovelace" or NULL
	// "Lovelace" and above
}

// roles divides people by conditions. The method Segments of an executor returns
// roles().Prove(ctx, b.Tx), and Execute uses the segment of roles().Find(b.Segment).
func roles() segment.Predicates {
	return segment.Predicates{
		Table: "person",
		Segments: []segment.Segment{
			segment.Predicate("early", "last_name < $1", segment.Text("H")),
			segment.Predicate("pilots", "last_name IN ($1, $2)", segment.Text("Earhart"), segment.Text("Lindbergh")),
		},
		Rest: "others", // also those without a name
	}
}

func ExamplePredicates() {
	db := open()
	defer db.Close()
	plan, err := roles().Prove(ctx, db)
	if err != nil {
		fmt.Println(err)
		return
	}
	stored, err := json.Marshal(plan.At(0))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(stored))
	var mine segment.Segment
	if err := json.Unmarshal(stored, &mine); err != nil {
		fmt.Println(err)
		return
	}
	if mine, err = roles().Find(mine); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(mine.SQL("sqlite3", "", 1))
	// Another person, who meets two conditions.
	if _, err := db.ExecContext(ctx, "INSERT INTO person VALUES ('Earhart')"); err != nil {
		fmt.Println(err)
		return
	}
	_, err = roles().Prove(ctx, db)
	fmt.Println(err)
	// Output:
	// {"form":"predicate","name":"early","condition":"last_name \u003c $1","args":[{"type":"text","value":"H"}]}
	// (last_name < ?1) [H] <nil>
	// segment: rows that meet several conditions: 1 (early and pilots: 1). Let one of them exclude the other
}

func ExamplePredicate() {
	where, args, err := segment.Predicate("minors", "age < $1 AND NOT archived", segment.Int(18)).SQL("postgres", "", 3)
	fmt.Println(where, args, err)
	// Output:
	// (age < $3::bigint AND NOT archived) [18] <nil>
}

// Names are compared without regard to the case of the letters from A to Z.
func ExampleRule() {
	plan, err := segment.Strings{Characters: []string{"AMZ"}, Matching: segment.Lower}.Plan()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.At(1))
	fmt.Println(plan.At(1).SQL("postgres", "last_name", 1))
	// Output:
	// from "a" to below "m", matching lower
	// (lower(last_name COLLATE "C") COLLATE "C" >= $1 AND lower(last_name COLLATE "C") COLLATE "C" < $2) [a m] <nil>
}
