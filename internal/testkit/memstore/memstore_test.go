package memstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
	"taskkit.dev/internal/testkit/storetest"
)

// The cases that are about SQL itself are skipped.
func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.RunWithoutSQL(t, func(*testing.T) (memstore.Double, storetest.Backdoor) {
		s := memstore.New()
		return s, backdoor{s}
	})
}

// backdoor is the suite's way past the store.
type backdoor struct{ *memstore.Store }

var _ storetest.Backdoor = backdoor{}

func (d backdoor) EditTask(ctx context.Context, id uuid.UUID, set storetest.TaskColumns) error {
	now := d.Now()
	return d.Edit(ctx, id, func(t *memstore.Task) {
		if set.Control != nil {
			t.Control = *set.Control
		}
		if set.Queue != nil {
			t.Queue = *set.Queue
		}
		if set.Revision != nil {
			t.Revision = *set.Revision
		}
		if set.Stalled != nil {
			t.Stalled = *set.Stalled
		}
		if set.Attempts != nil {
			t.Attempts = *set.Attempts
		}
		if set.Due != nil {
			t.NotBefore = now.Add(*set.Due)
		}
	})
}

func (d backdoor) RemoveTasks(ctx context.Context) error { return d.Clear(ctx) }

func (d backdoor) EditProcess(ctx context.Context, id string, set storetest.ProcessColumns) error {
	now := d.Now()
	return d.Store.EditProcess(ctx, id, func(p *memstore.Process) {
		if set.Heartbeat != nil {
			p.Heartbeat = now.Add(*set.Heartbeat)
		}
		if set.Ended != nil {
			at := now.Add(*set.Ended)
			p.Ended = &at
		}
		if set.Alive {
			p.Ended = nil
		}
		if set.Lock != nil {
			p.Lock, p.Absent = *set.Lock, time.Time{}
		}
		if set.Absent != nil {
			p.Absent = now.Add(*set.Absent)
		}
	})
}

func (d backdoor) Count(ctx context.Context, rows storetest.Rows) (int, error) {
	n, err := d.Sizes(ctx)
	return map[storetest.Rows]int{
		storetest.Tasks: n.Tasks, storetest.Items: n.Items, storetest.Ledgers: n.Ledgers, storetest.Attempts: n.Attempts,
		storetest.Results: n.Results, storetest.FetchedResults: n.Fetched, storetest.Events: n.Events,
	}[rows], err
}

func (d backdoor) CreateLedger(context.Context) error {
	d.Accept(storetest.InsertItem)
	return nil
}

func (d backdoor) Ledger(context.Context) (int, error) { return len(d.Rows()), nil }

func (d backdoor) Interrupt(ctx context.Context, tx store.Tx) error {
	ctx, cancel := context.WithTimeout(ctx, time.Nanosecond)
	defer cancel()
	<-ctx.Done()
	_, err := tx.ExecContext(ctx, storetest.InsertItem, "interrupted")
	return err
}
