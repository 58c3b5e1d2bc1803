package chaos_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"taskkit.dev/internal/proof/oracle"
	"taskkit.dev/taskkit"
)

// lotSize is how many items a lot has: more than a hundred of them fail.
const lotSize = 330

// lotTask is a task over a lot.
type lotTask struct {
	spec    lot
	limits  []string // its stop policy, and those with which it is resumed
	preview bool
	parent  taskkit.ID // that it retries the failed items of; zero: none
}

// operator submits lots, and resumes those that their stop policy has paused with a higher
// one.
type operator struct {
	*scenario
	running sync.WaitGroup

	submitting sync.Mutex
	draining   bool // it submits no more; guarded by submitting

	guard  sync.Mutex
	tasks  map[taskkit.ID]*lotTask
	paused map[string]int // by the first limit that was reached
}

// items: workers are killed while lots are processed, of which items fail, are skipped and
// deferred, in previews too. At the end the failed items of each are retried.
func items(s *scenario) func() {
	s.args.Items = true
	o := &operator{scenario: s, tasks: make(map[taskkit.ID]*lotTask), paused: make(map[string]int)}
	round := kills(s)
	ctx, end := context.WithCancel(s.Context())
	s.Cleanup(func() { end(); o.running.Wait() })
	o.running.Go(func() { o.work(ctx) })
	s.beforeEnd = func() {
		o.drain()
		o.retry()
		// Nobody waits for progress: the retries may have ended.
		s.signal(s.replaceWorker(), syscall.SIGKILL)
		s.faults["killed while failed items are retried"]++
	}
	s.afterAll = o.verify
	return round
}

// work submits and resumes until ctx ends.
func (o *operator) work(ctx context.Context) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := o.resume(ctx)
		if err == nil {
			n, err = o.more(ctx, n)
		}
		if err != nil && ctx.Err() == nil {
			o.Errorf("the operator: %v", err)
			return
		}
	}
}

// more submits a lot if there are few, and returns how many it has submitted.
func (o *operator) more(ctx context.Context, n int) (int, error) {
	o.submitting.Lock()
	defer o.submitting.Unlock()
	if left, err := o.leftLots(); err != nil || left >= 6 || o.draining {
		return n, nil
	}
	return n + 1, o.submit(ctx, n)
}

// leftLots is how many lots have not ended.
func (o *operator) leftLots() (int, error) {
	return o.count("SELECT count(*) FROM taskkit_queued_task WHERE execution_component_name = 'lots' AND workflow_stopped_date IS NULL")
}

// submit submits the next lot. Its policy is raised until no more can fail.
func (o *operator) submit(ctx context.Context, n int) error {
	o.mu.Lock()
	t := &lotTask{spec: lot{First: o.next, Delay: 5}, preview: n%3 == 2}
	o.next += lotSize
	o.mu.Unlock()
	t.limits = [][]string{{"100", "110", "1000000"}, {"5%", "30%", "1000000"}}[n%2]
	opts := []taskkit.SubmitOption{
		taskkit.WithSchema(o.args.Schema), taskkit.System(), taskkit.WithStopAfter(t.limits[0]), taskkit.WithTargets(func(yield func(int64) bool) {
			for at := t.spec.First; at < t.spec.First+lotSize && yield(at); {
				at++
			}
		}),
	}
	if t.preview {
		opts = append(opts, taskkit.WithPreview())
	}
	return o.inTx(ctx, func(tx *sql.Tx) error {
		id, err := taskkit.Submit(ctx, tx, lots, t.spec, opts...)
		if err != nil {
			return err
		}
		o.add(id, t)
		return o.o.Declare(ctx, tx, id.String(), oracle.Range{First: t.spec.First, Past: t.spec.First + lotSize})
	})
}

func (o *operator) add(id taskkit.ID, t *lotTask) {
	o.guard.Lock()
	defer o.guard.Unlock()
	o.tasks[id] = t
}

