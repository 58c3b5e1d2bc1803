package manyitems_test

import (
	"database/sql"
	"math/rand/v2"
	"testing"
	"time"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/taskkit"
)

// ledgerHealth makes a tenth of the people ill, ten of a hundred together, and one of a
// hundred away.
const ledgerHealth = "CASE WHEN id % 100 = 99 THEN 'away' WHEN id / 10 % 10 = 3 THEN 'ill' ELSE 'well' END"

// healed are the people who are ill and are well before the retry: half of them.
const healed = "health = 'ill' AND id / 100 % 2 = 0"

// A task over a frozen set is run by worker processes of which ten are killed, stopped in
// the middle, and continued; what failed is retried after half of it was healed. Each
// item has one outcome, was processed once by the task and its continuation, and once
// more by the retry if it had failed. The ledger and the table of the domain agree.
func TestManyItems(t *testing.T) {
	t.Parallel()
	onEach(t, "items", func(t *testing.T, open opener, n int64, full bool) figures {
		e := newEnv(t, open, n, ledgerHealth)
		for range 2 {
			e.launch()
		}
		f := make(figures)

		first := e.submit(n, peopleSpec{PauseEvery: n / 20, Ledger: true})
		e.declare(first.ID, 1, n+1)
		f.call("submit", first)
		most := 10
		if _, long := prove.Budget(t); !long {
			most = 4
			if !full {
				most = 1 // the smaller size is there for the memory
			}
		}
		kills, asked, dice := 0, false, rand.New(rand.NewPCG(12, uint64(n)))
		// A worker is killed while its batch has written and is open, and another soon
		// after that: while it commits, or in the next batch.
		kill := func(m pausePoint) {
			if kills++; kills%2 == 0 {
				m.w.letOn()
				<-time.After(time.Duration(dice.Int64N(int64(10 * time.Millisecond))))
			}
			e.kill(m.w)
		}
		stopped, took := e.ended(first.ID, func(m pausePoint) {
			switch {
			case m.at <= 6 && kills < most:
				kill(m)
			case m.at >= 8 && !asked:
				asked = true
				if _, err := e.client.Stop(t.Context(), first.ID); err != nil {
					t.Fatal(err)
				}
				m.w.letOn()
			default:
				m.w.letOn()
			}
		})
		f.time("run until it was stopped", took)
		processed := stopped.Progress.Done + stopped.Progress.Failed + stopped.Progress.Skipped
		if stopped.Status != taskkit.StatusCompleted || stopped.Progress.Total != n || processed == 0 || processed >= n {
			t.Fatalf("stopped in %s (%s) with %+v, want it in the middle of %d", stopped.Status, stopped.StatusDetail, stopped.Progress, n)
		}

		rest := e.follow("continue", first.ID)
		e.declare(rest.ID, processed+1, n+1)
		f.call("continue", rest)
		continued, took := e.ended(rest.ID, func(m pausePoint) {
			if m.at >= 10 && kills < most {
				kill(m)
			} else {
				m.w.letOn()
			}
		})
		f.time("run the rest", took)
		if continued.Status != taskkit.StatusCompleted || continued.Progress.Total != n-processed {
			t.Errorf("the continuation of %d items ended in %s (%s) with %+v", n-processed, continued.Status, continued.StatusDetail, continued.Progress)
		}

		e.exec("UPDATE person SET health = 'well' WHERE " + healed)
		var retries []taskkit.ID
		for _, of := range []struct {
			id          taskkit.ID
			after, upTo int64 // its people
		}{{first.ID, 0, processed}, {rest.ID, processed, n}} {
			retry := e.follow("retry", of.id)
			f.call("retry", retry)
			e.exec(`INSERT INTO oracle_set (task, first, past) SELECT CAST($1 AS text), id, id + 1 FROM person
WHERE id / 10 % 10 = 3 AND id > $2 AND id <= $3`, retry.ID.String(), of.after, of.upTo)
			retries = append(retries, retry.ID)
			task, took := e.ended(retry.ID, nil)
			f.time("run the retries", took)
			if task.Status != taskkit.StatusCompleted {
				t.Errorf("a retry ended in %s (%s)", task.Status, task.StatusDetail)
			}
		}
		f["peak of a worker, MB"] = e.peaks()
		if kills != most {
			t.Errorf("%d workers were killed, want %d", kills, most)
		}
		f["kills"] = float64(kills)
		e.checkOutcomes(f, n, processed, first.ID, rest.ID, retries)
		return f
	})
}

