package dbstore_test

import (
	"encoding/json"
	"testing"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"taskkit.dev/ent"
	_ "taskkit.dev/ent/runtime" // the hook under attack
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/testdb"
)

// variation is what an attack does beside the status.
type variation struct {
	started bool  // the row has a start afterwards
	partial bool  // the row is partial afterwards
	fence   int64 // added to the fence
}

// legal is what the table of transitions says of an attack.
func legal(from, to lifecycle.Status, v variation) bool {
	if from == to {
		return v.fence == 0
	}
	e, ok := lifecycle.Find(from, to)
	want := int64(0)
	if e.Claimed {
		want = 1
	}
	return ok && v.fence == want && (!e.Started || v.started) && (!e.Partial || v.partial)
}

// attacked is a database with one task in it, attacked through ent as a user of
// the tables might.
type attacked struct {
	*testing.T
	s  store.Store
	db *testdb.DB
	c  *ent.Client
}

// clock is a time to write through ent.
func clock() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// bring leaves nothing but a new task of a status.
func (a *attacked) bring(status lifecycle.Status) uuid.UUID {
	a.Helper()
	if _, err := a.db.ExecContext(a.Context(), "DELETE FROM taskkit_queued_task"); err != nil {
		a.Fatal(err)
	}
	if status == lifecycle.Queued {
		return a.insert()
	}
	c := claimOne(a.T, a.s, a.db, time.Hour)
	if status != lifecycle.Scheduling {
		applied, err := a.s.Apply(a.Context(), "p", []*store.Write{{Lease: c.Lease, To: status}})
		if err != nil || !applied[0].OK {
			a.Fatalf("to %s: %v, %v", status, applied, err)
		}
	}
	return c.ID
}

// insert stores a new task.
func (a *attacked) insert() uuid.UUID {
	a.Helper()
	person, id := uuid.New(), uuid.Must(uuid.NewV7())
	if err := store.Insert(a.Context(), a.db.DB, a.db.Schema, []store.NewTask{{
		Submitted: store.Submitted{Kind: "demo", Owner: person, RunAs: person, Queue: "default"},
		ID:        id, Revision: 1, Priority: 2,
	}}, false); err != nil {
		a.Fatal(err)
	}
	return id
}

// status reads the status of a task.
func (a *attacked) status(id uuid.UUID) lifecycle.Status {
	a.Helper()
	at, err := a.s.Positions(a.Context(), []uuid.UUID{id})
	if err != nil {
		a.Fatal(err)
	}
	return at[id].Status
}

// Every pair of statuses by an ent mutation, in every variant of the conditions
// that an edge may have: what passes is the table of transitions.
func TestAttackByEnt(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		s, _ := opened(t, db)
		a := &attacked{t, s, db, ent.NewClient(ent.Driver(entsql.OpenDB(string(db.Dialect), db.DB)),
			ent.AlternateSchema(ent.SchemaConfig{QueuedTask: db.Schema}))}
		for _, from := range lifecycle.Statuses() {
			a.update(from)
			a.remove(from)
		}
		a.create()
	})
}

// update tries to bring a task of a status into every other.
func (a *attacked) update(from lifecycle.Status) {
	a.Helper()
	id := a.bring(from)
	for _, to := range lifecycle.Statuses() {
		for _, v := range []variation{
			{},
			{started: true},
			{partial: true},
			{started: true, partial: true},
			{fence: 1},
			{started: true, partial: true, fence: 1},
			{started: true, partial: true, fence: -1},
			{started: true, fence: 2},
		} {
			if to == lifecycle.Executing && !v.started {
				continue // the check on the start refuses that in any case
			}
			err := a.try(id, to, v)
			if want := legal(from, to, v); (err == nil) != want {
				a.Fatalf("%s to %s with %+v: passed is %v (%v), want %v", from, to, v, err == nil, err, want)
			}
			if err == nil {
				id = a.bring(from)
			}
		}
		// Many at once: the status of each is not known.
		if _, err := a.c.QueuedTask.Update().SetWorkflowStatus(to).Save(a.Context()); err == nil {
			a.Fatalf("a bulk update to %s passed", to)
		}
	}
	if _, err := a.c.QueuedTask.Update().AddFence(1).Save(a.Context()); err == nil {
		a.Fatal("a bulk update of fences passed")
	}
	if got := a.status(id); got != from {
		a.Fatalf("after all attacks the task is %s, want %s", got, from)
	}
	// What does not touch the status passes.
	if _, err := a.c.QueuedTask.Update().SetReason("x").Save(a.Context()); err != nil {
		a.Fatal(err)
	}
}

// try makes one attack. The columns that the checks want are set right, so that
// nothing but the guard can refuse.
func (a *attacked) try(id uuid.UUID, to lifecycle.Status, v variation) error {
	u := a.c.QueuedTask.UpdateOneID(id).SetWorkflowStatus(to).AddFence(v.fence)
	if v.started {
		u.SetExecutionStartedDate(clock())
	} else {
		u.ClearExecutionStartedDate()
	}
	u.SetPartial(v.partial)
	if to.InFlight() {
		u.SetScheduledByProcess("mallory")
	} else {
		u.ClearScheduledByProcess()
	}
	if to.Terminal() {
		u.SetWorkflowStoppedDate(clock())
	} else {
		u.ClearWorkflowStoppedDate()
	}
	return u.Exec(a.Context())
}

// remove: a task that a worker holds is not removed.
func (a *attacked) remove(from lifecycle.Status) {
	a.Helper()
	for _, remove := range []func(uuid.UUID) error{
		func(id uuid.UUID) error { return a.c.QueuedTask.DeleteOneID(id).Exec(a.Context()) },
		func(uuid.UUID) error { _, err := a.c.QueuedTask.Delete().Exec(a.Context()); return err },
	} {
		if err := remove(a.bring(from)); (err == nil) == from.InFlight() {
			a.Fatalf("removal of a task that is %s: %v", from, err)
		}
	}
}

// create: a new task is QUEUED and has never been held.
func (a *attacked) create() {
	a.Helper()
	for name, c := range map[string]struct {
		change func(*ent.QueuedTaskCreate)
		ok     bool
	}{
		"as it should be": {func(*ent.QueuedTaskCreate) {}, true},
		"status": {func(n *ent.QueuedTaskCreate) {
			n.SetWorkflowStatus(lifecycle.Completed).SetWorkflowStoppedDate(clock())
		}, false},
		"fence":          {func(n *ent.QueuedTaskCreate) { n.SetFence(2) }, false},
		"checkpoint_seq": {func(n *ent.QueuedTaskCreate) { n.SetCheckpointSeq(2) }, false},
	} {
		n := a.c.QueuedTask.Create().SetID(uuid.New()).SetCreatedBy(uuid.New()).SetModifiedBy(uuid.New()).SetOwnerID(uuid.New()).
			SetRunAsID(uuid.New()).SetExecutionComponentName("demo").SetExecutionState(json.RawMessage("{}")).
			SetCreatedDate(clock()).SetModifiedDate(clock()).SetNotBefore(clock())
		c.change(n)
		if err := n.Exec(a.Context()); (err == nil) != c.ok {
			a.Errorf("%s: created with %v", name, err)
		}
	}
}
