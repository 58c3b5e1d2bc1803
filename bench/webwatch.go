package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/bench/executors/tiny"
	"taskkit.dev/bench/gen/tinytask"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

const (
	queriesPerSecond = "queries/s"
	kBPerWatcher     = "kB in use a watcher"
	kBResident       = "kB resident a watcher"
	seenP99          = "seen, p99 ms"
	seenP50          = "seen, p50 ms"
)

// watch is scenario 14: many requests that wait for jobs in one process.
func watch(h *host, o options) ([]contest, error) {
	jobs, each := o.scaled(1000, 10), 10
	var cs []contest
	add := func(database string, open opener) {
		cs = append(cs, contest{
			title:   fmt.Sprintf("%s watchers of %s running jobs in one process, %s", figure(float64(jobs*each)), figure(float64(jobs)), database),
			metrics: []metric{{name: queriesPerSecond, less: true}, {name: kBPerWatcher, less: true}, {name: kBResident, info: true}, {name: seenP50, less: true}, {name: seenP99, less: true}},
			sides:   []side{{us, watchedBy(h, open, jobs, each)}},
			goals:   []goal{{"", queriesPerSecond, 2}, {"", kBPerWatcher, 30}, {"", seenP99, 600}},
		})
	}
	if o.postgres {
		add("PostgreSQL", openTaskkit)
	}
	if o.sqlite {
		add("SQLite", openTaskkitSQLite)
	}
	return cs, nil
}

// stopEvery is the time between two changes. Simultaneous changes would measure the speed of the machine.
const stopEvery = 10 * time.Millisecond

// watchers are requests that wait.
type watchers struct {
	web    *webProcess
	client *taskkit.Client
	jobs   []watchedJob

	mu   sync.Mutex
	seen []time.Duration // from before the change to the answer
}

// watchedJob is a job and its owner.
type watchedJob struct {
	id      taskkit.ID
	person  string
	waiting []*webClient
	// stopped is when its status was about to change; the channel is closed then.
	stopped time.Time
	changed chan struct{}
}

// watchedBy measures a number of watchers of each job: their costs while nothing changes, and the delay of a
// change.
func watchedBy(h *host, open opener, jobs, each int) func(context.Context) (sample, error) {
	return func(ctx context.Context) (sample, error) {
		return with(ctx, h, open, setup{}, func(p peer) (got sample, err error) {
			k, ok := p.(*kit)
			if !ok {
				return nil, errNotOffered
			}
			w := &watchers{client: taskkit.NewClient(k.db), jobs: make([]watchedJob, jobs)}
			if err := w.submit(ctx, k); err != nil {
				return nil, err
			}
			if w.web, err = startWeb(ctx, k); err != nil {
				return nil, err
			}
			defer func() { err = errors.Join(err, w.web.stop()) }()
			// A request first, so that what the first one makes is not counted.
			if _, err := w.read(ctx, &w.jobs[0]); err != nil {
				return nil, err
			}
			before, err := w.web.usage()
			if err != nil {
				return nil, err
			}
			defer w.close()
			if err := w.begin(ctx, each); err != nil {
				return nil, err
			}
			if err := pause(ctx, 3*time.Second); err != nil {
				return nil, err
			}
			quiet, err := w.web.usage()
			if err != nil {
				return nil, err
			}
			began := time.Now()
			if err := pause(ctx, 10*time.Second); err != nil {
				return nil, err
			}
			after, err := w.web.usage()
			if err != nil {
				return nil, err
			}
			took := time.Since(began)
			if err := w.stopAll(ctx); err != nil {
				return nil, err
			}
			slices.Sort(w.seen)
			return sample{
				queriesPerSecond: float64(after.Queries-quiet.Queries) / took.Seconds(),
				kBPerWatcher:     float64(after.InUse-before.InUse) / 1000 / float64(jobs*each),
				kBResident:       float64(quiet.RSS-before.RSS) / 1000 / float64(jobs*each), // as it was before a collection
				seenP50:          quantile(w.seen, 0.5),
				seenP99:          quantile(w.seen, 0.99),
			}, nil
		})
	}
}

