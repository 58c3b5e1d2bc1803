package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"taskkit.dev/bench/executors/listed"
	"taskkit.dev/bench/gen/listedtask"
	"taskkit.dev/taskkit"
)

// realRun is the side that a preview is compared with.
const realRun = "taskkit, the real run"

// preview is scenario 10: a preview against the run of the same task. A preview may take
// 1.1 times as long, and must not change a row of the domain.
func preview(h *host, o options) ([]contest, error) {
	n := o.scaled(400_000, 10*batchSize)
	var cs []contest
	add := func(database string, open opener, makeThem func(context.Context, *kit, int) error) {
		of := func(opts ...taskkit.SubmitOption) func(context.Context) (sample, error) {
			return previewed(h, open, makeThem, n, opts)
		}
		cs = append(cs, contest{
			title:   fmt.Sprintf("preview of an update of %s people in batches of %d, %s", figure(float64(n)), batchSize, database),
			metrics: []metric{{name: itemsPerSecond}, {name: cpuPerItem, less: true}, {name: serverPerItem, less: true}},
			sides:   []side{{us, of(taskkit.WithPreview())}, {realRun, of()}},
			goals:   []goal{{realRun, itemsPerSecond, 1 / 1.1}},
		})
	}
	if o.postgres {
		add("PostgreSQL", openTaskkit, makePeoplePostgres)
	}
	if o.sqlite {
		add("SQLite", openTaskkitSQLite, makePeopleSQLite)
		cs[len(cs)-1].metrics = cs[len(cs)-1].metrics[:2]
	}
	return cs, nil
}

// makePeoplePostgres makes the table and its people.
func makePeoplePostgres(ctx context.Context, k *kit, n int) error {
	for _, statement := range append(strings.Split(fmt.Sprintf(makePeople, n), ";"), "VACUUM people") {
		if _, err := k.db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("make the people: %w", err)
		}
	}
	return k.quiesce(ctx)
}

// previewed measures a task over a frozen set of all people, and checks its changes.
func previewed(h *host, open opener, makeThem func(context.Context, *kit, int) error, n int, opts []taskkit.SubmitOption) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return with(ctx, h, open, setup{}, func(p peer) (sample, error) {
			k, ok := p.(*kit)
			if !ok {
				return nil, fmt.Errorf("opened %T", p)
			}
			if err := makeThem(ctx, k, n); err != nil {
				return nil, err
			}
			before, err := hashOfPeople(ctx, k)
			if err != nil {
				return nil, err
			}
			cpu, err := h.used(ctx)
			if err != nil {
				return nil, err
			}
			all := make([]int64, n)
			for i := range all {
				all[i] = int64(i) + 1
			}
			began := time.Now()
			id, err := listedtask.Submit(ctx, k.db, listed.Spec{Status: "paused"},
				append(slices.Clone(opts), taskkit.System(), taskkit.WithTargets(slices.Values(all)))...)
			if err == nil {
				err = finish(ctx, k, 1)
			}
			if err != nil {
				return nil, err
			}
			took := time.Since(began)
			got := sample{itemsPerSecond: float64(n) / took.Seconds()}
			if err := h.since(ctx, cpu, n, got, cpuPerItem, serverPerItem); err != nil {
				return nil, err
			}
			return got, checkChanged(ctx, k, id, n, before, len(opts) > 0)
		})
	}
}

// checkChanged returns an error unless a task has changed all people, or a preview has
// changed none and reported all.
func checkChanged(ctx context.Context, k *kit, id taskkit.ID, n int, before string, preview bool) error {
	changed := int64(0)
	err := k.db.QueryRowContext(ctx, "SELECT count(*) FROM people WHERE status = 'paused'").Scan(&changed)
	if err != nil {
		return err
	}
	if !preview {
		if changed != int64(n) {
			return fmt.Errorf("%d of %d people were changed: the figure is of no use", changed, n)
		}
		return nil
	}
	after, err := hashOfPeople(ctx, k)
	if err != nil {
		return err
	}
	report, err := taskkit.NewClient(k.db).Preview(ctx, id)
	if err != nil {
		return err
	}
	if want := []taskkit.TableChange{{Table: "people", Verb: "update", Rows: int64(n)}}; after != before || !slices.Equal(report.Changes, want) {
		return fmt.Errorf("a preview of %d changes reports %+v, and the hash of the table was %s and is %s", n, report.Changes, before, after)
	}
	return nil
}

// hashOfPeople returns a hash of all rows of the table.
func hashOfPeople(ctx context.Context, k *kit) (string, error) {
	rows, err := k.db.QueryContext(ctx, "SELECT id, name, status FROM people ORDER BY id")
	if err != nil {
		return "", err
	}
	defer rows.Close()
	hash := sha256.New()
	for rows.Next() {
		var (
			id           int64
			name, status string
		)
		if err := rows.Scan(&id, &name, &status); err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%d,%q,%q\n", id, name, status)
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), rows.Err()
}
