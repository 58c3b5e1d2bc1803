package main_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// show prints a report for previews only. apply submits what was previewed.
func TestShowPreview(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s := migrated(t, db)
		other := s.submit(t)
		expect(t, 0, "", s.args("pause", other.String())...)
		id, err := watchtask.Submit(t.Context(), db.DB, watch.Spec{Targets: targets.Targets{People: []uuid.UUID{uuid.New()}}, Action: watch.Start},
			taskkit.System(), taskkit.WithPreview(), taskkit.WithSchema(s.schema))
		if err != nil {
			t.Fatal(err)
		}
		expect(t, 0, "it has not run yet, so how long the real task takes is not known", s.args("show", id.String())...)
		if _, err := db.ExecContext(t.Context(), "CREATE TABLE watched (n integer)"); err != nil {
			t.Fatal(err)
		}
		s.work(t, func(ctx context.Context, b *taskkit.Batch[watchtask.Spec, watchtask.State]) (taskkit.Next, error) {
			_, next := taskkit.Take(b, b.Spec.Targets.People)
			b.Note("Ada \x1b[31m", "watched")
			_, err := b.Tx.ExecContext(ctx, "INSERT INTO watched VALUES (1), (2)")
			return next, err
		})
		expect(t, 0, "", s.args("watch", id.String())...)
		for _, want := range []string{"nothing of this has been written", "watched\tinsert\t2", "watched\t1", "Samples", "succeeded", "the real task will take about "} {
			expect(t, 0, want, s.args("show", id.String())...)
		}
		_, out, _ := ran(t, s.args("show", id.String(), "-o", "json")...)
		var shown struct{ Preview taskkit.PreviewReport }
		if err := json.Unmarshal([]byte(out), &shown); err != nil || len(shown.Preview.Changes) != 1 {
			t.Errorf("%v: %s", err, out)
		}
		if _, out, _ := ran(t, s.args("ls", "--previews")...); !strings.Contains(out, id.String()) || strings.Contains(out, other.String()) {
			t.Errorf("ls --previews: %s", out)
		}
		expect(t, 1, "is not a preview", s.args("apply", other.String())...)
		expect(t, 0, "applies the preview "+id.String(), s.args("apply", id.String(), "--reason", "read")...)
		expect(t, 1, "exists already", s.args("apply", id.String())...)
		if _, out, _ := ran(t, s.args("show", other.String())...); len(out) == 0 || json.Valid([]byte(out)) {
			t.Errorf("show of another task: %s", out)
		}
	})
}
