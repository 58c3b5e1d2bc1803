package dbstore_test

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
)

// limits records what tasks with limits and rates need.
func (c *calls) limits(db *testdb.DB) {
	ctx, s := c.Context(), c.s
	p := store.Process{ID: "limits", Version: "v", Kinds: map[string][]int{"demo": {1}}, Queues: []string{"limited"}, Slots: 1, DeadAfter: time.Hour}
	c.ok(s.RegisterWorker(ctx, p))
	limited := func(t *store.NewTask) { t.Queue = "limited" }
	c.ok(c.insertInto([]store.NewTask{newTask(limited), newTask(limited), newTask(limited)}, false))
	r, err := s.Claim(ctx, store.Claim{Process: p.ID, Queues: p.Queues, Kinds: p.Kinds, Limit: 3})
	c.ok(err)
	if len(r.Tasks) != 3 {
		c.Fatalf("claimed %d tasks", len(r.Tasks))
	}
	one := func(i int) store.PermitRequest {
		return store.PermitRequest{Lease: r.Tasks[i].Lease, Limits: []store.Limit{{Key: "a", AtMost: 1}}}
	}
	c.record("admit", func() error { _, err := s.TakePermits(ctx, []store.PermitRequest{one(0)}); return err })
	c.record("admit_version", func() error {
		a := one(0)
		a.Versioned = &store.Versioned{Kind: "demo", Reference: "r"}
		_, err := s.TakePermits(ctx, []store.PermitRequest{a})
		return err
	})
	c.record("admit_refused", func() error {
		a, err := s.TakePermits(ctx, []store.PermitRequest{one(1)})
		if err == nil && a[0].OK {
			err = errors.New("it was not refused")
		}
		return err
	})
	park := func(i int) error {
		_, err := s.Apply(ctx, p.ID, []*store.Write{{Lease: r.Tasks[i].Lease, To: lifecycle.Queued, At: store.Forever, Reason: "waits"}})
		return err
	}
	c.ok(park(1))
	c.record("wake_waiting_none", func() error { _, err := s.WakeWaiting(ctx, []string{"b"}); return err })
	c.record("limited", func() error { _, err := s.Limited(ctx, "", 10); return err })
	all := []uuid.UUID{r.Tasks[1].ID}
	c.record("backgrounds", func() error {
		found, err := s.Backgrounds(ctx, store.BackgroundQuery{Options: all, Attempts: all, Requests: all, Limits: all})
		if l := found[all[0]]; err == nil && (l == nil || l.Limit == nil || l.Limit.Key != "a" || len(l.Limit.First) != 1 || l.Limit.First[0].Task != r.Tasks[0].ID) {
			err = errors.New("it does not say which task has the permit")
		}
		return err
	})
	measured := store.Write{
		Lease: r.Tasks[0].Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage("{}"), Worked: &store.Worked{Kind: "demo"},
	}
	c.record("apply_measured", func() error { _, err := s.Apply(ctx, p.ID, []*store.Write{&measured}); return err })
	c.record("request_max_rate", func() error {
		_, err := s.Request(ctx, r.Tasks[0].ID, store.Request{Action: lifecycle.ActChange, MaxRate: 5})
		return err
	})
	c.record("request_max_rate_raised", func() error {
		_, err := s.Request(ctx, r.Tasks[0].ID, store.Request{Action: lifecycle.ActChange, MaxRate: 10})
		return err
	})
	lease := r.Tasks[0].Lease
	lease.Seq++
	_, err = s.Apply(ctx, p.ID, []*store.Write{{Lease: lease, To: lifecycle.Completed}})
	c.ok(err)
	c.record("wake_waiting", func() error {
		ids, err := s.WakeWaiting(ctx, []string{"a"})
		if err == nil && len(ids) != 1 {
			err = errors.New("no task was woken")
		}
		return err
	})
	c.record("waiting_owners", func() error {
		_, err := s.WaitingOwners(ctx, store.Claim{Process: p.ID, Queues: p.Queues, Kinds: p.Kinds})
		return err
	})
	c.record("set_limit", func() error { return s.SetLimit(ctx, "a", 2, uuid.Max, "because") })
	_, err = s.TakePermits(ctx, []store.PermitRequest{one(2)})
	c.ok(err, s.SetLimit(ctx, "a", 0, uuid.Nil, "because"))
	_, err = s.Apply(ctx, p.ID, []*store.Write{{Lease: r.Tasks[2].Lease, To: lifecycle.Failure}})
	c.ok(err)
	c.record("reap_limits", func() error {
		if _, err := db.ExecContext(ctx, "UPDATE taskkit_limit SET modified_date = '2000-01-01 00:00:00'"); err != nil {
			return err
		}
		c.rec.Take()
		_, err := s.Reap(ctx, nil)
		return err
	})
}