// inTx runs f in a transaction.
func (o *operator) inTx(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := o.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// resume resumes all tasks that a stop policy has paused, with the next limit that is not
// reached.
func (o *operator) resume(ctx context.Context) error {
	ids, err := o.ids(ctx, "SELECT id FROM taskkit_queued_task WHERE control = 'PAUSE' AND workflow_status = 'QUEUED'")
	if err != nil {
		return err
	}
	for _, id := range ids {
		o.guard.Lock()
		t := o.tasks[id]
		o.paused[t.limits[0]]++
		o.guard.Unlock()
		if _, err := o.client.Resume(ctx, id); !isState(err) {
			return fmt.Errorf("task %s has reached %s and was resumed without a higher limit: %w", id, t.limits[0], err)
		}
		for {
			t.limits = t.limits[1:]
			_, err := o.client.Resume(ctx, id, taskkit.WithStopAfter(t.limits[0]))
			if err == nil {
				break
			}
			if !isState(err) {
				return err
			}
		}
	}
	return nil
}

func isState(err error) bool {
	_, is := errors.AsType[*taskkit.StateError](err)
	return is
}

// ids are those that a query returns.
func (s *scenario) ids(ctx context.Context, query string, args ...any) (ids []taskkit.ID, err error) {
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		id, err := taskkit.ParseID(text)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// drain waits until all lots have ended.
func (o *operator) drain() {
	o.Helper()
	o.submitting.Lock()
	o.draining = true
	o.submitting.Unlock()
	o.until("all lots have ended", func() bool {
		n, err := o.leftLots()
		return err == nil && n == 0
	})
}

// retry retries the failed items of each lot. What these are is read from their rows.
func (o *operator) retry() {
	o.Helper()
	o.guard.Lock()
	ended := maps.Clone(o.tasks)
	o.guard.Unlock()
	for id, t := range ended {
		if t.preview {
			continue
		}
		err := o.inTx(o.Context(), func(tx *sql.Tx) error {
			client := taskkit.NewClient(tx, taskkit.WithSchema(o.args.Schema))
			retry, err := client.RetryFailed(o.Context(), id, taskkit.WithStopAfter("5%"))
			if err != nil {
				return err
			}
			o.add(retry, &lotTask{spec: t.spec, limits: []string{"5%", "50%", "1000000"}, parent: id})
			failed, err := outcomes(o.Context(), tx, id, "failed")
			for _, item := range failed {
				if err == nil {
					err = o.o.Declare(o.Context(), tx, retry.String(), oracle.Range{First: item, Past: item + 1})
				}
			}
			return err
		})
		if err != nil {
			o.Fatalf("retry the failed items of %s: %v", id, err)
		}
		if _, err := o.client.RetryFailed(o.Context(), id); !isDuplicate(err) {
			o.Errorf("the failed items of %s are retried twice: %v", id, err)
		}
	}
}

func isDuplicate(err error) bool {
	_, is := errors.AsType[*taskkit.DuplicateError](err)
	return is
}

// outcomes are the items of a task with an outcome, ascending, as they are stored.
func outcomes(ctx context.Context, db taskkit.ExecQuerier, id taskkit.ID, outcome string) (items []int64, err error) {
	rows, err := db.QueryContext(ctx, "SELECT item FROM taskkit_task_item WHERE task_id = $1 AND outcome = $2", id.String(), outcome)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key string
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		item, err := strconv.ParseInt(key, 10, 64)
		if err != nil {
			return nil, err
		}
		items = append(items, item)
	}
	slices.Sort(items)
	return items, rows.Err()
}

// verify checks what the oracle does not know: which items have which outcome, that a retry
// is over the failed ones, and the reports of previews.
func (o *operator) verify(r *oracle.Report) {
	o.Helper()
	o.guard.Lock()
	defer o.guard.Unlock()
	previews, retries := 0, 0
	for id, t := range o.tasks {
		set := make([]int64, lotSize)
		for i := range set {
			set[i] = t.spec.First + int64(i)
		}
		if t.parent != (taskkit.ID{}) {
			retries++
			set = o.outcomes(t.parent, "failed")
		}
		task := o.task(id)
		done := int64(len(set))
		for _, outcome := range []string{"failed", "skipped", "deferred"} {
			var want []int64
			for _, item := range set {
				if t.spec.outcome(item, t.preview) == outcome {
					want = append(want, item)
				}
			}
			done -= int64(len(want))
			if got := o.outcomes(id, outcome); !slices.Equal(got, want) {
				o.Errorf("task %s: %s are %v, want %v", id, outcome, got, want)
			}
		}
		if task.Status != taskkit.StatusCompleted || task.Progress.Done != done || task.Progress.Total != int64(len(set)) {
			o.Errorf("task %s is %s with %+v, want %d of %d done", id, task.Status, task.Progress, done, len(set))
		}
		if t.preview {
			previews++
			o.verifyPreview(id, t, done)
		}
	}
	for _, limit := range []string{"100", "5%"} {
		if o.paused[limit] == 0 {
			o.Errorf("no task was paused by the limit %s", limit)
		}
	}
	if previews == 0 || retries == 0 || int(r.Counts.Previews) != previews || r.Counts.Limits == 0 {
		o.Errorf("%d previews, %d retries, and the oracle saw %+v", previews, retries, r.Counts)
	}
	o.Logf("%d lots, of which %d previews and %d retries; paused by limit %v, %d times in all", len(o.tasks), previews, retries, o.paused, r.Counts.Limits)
}

func (o *operator) outcomes(id taskkit.ID, outcome string) []int64 {
	o.Helper()
	items, err := outcomes(o.Context(), o.db, id, outcome)
	if err != nil {
		o.Fatal(err)
	}
	return items
}

// verifyPreview checks the report of a preview: the rows that it would have written, and
// the items of which it says that they would be done.
func (o *operator) verifyPreview(id taskkit.ID, t *lotTask, done int64) {
	o.Helper()
	report, err := o.client.Preview(o.Context(), id)
	if err != nil {
		o.Fatal(err)
	}
	want := int64(0)
	for item := t.spec.First; item < t.spec.First+lotSize; item++ {
		if t.spec.deferred(item) == 0 {
			want++
		}
	}
	touched := slices.IndexFunc(report.Changes, func(c taskkit.TableChange) bool { return c.Verb == "insert" && c.Rows == want })
	if touched < 0 || len(report.Notes) != 1 || report.Notes[0].Items != done {
		o.Errorf("the preview %s reports %+v and %+v, want %d rows and %d items", id, report.Changes, report.Notes, want, done)
	}
}
