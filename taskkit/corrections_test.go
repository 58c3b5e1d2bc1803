package taskkit_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// failedFollow is a task over n targets of which some have failed, and its failed
// items as corrections that change nothing.
func failedFollow(t *testing.T, db *testdb.DB, frozen bool, n int) (id taskkit.ID, all []taskkit.Correction) {
	t.Helper()
	id = submitFollow(t, db, frozen, n)
	stop := started(t, db, registered(followKind, &follower{outcome: byRest}), quick(t, db))
	ended(t, db, id)
	stop()
	for _, i := range listed(t, db, id, taskkit.OutcomeFailed) {
		all = append(all, taskkit.Correction{Position: i.Position, Item: i.Text()})
	}
	return id, all
}

// correcting is a sequence of corrections.
func correcting(all []taskkit.Correction) iter.Seq2[taskkit.Correction, error] {
	return func(yield func(taskkit.Correction, error) bool) {
		for _, c := range all {
			if !yield(c, nil) {
				return
			}
		}
	}
}

// Items that are corrected take the place of those that failed, and the others stay.
func TestRetryCorrected(t *testing.T) {
	t.Parallel()
	eachTargets(t, func(t *testing.T, db *testdb.DB, frozen bool) {
		id, all := failedFollow(t, db, frozen, 2345)
		want := numbersWith(0, 2345, taskkit.OutcomeFailed)
		all[1].Corrected = `{"n": 9000, "name": "new"}`
		want[1] = 9000
		retry, err := clientOf(db).RetryCorrected(t.Context(), id, correcting(all))
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, i := range listed(t, db, retry, taskkit.OutcomeUnprocessed) {
			var item followItem
			decode(t, i.Key, &item)
			got = append(got, item.N)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the retry is over %v, want %v", head(got), head(want))
		}
		x := &follower{outcome: func(int) taskkit.Outcome { return taskkit.OutcomeSucceeded }}
		stop := started(t, db, registered(followKind, x), quick(t, db))
		defer stop()
		if task := ended(t, db, retry); task.Progress.Done != int64(len(want)) || !slices.Equal(x.taken, want) {
			t.Errorf("the retry ended as %s %+v", task.Status, task.Progress)
		}
	})
}

// Corrections that are not those of the failed items are named, and nothing is stored.
func TestRetryCorrectedRefused(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		id, all := failedFollow(t, db, true, 200)
		for name, tc := range map[string]struct {
			change                          func(c []taskkit.Correction) []taskkit.Correction
			unknown, missing, invalid, more int
		}{
			"missing": {missing: 2, change: func(c []taskkit.Correction) []taskkit.Correction {
				return slices.Delete(c, 3, 5)
			}},
			"missing at the end": {missing: 10, more: 9, change: func(c []taskkit.Correction) []taskkit.Correction { return c[:1] }},
			"unknown": {unknown: 2, change: func(c []taskkit.Correction) []taskkit.Correction {
				c = slices.Insert(c, 4, taskkit.Correction{Position: c[4].Position - 1, Item: "other"})
				return append(c, taskkit.Correction{Position: 900, Item: "beyond"})
			}},
			"changed": {unknown: 1, change: func(c []taskkit.Correction) []taskkit.Correction {
				c[0].Item += " "
				return c
			}},
			"of another type": {invalid: 3, change: func(c []taskkit.Correction) []taskkit.Correction {
				c[0].Corrected, c[1].Corrected, c[2].Corrected = `"text"`, "7", "{nonsense"
				return c
			}},
			"what cannot be stored": {invalid: 4, change: func(c []taskkit.Correction) []taskkit.Correction {
				c[0].Corrected, c[1].Corrected = "{\"n\": 1, \"name\": \"M\xFCller\"}", `{"n": 1, "name": "\ud800"}`
				c[2].Corrected, c[3].Corrected = `{"n": 1, "name": "\u0000"}`, `{"n": 1, "n": 2}`
				return c
			}},
		} {
			_, err := clientOf(db).RetryCorrected(t.Context(), id, correcting(tc.change(slices.Clone(all))))
			wrong, ok := errors.AsType[*taskkit.CorrectionsError](err)
			if !ok || wrong.ID != id || len(wrong.Unknown) != tc.unknown || len(wrong.Missing) != tc.missing || len(wrong.Invalid) != tc.invalid || wrong.Omitted != tc.more {
				t.Errorf("%s: %v, want %d unknown, %d missing, %d invalid and %d more", name, err, tc.unknown, tc.missing, tc.invalid, tc.more)
			}
		}
		swapped := slices.Clone(all)
		swapped[0], swapped[1] = swapped[1], swapped[0]
		for name, seq := range map[string]iter.Seq2[taskkit.Correction, error]{
			"no sequence":          nil,
			"in another order":     correcting(swapped),
			"no header":            taskkit.CorrectionsFromCSV(strings.NewReader("")),
			"without a column":     taskkit.CorrectionsFromCSV(strings.NewReader("item,position\n1,1\n")),
			"a position of text":   taskkit.CorrectionsFromCSV(strings.NewReader("item,position,corrected\n1,x,\n")),
			"a row of two columns": taskkit.CorrectionsFromCSV(strings.NewReader("item,position,corrected\n1,1\n")),
		} {
			if _, err := clientOf(db).RetryCorrected(t.Context(), id, seq); !isOptionError(err) {
				t.Errorf("%s: %v, want an OptionError", name, err)
			}
		}
		if _, err := clientOf(db).RetryCorrected(t.Context(), id, taskkit.CorrectionsFromCSV(failingReader{})); !errors.Is(err, errPlanned) {
			t.Errorf("a file that cannot be read: %v", err)
		}
		if tasks, _, err := clientOf(db).Tasks(t.Context(), taskkit.Filter{Follows: id}); err != nil || len(tasks) != 0 {
			t.Errorf("%d tasks are stored (%v), want none", len(tasks), err)
		}
	})
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errPlanned }

