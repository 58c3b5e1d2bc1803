package main_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// The items of a task in each format: the CSV holds what was recorded, without formulas, and a table
// no control character.
func TestItems(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		const many = 1200 // more than a part of a table
		none := s.submit(t)
		expect(t, 0, "", s.args("pause", none.String())...)
		id := s.submit(t)
		s.work(t, func(_ context.Context, b *taskkit.Batch[watchtask.Spec, watchtask.State]) (taskkit.Next, error) {
			b.Fail("Ada \"the\" first,\x1b[31m\nline 2", taskkit.Permanent("gone", errors.New("she has moved")))
			b.Fail(7, taskkit.Permanent("gone", nil))
			b.Fail("=1+2", taskkit.Permanent("gone", errors.New("@SUM(A1)")))
			for i := range many {
				b.Skip(fmt.Sprint("item ", i), "same")
			}
			return taskkit.Done, nil
		})
		expect(t, 0, "", s.args("watch", id.String())...)

		status, out, errs := ran(t, s.args("items", id.String(), "-o", "csv")...)
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if status != 0 || err != nil || len(rows) != many+4 {
			t.Fatalf("status %d, %d rows (%v): %s", status, len(rows), err, errs)
		}
		for i, want := range []string{
			"item|outcome|code|detail|position|attempt",
			"Ada \"the\" first,\x1b[31m\nline 2|failed|gone|she has moved||1",
			"7|failed|gone|gone||1",
			"'=1+2|failed|gone|'@SUM(A1)||1",
			"item 0|skipped|same|||1",
		} {
			if got := strings.Join(rows[i][:6], "|"); got != want {
				t.Errorf("row %d is %q, want %q", i, got, want)
			}
		}
		_, out, _ = ran(t, s.args("items", id.String(), "-o", "json", "--failed")...)
		var items []taskkit.Item
		if err := json.Unmarshal([]byte(out), &items); err != nil || len(items) != 3 || string(items[1].Key) != "7" {
			t.Errorf("JSON of %d items (%v): %s", len(items), err, out)
		}
		status, out, errs = ran(t, s.args("items", id.String())...)
		if lines := strings.Count(out, "\n"); status != 0 || lines != many+4 || strings.Count(out, "OUTCOME") != 1 || strings.Contains(out, "\x1b") {
			t.Errorf("status %d, a table of %d lines: %.400s%s", status, lines, out, errs)
		}

		expect(t, 0, "no items", s.args("items", none.String())...)
		expect(t, 0, "[]", s.args("items", none.String(), "-o", "json", "--skipped")...)
		expect(t, 0, "item,outcome", s.args("items", none.String(), "-o", "csv")...)
	})
	expect(t, 2, "-o accepts table, json, ndjson or csv here", "items", "@last", "-o", "xml")
	expect(t, 2, "-o accepts table or json here", "doctor", "-o", "csv")
	expect(t, 2, "no task given", "items")
}

// Failed items go out as a file, and come back corrected as a new task. The rest of a
// task that was stopped is another.
func TestRetryFailedCommand(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		people := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
		id, err := taskkit.Submit(t.Context(), db.DB, watchtask.Kind, watch.Spec{Action: watch.Start, Targets: targets.Targets{People: people}},
			taskkit.System(), taskkit.WithSchema(s.schema))
		if err != nil {
			t.Fatal(err)
		}
		s.work(t, func(_ context.Context, b *taskkit.Batch[watchtask.Spec, watchtask.State]) (taskkit.Next, error) {
			taken, next := taskkit.Take(b, b.Spec.Targets.People)
			for _, p := range taken {
				b.Fail(p, nil)
			}
			return next, nil
		})
		expect(t, 0, "", s.args("watch", id.String())...)
		_, file, _ := ran(t, s.args("items", id.String(), "--failed", "-o", "csv")...)
		lines := strings.Split(strings.TrimSpace(file), "\n")
		other := uuid.NewString()
		lines[2] += other
		path := filepath.Join(t.TempDir(), "corrected.csv")
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		expect(t, 1, "only a task that was stopped", s.args("continue", id.String())...)
		expect(t, 0, "retries the failed items of "+id.String(), s.args("retry-failed", id.String(), "--corrected", path, "--reason", "moved")...)
		expect(t, 1, "exists already", s.args("retry-failed", id.String())...)
		expect(t, 2, "--corrected takes one task", s.args("retry-failed", id.String(), id.String(), "--corrected", path)...)
		expect(t, 2, "no such file", s.args("retry-failed", id.String(), "--corrected", path+"x")...)
		_, out, _ := ran(t, s.args("items", "@last", "--failed", "--unprocessed", "-o", "csv")...)
		versioned, err := taskkit.Submit(t.Context(), db.DB, watchtask.Kind, watch.Spec{Action: watch.Start, Targets: targets.Targets{People: people}},
			taskkit.System(), taskkit.WithSchema(s.schema), taskkit.WithCoalescing("people"), taskkit.WithVersion(1))
		if err != nil {
			t.Fatal(err)
		}
		expect(t, 0, "", s.args("watch", versioned.String())...)
		expect(t, 1, "submit a newer version", s.args("retry-failed", versioned.String())...)
		for i, want := range []string{people[0].String(), other, people[2].String()} {
			if !strings.Contains(strings.Split(out, "\n")[i+1], want) {
				t.Errorf("item %d of the retry is not %s:\n%s", i, want, out)
			}
		}
	})
}

