package intake_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit/intake"
)

// noDeadLetters is a source whose broker takes no dead letters, and says so of the first at the next Receive.
type noDeadLetters struct {
	*queue

	late []intake.Delivery
}

func (s *noDeadLetters) Reject(_ context.Context, ds []intake.Delivery) error {
	s.late, ds = ds[:1], ds[1:]
	return &intake.DeadLetterError{Deliveries: ds, Err: errors.New("too large")}
}

func (s *noDeadLetters) Receive(ctx context.Context, limit int) ([]intake.Delivery, error) {
	if ds := s.late; ds != nil {
		s.late = nil
		return nil, &intake.DeadLetterError{Deliveries: ds, Err: errors.New("too late")}
	}
	return s.queue.Receive(ctx, limit)
}

// A refused message that the broker does not take as a dead letter is recorded with the reason and acknowledged, and the
// messages behind it become tasks.
func TestNoDeadLetter(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		q := newQueue(message("late", 0), message("bad", 0), message("", 0), message("good", 1))
		c := config(t, db, &noDeadLetters{queue: q})
		c.DeadLetter, c.BatchSize = true, 4
		reasons := map[string]string{}
		c.Observe = func(_ context.Context, e intake.Event) {
			if e, is := e.(intake.DeadLetterFailed); is {
				reasons[e.ID] = e.Err.Error()
			}
		}
		r := run(t, c)
		r.until("the first four", received(4))
		q.publish(message("next", 2))
		r.until("the one behind them", received(5))
		r.stop()
		if s := r.Stats(); s.Submitted != 2 || s.Refused != 3 || len(q.unacked) != 0 {
			t.Errorf("counted %+v, %d not settled", s, len(q.unacked))
		}
		refused, err := intake.Refused(t.Context(), db.DB, db.Schema, intake.RefusedFilter{Source: "registrar"}, uuid.Nil, 10)
		if err != nil || len(refused) != 3 {
			t.Fatalf("refused %+v, %v", refused, err)
		}
		for _, m := range refused {
			want := "too large"
			if m.ID == "late" {
				want = "too late"
			}
			if m.DeadLetterError != want || reasons[m.ID] != want {
				t.Errorf("the row of %s has the reason %q, its event %q, want %q", m.ID, m.DeadLetterError, reasons[m.ID], want)
			}
		}
		if len(reasons) != 3 {
			t.Error(fmt.Sprint("events ", reasons))
		}
	})
}
