package simulation

import (
	"fmt"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// checkLimits checks that after no commit more tasks with a key are EXECUTING than its limit. That no task waits
// for ever follows from its end.
func (w *env) checkLimits() (bad []string) {
	log := w.mem.Log()
	limits := make(map[uuid.UUID][]store.Limit)
	executing := make(map[string]map[uuid.UUID]bool)
	for i, c := range log {
		row := c.After
		if row == nil {
			row = c.Before
		}
		if c.Before == nil {
			limits[row.ID] = c.Options.Limits
		}
		for _, l := range limits[row.ID] {
			if executing[l.Key] == nil {
				executing[l.Key] = make(map[uuid.UUID]bool)
			}
			delete(executing[l.Key], row.ID)
			if c.After != nil && c.After.Status == lifecycle.Executing && !c.After.Control.Ends() { // to end a task needs no permit
				executing[l.Key][row.ID] = true
			}
			last := i+1 == len(log) || log[i+1].Commit != c.Commit
			if n := len(executing[l.Key]); last && n > l.AtMost {
				bad = append(bad, fmt.Sprintf("task %s: %d tasks with the key %q are EXECUTING after commit %d, and the limit is %d", row.ID, n, l.Key, c.Commit, l.AtMost))
			}
		}
	}
	return bad
}
