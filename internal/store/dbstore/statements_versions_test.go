package dbstore_test

import (
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// pruneVersions records how the version of a reference without tasks is forgotten.
func (c *calls) pruneVersions() {
	c.Helper()
	gone := []store.NewTask{newTask(func(t *store.NewTask) { t.Kind, t.Reference, t.Version = "gone", "r", new(int64(1)) })}
	if err := c.insertInto(gone, false); err != nil {
		c.Fatal(err)
	}
	if _, err := c.s.Request(c.Context(), gone[0].ID, store.Request{Action: lifecycle.ActDelete, Actor: uuid.Max}); err != nil {
		c.Fatal(err)
	}
	c.record("prune_versions", func() error {
		for all := 0; all < 2; { // the version is found to have no task, and then removed
			n, err := c.s.PruneVersions(c.Context(), store.OldVersions{Check: func(kind string) time.Duration {
				if kind == "gone" {
					return time.Nanosecond
				}
				return 0
			}, Limit: 10})
			if err != nil {
				return err
			}
			all += n
		}
		return nil
	})
}
