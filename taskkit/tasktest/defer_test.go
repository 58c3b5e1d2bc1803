package tasktest_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasktest"
)

// deferAll tries each person, and defers some of them once or for ever. What it has
// tried is in the table of its transactions.
func deferAll(ctx context.Context, b *taskkit.Batch[spec, state]) (taskkit.Next, error) {
	people, next := taskkit.Take(b, b.Spec.People)
	for i, p := range people {
		if _, err := b.Tx.ExecContext(ctx, "INSERT INTO tried (person) VALUES ($1)", p); err != nil {
			return next, err
		}
		tries, err := triesOf(ctx, b.Tx, p)
		if err != nil {
			return next, err
		}
		if p[0] == 'F' || p[0] == 'O' && tries == 1 {
			b.Defer(people[i], taskkit.Permanent("busy", nil))
		}
	}
	b.State.Greeted += len(people)
	return next, nil
}

// triesOf returns how often a person was tried.
func triesOf(ctx context.Context, tx taskkit.ExecQuerier, person string) (n int, err error) {
	rows, err := tx.QueryContext(ctx, "SELECT count(*) FROM tried WHERE person = $1", person)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		err = errors.Join(err, rows.Scan(&n))
	}
	return n, errors.Join(err, rows.Err())
}

// Under each fault in or between rounds, each deferred item is tried once in each round, and
// no other item is.
func TestDeferUnderFaults(t *testing.T) {
	t.Parallel()
	var people []string
	for i := range 60 {
		people = append(people, map[int]string{0: "Once", 1: "Forever", 2: "Never"}[i%3]+string(rune('0'+i)))
	}
	for name, open := range tasktest.Databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tasktest.TestExecutor(t, tasktest.Case[spec, state, struct{}]{
				Kind: plainKind, Open: open, Limit: 7, Spec: spec{People: people},
				New: func(testing.TB, *sql.DB) taskkit.Executor[spec, state] { return function(deferAll) },
				Setup: func(ctx context.Context, db *sql.DB) error {
					_, err := db.ExecContext(ctx, "CREATE TABLE tried (person text NOT NULL)")
					return err
				},
				Snapshot: func(ctx context.Context, db *sql.DB) (any, error) {
					tried := map[string]int{}
					rows, err := db.QueryContext(ctx, "SELECT person, count(*) FROM tried GROUP BY person")
					if err != nil {
						return nil, err
					}
					defer rows.Close()
					for rows.Next() {
						var person string
						var n int
						if err := rows.Scan(&person, &n); err != nil {
							return nil, err
						}
						tried[person] = n
					}
					return tried, rows.Err()
				},
			})
		})
	}
}