// runBy assigns all tasks to a worker that never dies, without the triggers, which would refuse it.
var runBy = []string{
	`INSERT INTO {s}taskkit_task_process (id, version, dead_after_ms, kinds, queues, slots) VALUES ('bench', 'bench', 3600000, '{"tiny":[1]}', '["default"]', 1000)`,
	`UPDATE {s}taskkit_queued_task SET workflow_status = 'EXECUTING', fence = 1, checkpoint_seq = 1, scheduled_by_process = 'bench',
  execution_started_date = created_date`,
}

// submit makes the jobs, each with its own owner. An UPDATE makes them RUNNING: to execute them at once would
// take many workers, and does not affect the costs of the watchers.
func (w *watchers) submit(ctx context.Context, k *kit) error {
	for i := range w.jobs {
		person := uuid.New()
		id, err := tinytask.Submit(ctx, k.db, tiny.Spec{Stamp: 1}, taskkit.OwnedBy(person))
		if err != nil {
			return err
		}
		w.jobs[i] = watchedJob{id: id, person: person.String(), changed: make(chan struct{})}
	}
	off, on, err := k.triggers(ctx)
	if err != nil {
		return err
	}
	for _, statement := range slices.Concat(off, runBy, on) {
		if _, err := k.db.ExecContext(ctx, k.sql(statement)); err != nil {
			return fmt.Errorf("let the jobs run by %.80q: %w", statement, err)
		}
	}
	return nil
}

// read reads a job on a connection of its own.
func (w *watchers) read(ctx context.Context, of *watchedJob) (*taskhttp.Job, error) {
	c, err := dialWeb(ctx, w.web.address)
	if err != nil {
		return nil, err
	}
	defer c.close()
	status, body, err := c.do(webRequest("GET", "/jobs/"+of.id.String(), of.person, ""))
	var j taskhttp.Job
	if err == nil && status == 200 {
		err = json.Unmarshal(body, &j)
	}
	if err == nil && j.Status != taskhttp.Running {
		err = fmt.Errorf("a job is %d %s", status, body)
	}
	return &j, err
}

// begin starts the watchers.
func (w *watchers) begin(ctx context.Context, each int) error {
	for i := range w.jobs {
		job := &w.jobs[i]
		j, err := w.read(ctx, job)
		if err != nil {
			return err
		}
		req := webRequest("GET", "/jobs/"+job.id.String()+"?maximumPollingPeriod=60s&since="+j.Revision, job.person, "")
		for range each {
			c, err := dialWeb(ctx, w.web.address)
			if err != nil {
				return err
			}
			job.waiting = append(job.waiting, c)
			if err := c.send(req); err != nil {
				return err
			}
		}
	}
	return nil
}

// stopAll stops the jobs, one after another, and waits for all answers.
func (w *watchers) stopAll(ctx context.Context) error {
	var (
		wg   sync.WaitGroup
		errs = make([]error, len(w.jobs)*len(w.jobs[0].waiting))
	)
	for i := range w.jobs {
		job := &w.jobs[i]
		for n, c := range job.waiting {
			at := i*len(job.waiting) + n
			wg.Go(func() {
				status, body, err := c.receive()
				arrived := time.Now()
				if err == nil && (status != 200 || !strings.Contains(string(body), `"status":"STOPPING"`)) {
					err = fmt.Errorf("a watcher was answered with %d %.200s", status, body)
				}
				if errs[at] = err; err != nil {
					return
				}
				select {
				case <-job.changed:
				case <-ctx.Done():
					return
				}
				w.mu.Lock()
				w.seen = append(w.seen, arrived.Sub(job.stopped))
				w.mu.Unlock()
			})
		}
	}
	next := time.NewTicker(stopEvery)
	defer next.Stop()
	for i := range w.jobs {
		<-next.C
		w.jobs[i].stopped = time.Now()
		close(w.jobs[i].changed)
		if _, err := w.client.Stop(ctx, w.jobs[i].id, taskkit.WithReason("bench")); err != nil {
			w.close() // ends the others
			wg.Wait()
			return err
		}
	}
	wg.Wait()
	failed := func(err error) bool { return err != nil }
	if at := slices.IndexFunc(errs, failed); at >= 0 {
		return errs[at]
	}
	return nil
}

func (w *watchers) close() {
	for _, job := range w.jobs {
		for _, c := range job.waiting {
			c.close()
		}
	}
}