// declare tells the oracle the set of a task.
func (e *env) declare(id taskkit.ID, first, past int64) {
	e.Helper()
	if err := e.o.Declare(e.Context(), e.db, id.String(), oracle.Range{First: first, Past: past}); err != nil {
		e.Fatal(err)
	}
}

// checkOutcomes compares the outcomes of all items with the table of the domain and with
// the ledger.
func (e *env) checkOutcomes(f figures, n, processed int64, first, rest taskkit.ID, retries []taskkit.ID) {
	e.Helper()
	const (
		succeeded = taskkit.OutcomeSucceeded
		failed    = taskkit.OutcomeFailed
		skipped   = taskkit.OutcomeSkipped
	)
	outcomes, wrong := make([]taskkit.Outcome, n+1), 0
	complain := func(format string, args ...any) {
		if wrong++; wrong <= 20 {
			e.Errorf(format, args...)
		}
	}
	counts := make(map[string]int64)
	for _, task := range []taskkit.ID{first, rest} {
		e.each(task, func(person int64, o taskkit.Outcome) {
			if person < 1 || person > n || outcomes[person] != "" || (task == first) != (person <= processed) {
				complain("person %d is %s in task %s; %d were processed by the first of %d", person, o, task, processed, n)
				return
			}
			outcomes[person] = o
			counts[string(o)]++
		}, succeeded, failed, skipped)
	}
	left := processed
	e.each(first, func(person int64, _ taskkit.Outcome) {
		if left++; person != left {
			complain("the unprocessed item is person %d, want %d", person, left)
		}
	}, taskkit.OutcomeUnprocessed)
	if left != n {
		complain("the unprocessed items end with person %d, want %d", left, n)
	}
	e.each(rest, func(person int64, _ taskkit.Outcome) {
		complain("person %d is unprocessed in the continuation", person)
	}, taskkit.OutcomeUnprocessed)
	again := make(map[int64]taskkit.Outcome)
	for _, task := range retries {
		e.each(task, func(person int64, o taskkit.Outcome) {
			if _, twice := again[person]; twice || o == taskkit.OutcomeUnprocessed || o == skipped || outcomes[person] != failed {
				complain("person %d, who had %s, is %s in the retry, once more: %t", person, outcomes[person], o, twice)
			}
			again[person] = o
			counts[string(o)+" in the retry"]++
		}, succeeded, failed, skipped, taskkit.OutcomeUnprocessed)
	}

	person := int64(0)
	e.rows(func(rows *sql.Rows) error {
		var (
			id, touches, changed int64
			health               string
		)
		if err := rows.Scan(&id, &health, &changed, &touches); err != nil {
			return err
		}
		person++
		want, wantAgain, wantTouches, wantChanged := succeeded, taskkit.Outcome(""), int64(1), int64(1)
		switch {
		case id%100 == 99:
			want, wantChanged = skipped, 0
		case id/10%10 == 3:
			if want, wantTouches, wantAgain = failed, 2, succeeded; health == ill {
				wantAgain, wantChanged = failed, 0
			}
		}
		if id != person || outcomes[id] != want || again[id] != wantAgain || touches != wantTouches || changed != wantChanged {
			complain("person %d (%s): %q, in the retry %q, %d touches, changed %d times; want %q, %q, %d, %d",
				id, health, outcomes[id], again[id], touches, changed, want, wantAgain, wantTouches, wantChanged)
		}
		return nil
	}, `SELECT p.id, p.health, p.changed, coalesce(t.n, 0) FROM person p
LEFT JOIN (SELECT entity, count(*) AS n FROM oracle_touch GROUP BY entity) t ON t.entity = p.id ORDER BY p.id`)
	if person != n {
		complain("%d people, want %d", person, n)
	}

	r, err := e.o.Check(e.Context(), e.db.DB, oracle.Options{Ended: true, MaxAttempts: maxAttempts, BatchTimeout: e.args.batchTimeout(), Slack: time.Minute})
	if err != nil {
		e.Fatal(err)
	}
	for _, v := range r.Violations {
		e.Error(v)
	}
	f["takeovers"] = float64(r.Counts.Reclaims)
	f["checkpoints"] = float64(r.Counts.Checkpoints)
	f["violations"] = float64(len(r.Violations) + r.Unlisted + wrong)
	for what, n := range counts {
		f[what] = float64(n)
	}
}
