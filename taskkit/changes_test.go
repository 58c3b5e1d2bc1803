package taskkit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// Two persons change each setting: both changes are events, in their order, in the transaction of the change.
func TestSettingChanges(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		ann, bob := uuid.New(), uuid.New()
		changes := func(ctx context.Context, q taskkit.ExecQuerier) error {
			ops := taskops.New(taskkit.NewClient(q, taskkit.WithSchema(schemaOf(db))))
			asAnn, asBob := taskkit.WithActor(ann), taskkit.WithActor(bob)
			schedule := func(cron string, by uuid.UUID) error {
				return taskops.SetSchedule(ctx, q, newKind[countSpec, countState]("count", 10), "nightly", countSpec{Items: 1},
					taskops.Schedule{Cron: cron}, taskkit.WithSchema(schemaOf(db)), taskkit.WithActor(by))
			}
			_, paused := ops.PauseSchedule(ctx, "none", asAnn)
			if !errors.Is(paused, taskops.ErrNoSchedule) {
				return fmt.Errorf("a schedule that does not exist is paused: %w", paused)
			}
			return errors.Join(
				ops.PauseQueue(ctx, "mail", asAnn), ops.ResumeQueue(ctx, "mail", asBob),
				ops.SetLimit(ctx, "k", 2, asAnn), ops.SetLimit(ctx, "k", 3, asBob),
				schedule("0 2 * * *", ann), schedule("0 3 * * *", bob),
				ops.DeleteSchedule(ctx, "nightly", asAnn, taskkit.WithReason("unused")),
			)
		}
		ops := taskops.New(clientOf(db))
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := changes(t.Context(), tx); err != nil {
			t.Error(err)
		}
		within, err := taskops.New(taskkit.NewClient(tx, taskkit.WithSchema(schemaOf(db)))).SettingChanges(t.Context(), taskops.ChangeFilter{})
		if err != nil || len(within) != 7 {
			t.Errorf("%d changes in the transaction, %v; want 7", len(within), err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		if left, err := ops.SettingChanges(t.Context(), taskops.ChangeFilter{}); err != nil || len(left) != 0 {
			t.Errorf("after the rollback: %+v, %v", left, err)
		}
		if err := changes(t.Context(), db.DB); err != nil {
			t.Fatal(err)
		}
		for setting, want := range map[taskops.Setting][]string{
			taskops.SettingQueue: {"resume bob paused open", "pause ann open paused"},
			taskops.SettingLimit: {"set bob 2 3", "set ann  2"},
			taskops.SettingSchedule: {
				"delete ann unused", `set bob {"cron":"0 2 * * *"} {"cron":"0 3 * * *"}`, "set ann",
			},
		} {
			found, err := ops.SettingChanges(t.Context(), taskops.ChangeFilter{Setting: setting})
			if err != nil || len(found) != len(want) {
				t.Fatalf("%s: %+v, %v; want %d", setting, found, err, len(want))
			}
			for i, c := range found {
				who := map[uuid.UUID]string{ann: "ann", bob: "bob"}[c.Actor]
				got := fmt.Sprintf("%s %s %s %s", c.Action, who, c.From, c.To)
				switch {
				case c.Action == "delete":
					got = c.Action + " " + who + " " + c.Reason
				case setting == taskops.SettingSchedule && c.From == "":
					got = c.Action + " " + who
				}
				if got != want[i] || c.Created.IsZero() {
					t.Errorf("%s: change %d is %q, want %q", setting, i, got, want[i])
				}
			}
		}
	})
}
