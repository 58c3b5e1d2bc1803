package fuzz_test

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// few are what the fuzzer begins with where a try is slow; TestDoors and
// TestWhatExecutorsLeave try all of them.
var few = []string{"a", "a\x00b", "\xff\u00e9"}

// oneIn is how often the fuzzer's inputs are tried on PostgreSQL too, which is
// ten times as slow: it syncs each commit.
const oneIn = 16

// sample returns a choice of databases for an input: both for the seeds and for
// whatever was found and is tried again, and SQLite alone for most that the
// fuzzer draws. An input always has the same ones.
func sample(sides []*side, input ...[]byte) []*side {
	h := fnv.New32a()
	for _, part := range input {
		_, _ = h.Write(part)
	}
	if !fuzzing() || h.Sum32()%oneIn == 0 {
		return sides
	}
	return sides[1:]
}

// fuzzing reports whether the fuzzer draws, and not only the seeds are tried.
func fuzzing() bool {
	f := flag.Lookup("test.fuzz")
	return f != nil && f.Value.String() != ""
}

// fuzzed are the databases of a fuzz target. While the fuzzer draws, SQLite does
// not wait for the disk.
func fuzzed(f *testing.F) []*side {
	f.Helper()
	sides := both(f)
	if fuzzing() {
		sides[1] = newSide(f, "sqlite", testdb.SQLite(f, testdb.Unsynced()))
	}
	return sides
}

// FuzzSpec: any bytes as a spec are refused alike, or come back alike.
func FuzzSpec(f *testing.F) {
	sides := fuzzed(f)
	for _, s := range specs {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { submitSpec(t, sample(sides, raw), raw) })
}

// FuzzFilter: any text through a door of Submit and back through a filter, and in
// the filters that no door leads to.
func FuzzFilter(f *testing.F) {
	sides := fuzzed(f)
	names := slices.Sorted(maps.Keys(doors))
	for _, s := range few {
		for i := range names {
			f.Add(byte(i), s)
		}
	}
	f.Fuzz(func(t *testing.T, door byte, text string) {
		d := door % byte(len(names))
		some := sample(sides, []byte{d}, []byte(text))
		submitText(t, some, names[d], text)
		said := make([]string, len(some))
		for i, s := range some {
			for _, filter := range []taskkit.Filter{{Kinds: []string{text, "input"}}, {Statuses: []taskkit.Status{taskkit.Status(text)}}} {
				found, _, err := s.client.Tasks(t.Context(), filter)
				typed(t, err)
				said[i] += fmt.Sprintln(len(found), err)
			}
			_, _, err := s.client.Counts(t.Context(), text)
			typed(t, err)
			said[i] += fmt.Sprint(err)
		}
		same(t, fmt.Sprintf("filters by %q", text), said)
	})
}

// FuzzState: any bytes in a state or a result are stored, or end the task.
func FuzzState(f *testing.F) { fuzzLeft(f, "state", "result") }

// FuzzErrorText: whatever an error, a code, a panic or an item says, to record it
// leaves a legal task.
func FuzzErrorText(f *testing.F) { fuzzLeft(f, "error", "code", "panic", "item") }

// fuzzLeft leaves any bytes in one of these places.
func fuzzLeft(f *testing.F, hows ...string) {
	f.Helper()
	sides := fuzzed(f)
	for _, s := range sides {
		s.work(f)
	}
	for _, text := range few {
		for i := range hows {
			f.Add(byte(i), []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, how byte, data []byte) {
		h := how % byte(len(hows))
		logInput(t, sample(sides, []byte{h}, data), hows[h], data)
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
			said   = make([]string, len(sides))
		)
		copy(before[:], cursor)
		for i, s := range sides {
			page, _, err := s.client.Tasks(t.Context(), taskkit.Filter{Owner: mine, Before: before, Limit: limit})
			typed(t, err)
			for _, task := range page {
				if task.Owner != mine || before != uuid.Nil && task.ID.String() >= before.String() {
					t.Fatalf("%s: before %s, at most %d: another's task, or none of this page: %+v", s.name, before, limit, task)
				}
			}
			said[i] = fmt.Sprint(len(page))
			for _, err := range s.client.Items(t.Context(), before, taskkit.Outcome(cursor)) {
				typed(t, err)
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
