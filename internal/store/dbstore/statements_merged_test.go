package dbstore_test

import (
	"time"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// afterFailures records what only follows a failed attempt: a submission that
// replaces a task that was claimed before, and a retry of a task with a key.
func (c *calls) afterFailures(claim store.Claim) {
	ctx, s := c.Context(), c.s
	referring := func(t *store.NewTask) { t.Reference = "replaced" }
	c.insert("insert_with_reference", true, newTask(referring))
	two := func(t *store.NewTask) { t.Reference = "two" }
	c.insert("insert_with_reference", true, newTask(two))
	keyed := c.insert("insert_with_key", false, newTask(func(t *store.NewTask) { t.UniqueKey = "retried" }))[0]
	found, err := s.Claim(ctx, claim)
	if err != nil || len(found.Tasks) != 3 {
		c.Fatalf("claimed %d tasks, want 3 (%v)", len(found.Tasks), err)
	}
	c.insert("insert_with_reference", true, newTask(two))
	var writes []*store.Write
	for _, t := range found.Tasks {
		w := store.Write{Lease: t.Lease, To: lifecycle.Queued, Delay: time.Hour, Attempts: 1, Attempt: &store.Attempt{Process: "p", Class: "transient", Code: "c"}}
		if t.ID == keyed {
			w.To = lifecycle.Failure
		}
		writes = append(writes, &w)
	}
	if _, err := s.Apply(ctx, "p", writes); err != nil {
		c.Fatal(err)
	}
	c.insert("insert_merged_after_attempt", true, newTask(referring))
	c.insert("insert_merged_two_waiting", true, newTask(two))
	c.insert("insert_merged_with_ledger", true, newTask(referring, func(t *store.NewTask) { t.Ledger = true }))
	c.record("request_retry_with_key", func() error {
		_, err := s.Request(ctx, keyed, store.Request{Action: lifecycle.ActRetry})
		return err
	})
}
