package taskkit_test

import (
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// A request that names nobody is recorded as nobody's, and not as the owner's.
func TestRequestWithoutActor(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		id := submitted(t, db, countKind, countSpec{}, taskkit.OwnedBy(uuid.New()))
		task, err := clientOf(db).Pause(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if task.ControlBy != uuid.Nil {
			t.Errorf("asked by %v, want nobody", task.ControlBy)
		}
		events, err := clientOf(db).Events(t.Context(), id, 10)
		if err != nil || len(events) != 1 || events[0].Actor != uuid.Nil {
			t.Errorf("events %+v (%v), want one of nobody", events, err)
		}
	})
}
