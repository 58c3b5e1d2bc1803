package taskkit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// Whoever answers with a task, or logs it, shows nobody its spec, its state or its error.
func TestTaskShowsNothingPrivate(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		k := loginKind(1)
		id := submitted(t, db, k, loginSpec{User: "spec-" + hunter})
		started(t, db, registered(k, &funcs[loginSpec, loginState]{execute: func(_ context.Context, b *taskkit.Batch[loginSpec, loginState]) (taskkit.Next, error) {
			if b.State.Steps++; b.State.Steps > 1 {
				return taskkit.More, taskkit.Permanent("rejected", errors.New("error-"+hunter))
			}
			b.State.Session = "state-" + hunter
			return taskkit.More, nil
		}}), quick(t, db))
		task := ended(t, db, id)
		if !strings.Contains(string(task.SpecJSON), hunter) || !strings.Contains(string(task.StateJSON), hunter) || !strings.Contains(task.StatusDetail, hunter) {
			t.Fatalf("%s, %s, %q: there is nothing to hide", task.SpecJSON, task.StateJSON, task.StatusDetail)
		}
		typed, err := taskkit.Get(t.Context(), clientOf(db), k, id)
		if err != nil {
			t.Fatal(err)
		}
		child := &taskkit.Child{ID: id, Kind: k.Name(), Status: taskkit.StatusFailure, StatusDetail: task.StatusDetail}
		for _, v := range []any{task, *task, &typed.Task, []*taskkit.Task{task}, child, *child} {
			answer, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			var log strings.Builder
			slog.New(slog.NewJSONHandler(&log, nil)).Info("read", "task", v)
			slog.New(slog.NewTextHandler(&log, nil)).Info("read", "task", v)
			fmt.Fprintf(&log, "%v %+v %s", v, v, v)
			for where, text := range map[string]string{"JSON": string(answer), "log": log.String()} {
				if !strings.Contains(text, id.String()) || strings.Contains(text, hunter) || strings.Contains(text, "rejected") {
					t.Errorf("%s of a %T: %s", where, v, text)
				}
			}
		}
	})
}
