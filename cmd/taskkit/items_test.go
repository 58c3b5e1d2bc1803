package main_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// The items of a task in each format: the CSV holds what was recorded, and a table
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
			for i := range many {
				b.Skip(fmt.Sprint("item ", i), "same")
			}
			return taskkit.Done, nil
		})
		expect(t, 0, "", s.args("watch", id.String())...)

		status, out, errs := ran(t, s.args("items", id.String(), "-o", "csv")...)
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if status != 0 || err != nil || len(rows) != many+3 {
			t.Fatalf("status %d, %d rows (%v): %s", status, len(rows), err, errs)
		}
		for i, want := range []string{
			"item|outcome|code|detail|position|attempt",
			"Ada \"the\" first,\x1b[31m\nline 2|failed|gone|she has moved||1",
			"7|failed|gone|gone||1",
			"item 0|skipped|same|||1",
		} {
			if got := strings.Join(rows[i][:6], "|"); got != want {
				t.Errorf("row %d is %q, want %q", i, got, want)
			}
		}
		_, out, _ = ran(t, s.args("items", id.String(), "-o", "json", "--failed")...)
		var items []taskkit.Item
		if err := json.Unmarshal([]byte(out), &items); err != nil || len(items) != 2 || string(items[1].Key) != "7" {
			t.Errorf("JSON of %d items (%v): %s", len(items), err, out)
		}
		status, out, errs = ran(t, s.args("items", id.String())...)
		if lines := strings.Count(out, "\n"); status != 0 || lines != many+3 || strings.Count(out, "OUTCOME") != 1 || strings.Contains(out, "\x1b") {
			t.Errorf("status %d, a table of %d lines: %.400s%s", status, lines, out, errs)
		}

		expect(t, 0, "no items", s.args("items", none.String())...)
		expect(t, 0, "[]", s.args("items", none.String(), "-o", "json", "--skipped")...)
		expect(t, 0, "item,outcome", s.args("items", none.String(), "-o", "csv")...)
	})
	expect(t, 2, "-o accepts csv or table or json", "items", "@last", "-o", "xml")
	expect(t, 2, "-o accepts table or json", "ls", "-o", "csv")
	expect(t, 2, "no task given", "items")
}