// A file has the corrections as they were written, by whatever spreadsheet.
func TestCorrectionsFromCSV(t *testing.T) {
	t.Parallel()
	want := []string{`3 "a,\"b\"\nc" "" <nil>`, `12 "7" "8" <nil>`, `13 "=1" "-5" <nil>`}
	for name, file := range map[string]string{
		"as written":    "item,outcome,position,corrected\n\"a,\"\"b\"\"\nc\",failed,3,\n7,failed,12,8\n'=1,failed,13,-5\n",
		"byte order":    "\ufeffitem,outcome,position,corrected\r\n\"a,\"\"b\"\"\r\nc\",failed,3,\r\n7,failed,12,8\r\n'=1,failed,13,'-5\r\n",
		"semicolons":    "Item; OUTCOME;Position;corrected\r\n\"a,\"\"b\"\"\nc\";failed;3;\r\n7;failed;12;8\r\n'=1;failed;13;-5\r\n;;;\r\n\r\n",
		"tabs":          "item\toutcome\tposition\tcorrected\n\"a,\"\"b\"\"\nc\"\tfailed\t3\t\n7\tfailed\t12\t8\n'=1\tfailed\t13\t-5\n",
		"line with sep": "\ufeffsep=;\r\nitem;outcome;position;corrected\r\n\"a,\"\"b\"\"\nc\";failed;3;\r\n7;failed;12;8\r\n'=1;failed;13;-5",
	} {
		var got []string
		for c, err := range taskkit.CorrectionsFromCSV(strings.NewReader(file)) {
			got = append(got, fmt.Sprintf("%d %q %q %v", c.Position, c.Item, c.Corrected, err))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: corrections %q, want %q", name, got, want)
		}
	}
}

// A file whose text would be stored as another is refused, with its line.
func TestCorrectionsFromCSVRefused(t *testing.T) {
	t.Parallel()
	const header = "item,position,corrected\n"
	for file, want := range map[string]string{
		header + "a,1,b\nc,2,M\xFCller\n":   "line 3 has ",
		header + "M\xFCller,1,\n":           "line 2 has ",
		header + "a,1,\x00\n":               "line 2 has ",
		header + "a,1,\xed\xa0\x80\n":       "line 2 has ",
		"sep=,\n" + header + "a,1,\xFF\n":   "line 3 has ",
		"\xff\xfei\x00t\x00e\x00m\x00":      "the file is UTF-16",
		"\xfe\xff\x00i\x00t\x00e\x00m":      "the file is UTF-16",
		"sep=\nitem,position,corrected\n":   "the first line is ",
		"sep=\"\nitem,position,corrected\n": "the first line is ",
	} {
		var err error
		for _, err = range taskkit.CorrectionsFromCSV(strings.NewReader(file)) {
			if err != nil {
				break
			}
		}
		if !isOptionError(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want an OptionError with %q", file, err, want)
		}
	}
}