// The succeeded items of a task that finds its items itself are in its ledger, and
// deferred items are listed while the task waits to try them again.
func TestItemsOfLedgerAndDeferred(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		submit := func(to targets.Targets) taskkit.ID {
			id, err := taskkit.Submit(t.Context(), db.DB, watchtask.Kind, watch.Spec{Action: watch.Start, Targets: to},
				taskkit.System(), taskkit.WithSchema(s.schema))
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		person := uuid.New()
		walk, list := submit(targets.Targets{Query: &targets.Query{Everyone: true}}), submit(targets.Targets{People: []uuid.UUID{person}})
		s.work(t, func(_ context.Context, b *taskkit.Batch[watchtask.Spec, watchtask.State]) (taskkit.Next, error) {
			if b.Task == walk {
				b.Succeed("Ada")
				b.Succeed(7)
				return taskkit.Done, nil
			}
			people, next := taskkit.Take(b, b.Spec.Targets.People)
			for _, p := range people {
				b.Defer(p, taskkit.Permanent("busy", nil))
			}
			return next, nil
		})
		expect(t, 0, "", s.args("watch", walk.String())...)
		_, out, _ := ran(t, s.args("items", walk.String(), "--succeeded", "-o", "csv")...)
		lines := strings.Split(out, "\n")
		if len(lines) != 4 || !strings.HasPrefix(lines[1], "Ada,succeeded,,,,,2") || !strings.HasPrefix(lines[2], "7,succeeded,,,,,2") {
			t.Errorf("succeeded items of a walk:\n%s", out)
		}
		expect(t, 1, "which items it has not found yet", s.args("items", walk.String(), "--unprocessed")...)
		ctx := testdb.Within(t)
		for want := person.String() + ",deferred,busy,busy,1,1,"; ; {
			if _, out, _ = ran(t, s.args("items", list.String(), "--deferred", "-o", "csv")...); strings.Contains(out, want) {
				break
			}
			if ctx.Err() != nil {
				t.Fatalf("deferred items:\n%s", out)
			}
		}
	})
}

// Failed items of several tasks become one task, by flags.
func TestMID45RetryFailedTogether(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		people := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
		var ids []string
		for n := range 2 {
			id, err := taskkit.Submit(t.Context(), db.DB, watchtask.Kind, watch.Spec{Action: watch.Start, Targets: targets.Targets{People: people[n:]}},
				taskkit.OwnedBy(people[n]), taskkit.WithSchema(s.schema))
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id.String())
		}
		s.work(t, func(_ context.Context, b *taskkit.Batch[watchtask.Spec, watchtask.State]) (taskkit.Next, error) {
			taken, next := taskkit.Take(b, b.Spec.Targets.People)
			for _, p := range taken {
				b.Fail(p, taskkit.Permanent("gone", nil))
			}
			return next, nil
		})
		for _, id := range ids {
			expect(t, 0, "", s.args("watch", id)...)
		}
		expect(t, 1, "another owner (without OwnedBy)", s.args("retry-failed", "--together", ids[0], ids[1])...)
		expect(t, 0, "retries 3 failed items", s.args("retry-failed", "--together", ids[0], ids[1], "--owner", people[0].String(), "--run-as", people[0].String())...)
		expect(t, 0, "", s.args("watch", "@last")...)
		_, out, _ := ran(t, s.args("items", "@last", "--failed", "-o", "csv")...)
		for n, source := range []string{ids[1], ids[1], ids[0]} {
			if line := strings.Split(out, "\n")[n+1]; !strings.HasSuffix(line, source+",") {
				t.Errorf("line %d is %s, want the source %s", n+1, line, source)
			}
		}
		expect(t, 0, "retries 1 failed items", s.args("retry-failed", ids[0], "--item", people[2].String(), "--code", "gone,lost")...)
		expect(t, 1, "no failed item is selected", s.args("retry-failed", ids[0], "--code", "lost")...)

		// MID-44: what became of one item in all tasks.
		status, out, errs := ran(t, s.args("items", "--item", people[2].String(), "--kind", "watch", "-o", "csv")...)
		if lines := strings.Split(strings.TrimSpace(out), "\n"); status != 0 || len(lines) < 4 || !strings.HasPrefix(lines[len(lines)-1], people[2].String()+",failed,gone") {
			t.Errorf("status %d: %s%s", status, out, errs)
		}
		expect(t, 0, "gone", s.args("items", "--item", people[2].String(), "-n", "1", "--age", "1h")...)
		expect(t, 0, "no records", s.args("items", "--item", "7")...)
		expect(t, 2, "--limit accepts", s.args("items", "--item", "7", "-n", "0")...)
		expect(t, 2, "--limit accepts", s.args("items", "--item", "7", "-n", "1001")...)
		expect(t, 2, "--age accepts", s.args("items", "--item", "7", "--age", "old")...)
		expect(t, 2, "leave the task out", s.args("items", ids[0], "--item", "7")...)
		expect(t, 0, "retries 2 failed items", s.args("retry-failed", "--kind", "watch", "--since", "1h", "--item", people[1].String(), "--item", people[2].String(), "--owner", people[0].String(), "--run-as", people[0].String())...)
		expect(t, 2, "--since: not given", s.args("retry-failed", "--kind", "watch")...)
		expect(t, 2, "--kind: given together with", s.args("retry-failed", "--kind", "watch", "--since", "1h", ids[0])...)
		expect(t, 2, "leave out the flags", s.args("retry-failed", ids[0], "--code", "gone", "--corrected", "-")...)
		expect(t, 2, "no task given", s.args("retry-failed", "--code", "gone")...)
	})
}
