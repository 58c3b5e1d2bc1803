package taskkit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// A submission with a logger logs the size of each spec that it has stored, and none that it has refused.
func TestSPR16SizeOfSpecIsLogged(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := newKind[countSpec, countState]("count", 10)
		var lines bytes.Buffer
		opts := []taskkit.SubmitOption{taskkit.System(), taskkit.WithSchema(schemaOf(db)), taskkit.WithLogger(slog.New(slog.NewJSONHandler(&lines, nil)))}
		ids, err := taskkit.SubmitMany(t.Context(), db.DB, k, []countSpec{{}, {Items: 12345}}, opts...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := taskkit.Submit(t.Context(), db.DB, k, countSpec{}, opts[1:]...); err == nil {
			t.Error("submitted without an owner")
		}
		submitted(t, db, k, countSpec{}) // without a logger
		d := json.NewDecoder(&lines)
		for _, id := range ids {
			var line struct {
				Kind string     `json:"kind"`
				Task taskkit.ID `json:"task"`
				Size int        `json:"spec_bytes"`
			}
			task, err := clientOf(db).Task(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Decode(&line); err != nil || line.Kind != "count" || line.Task != id || line.Size != len(task.SpecJSON) || line.Size == 0 {
				t.Errorf("logged %+v, %v; want the %d bytes of %s", line, err, len(task.SpecJSON), id)
			}
		}
		if d.More() {
			t.Errorf("more was logged: %s", lines.String())
		}
	})
}

// The size of each submitted spec is logged.
func ExampleWithLogger() {
	db, ctx := exampleDB(), context.Background()
	defer db.Close()
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "task" {
			return slog.Attr{}
		}
		return a
	}}))
	_, _ = taskkit.Submit(ctx, db, greetKind, greetSpec{People: []string{"Ada"}}, taskkit.System(), taskkit.WithLogger(logger))
	// Output: level=INFO msg="task submitted" kind=greet spec_bytes=18
}
