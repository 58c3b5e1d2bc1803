package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"taskkit.dev/internal/engine"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// previewing writes an item in each of ten batches.
type previewing struct{ writer }

func (x *previewing) Execute(ctx context.Context, s *session.Step, raw json.RawMessage) (session.Next, json.RawMessage, error) {
	var n int
	if err := json.Unmarshal(raw, &n); err != nil {
		n = 0 // the first state is {}
	}
	s.Advance(1)
	s.Note("item", "seen")
	if _, err := s.Tx.ExecContext(ctx, insertItem, n); err != nil {
		return session.Next{}, nil, err
	}
	out, err := json.Marshal(n + 1)
	return session.Next{Done: n == 9}, out, err
}

// uncertain is a store whose every second Apply of a checkpoint has no answer: it took
// effect, or not, by turns.
type uncertain struct {
	*memstore.Store
	calls int
}

var errNoAnswer = &store.UnknownError{Err: errors.New("no answer")}

func (d *uncertain) Apply(ctx context.Context, process string, writes []*store.Write) ([]store.Applied, error) {
	if !writes[0].Checkpoint {
		return d.Store.Apply(ctx, process, writes)
	}
	d.calls++
	switch d.calls % 4 {
	case 1:
		return nil, errNoAnswer
	case 3:
		if _, err := d.Store.Apply(ctx, process, writes); err != nil {
			return nil, err
		}
		return nil, errNoAnswer
	}
	return d.Store.Apply(ctx, process, writes)
}

// A preview whose checkpoints have no answer counts each batch once and keeps nothing.
func TestPreviewWithoutAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &uncertain{Store: memstore.New()}
		s.Accept(insertItem)
		id := submit(t, s.Store, func(n *store.NewTask) { n.Options.Preview = true })
		kinds := demo(&previewing{})
		kinds["demo"].Preview = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := engine.New(s, kinds, config(t)).Run(ctx); err != nil {
			t.Error(err)
		}
		task, err := s.Task(t.Context(), id)
		if err != nil || task.Status != lifecycle.Completed || task.Progress.Done != 10 {
			t.Errorf("ended in %s %q with %+v (%v), want COMPLETED", task.Status, task.StatusDetail, task.Progress, err)
		}
		if rows := s.Rows(); len(rows) != 0 {
			t.Errorf("%d rows of the preview are committed", len(rows))
		}
		plan, err := s.Plan(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		r, err := store.DecodeReport(plan.Report)
		if err != nil || r.Batches != 10 || len(r.Changes) != 1 || r.Changes[0] != (store.Change{Table: "ledger", Verb: "insert", Rows: 10}) || len(r.Notes) != 1 || r.Notes[0].Items != 10 {
			t.Errorf("report %+v (%v), want 10 batches with a row and a note each", r, err)
		}
	})
}

// A worker whose kind cannot be previewed does not execute a preview.
func TestPreviewOfOtherCode(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := memstore.New()
		s.Accept(insertItem)
		id := submit(t, s, func(n *store.NewTask) { n.Options.Preview = true })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := engine.New(s, demo(&previewing{}), config(t)).Run(ctx); err != nil {
			t.Error(err)
		}
		task, err := s.Task(t.Context(), id)
		if err != nil || task.Status != lifecycle.Error || !strings.Contains(task.StatusDetail, "preview") || len(s.Rows()) != 0 {
			t.Errorf("ended in %s %q with %d rows (%v), want ERROR", task.Status, task.StatusDetail, len(s.Rows()), err)
		}
	})
}
