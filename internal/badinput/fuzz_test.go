package badinput_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

// few are what the fuzzer begins with where a try is slow; TestDoors and
// TestWhatExecutorsLeave try all of them.
var few = []string{"a", "a\x00b", "\xff\u00e9"}

// FuzzSpec: any bytes as a spec are refused alike, or come back alike.
func FuzzSpec(f *testing.F) {
	sides := both(f)
	for _, s := range specs {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { submitSpec(t, sides, raw) })
}

// FuzzFilter: any text through the doors of Submit and back through a filter.
func FuzzFilter(f *testing.F) {
	sides := both(f)
	for _, s := range few {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for door := range doors {
			submitText(t, sides, door, text)
		}
	})
}

// FuzzState: any bytes in a state or a result are stored, or end the task.
func FuzzState(f *testing.F) { fuzzLeft(f, "state", "result") }

// FuzzErrorText: whatever an error, a code, a panic or an item says, to record it
// leaves a legal task.
func FuzzErrorText(f *testing.F) { fuzzLeft(f, "error", "code", "panic", "item") }

func fuzzLeft(f *testing.F, hows ...string) {
	f.Helper()
	sides := both(f)
	for _, s := range sides {
		s.work(f)
	}
	for _, text := range few {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, how := range hows {
			leave(t, sides, how, data)
		}
	})
}

// FuzzCursor: any bytes as the place where a page begins, and any text as a
// task's name, are a page of the owner's own tasks or a typed error.
func FuzzCursor(f *testing.F) {
	sides := both(f)
	mine, theirs := uuid.New(), uuid.New()
	for _, s := range sides {
		for _, owner := range []uuid.UUID{mine, theirs, mine} {
			if _, err := taskkit.Submit(context.Background(), s.db, kind, spec{}, taskkit.OwnedBy(owner), s.schema); err != nil {
				f.Fatal(err)
			}
		}
	}
	for _, s := range append(nasty, "@last", "----", "01890a5d-ac96-774b-bcce-b302099a8057", "{01890a5d-ac96-774b-bcce-b302099a80}") {
		f.Add(s, 2)
	}
	f.Add(string(uuid.Max[:]), -1)
	f.Fuzz(func(t *testing.T, cursor string, limit int) {
		var (
			before uuid.UUID
			said   [2]string
		)
		copy(before[:], cursor)
		for i, s := range sides {
			page, err := s.client.Tasks(t.Context(), taskkit.Filter{Owner: mine, Before: before, Limit: limit})
			typed(t, err)
			for _, task := range page {
				if task.Owner != mine || before != uuid.Nil && task.ID.String() >= before.String() {
					t.Fatalf("%s: before %s, at most %d: another's task, or none of this page: %+v", s.name, before, limit, task)
				}
			}
			said[i] = fmt.Sprint(len(page))
			if _, err := s.client.Failures(t.Context(), before, before, limit); err != nil {
				t.Fatalf("%s: failures: %v", s.name, err)
			}
			_, err = s.client.Resolve(t.Context(), cursor)
			typed(t, err)
			_, err = taskkit.ParseID(cursor)
			typed(t, err)
		}
		if before == uuid.Nil || before[0] == 0xff { // the ids of the two differ
			same(t, fmt.Sprintf("before %s", before), said)
		}
	})
}
