// Package dev is the demonstration. It fills a database with people, starts a
// mail server and workers as processes of their own, runs five bulk actions
// for everybody, two of them in buckets, kills workers in the middle, and shows from a ledger
// that nobody was processed twice or missed. The sixth action reconciles the statuses with a
// registrar's file, in stages; see reconcile.go. Then it makes one more change with care: it previews
// it, has a second person approve it after the first items, and retries those that
// failed. See change.go. The early alerts are previewed too, before they are raised in buckets, and
// what failed in the buckets is retried as one task. See alerts.go.
//
// The parent process plays the application: it submits tasks and follows them
// through a [taskkit.Client], and runs none. It serves the actions over HTTP too, and
// starts and awaits one of them so. See web.go. A child is an ordinary worker with
// one addition: it can be asked to pause after a batch has done its work and
// before it commits, so that the parent kills it at the worst possible moment
// instead of a random one. See hold.go.
package dev

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"taskkit.dev/cmd/taskkit/internal/database"
	"taskkit.dev/cmd/taskkit/internal/mailserver"
	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskotel"
)

// MaxKills bounds Options.Kills: a task whose workers die repeatedly without a
// checkpoint is treated as the cause and ends in FAILURE.
const MaxKills = 5

// Options configure a demonstration.
type Options struct {
	// Out receives the progress and the report.
	Out screen.Screen
	// At is the database. Only tables of the demonstration are created in it. The
	// zero Address is an SQLite file in a new temporary directory.
	At database.Address
	// Schema is the schema of taskkit's tables on PostgreSQL. Defaults to a new one.
	Schema string
	// People is how many people to generate from Seed.
	People int
	Seed   uint64
	// File is a CSV file of people to use instead.
	File string
	// Workers is the number of worker processes. Defaults to 2 on SQLite, which
	// has one writer at a time, and to 3 on PostgreSQL.
	Workers int
	// Kills is how many of them are killed during the first five actions; at most MaxKills.
	// If it is not 0 one more is killed during the sixth.
	Kills int
	// Listen is the address on which the actions are served over HTTP. It must be one of
	// this machine. Defaults to a free port of 127.0.0.1.
	Listen string
	// Exit ends the demonstration after the report. Otherwise the workers keep
	// running until the context ends.
	Exit bool
	// Keep keeps the database, files and logs that would be removed at the end.
	Keep bool
	// Webhook is notified of the ends of the tasks; nil: none is.
	Webhook *Webhook
}

// ErrChecks means that a check of the report failed.
var ErrChecks = errors.New("a check of the demonstration failed: see above")

// run is a demonstration under way.
type run struct {
	Options
	workspace *workspace
	people    *people
	mail      *mailserver.Server
	client    *taskkit.Client
	workers   *workerSet
	web       *web
	telemetry *taskotel.Telemetry // of this process

	began    time.Time
	actions  []*action
	exported exported
	sheet    *sheet
	alerts   *alerts
	change   *change
	kills    []kill
	killed   chan killRequest // by the dashboard
	reported atomic.Bool      // from then on workers may be killed by the dashboard
	killsNow int              // how many may be killed up to now
	view     view
}

func newRun(o Options) *run {
	return &run{Options: o, began: time.Now(), killed: make(chan killRequest)}
}

// Run runs the demonstration. Everything that it started has ended when it
// returns.
func Run(ctx context.Context, o Options) (err error) {
	r := newRun(o)
	if r.workspace, err = prepare(ctx, o); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.workspace.remove(o, err)) }()
	r.client = taskkit.NewClient(r.workspace.db, taskkit.WithSchema(r.workspace.schema))
	if o.Webhook != nil {
		if err := o.Webhook.Check(r.workspace.db); err != nil {
			return err
		}
	}
	if r.people, err = r.populate(ctx); err != nil {
		return err
	}
	if r.web, err = r.serve(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.web.close()) }()
	fmt.Fprintf(o.Out, "dashboard  %s%s\n", r.web.url, pathDashboard)
	fmt.Fprintf(o.Out, "database   %s\n", r.workspace)
	r.mail, err = mailserver.Start(mailserver.Config{Refuse: refused})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.mail.Close()) }()
	fmt.Fprintf(o.Out, "http       curl -s %s/jobs\n", r.web.url)
	r.workers = newWorkers(r.workspace, r.mail.Addr(), o.Workers, len(r.people.all))
	r.workers.webhook = o.Webhook
	defer func() { err = errors.Join(err, r.workers.end()) }()
	hold := holdNothing
	if o.Kills > 0 {
		hold = holdBuckets
	}
	for range o.Workers {
		if _, err := r.workers.add(hold); err != nil {
			return err
		}
	}
	fmt.Fprintf(o.Out, "workers    %d processes; %d of them will be killed with SIGKILL in the middle of a batch\n", o.Workers, r.allKills())
	if err := r.work(ctx); err != nil {
		if ctx.Err() != nil {
			return r.abandon()
		}
		return err
	}
	if err := r.report(ctx); err != nil {
		return err
	}
	if err := r.schedule(ctx); err != nil {
		return err
	}
	if o.Exit {
		return nil
	}
	r.printCommands()
	r.reported.Store(true)
	return r.workers.stay(ctx, r.killed)
}

// work submits all tasks and waits until they have ended: first a preview of the early alerts, then five actions at once,
// then the reconciliation, the change that is previewed and approved, and the retry of the early alerts.
func (r *run) work(ctx context.Context) error {
	r.view = &lines{run: r}
	if err := r.previewAlerts(ctx); err != nil {
		return fmt.Errorf("preview the early alerts: %w", err)
	}
	if err := r.submit(ctx); err != nil {
		return err
	}
	if err := r.follow(ctx); err != nil {
		return err
	}
	if err := r.awaitExport(ctx); err != nil {
		return err
	}
	if err := r.reconcile(ctx); err != nil {
		return fmt.Errorf("reconcile: %w", err)
	}
	if err := r.makeChange(ctx); err != nil {
		return err
	}
	if err := r.retryAlerts(ctx); err != nil {
		return fmt.Errorf("retry the early alerts that failed: %w", err)
	}
	return nil
}

// submitted returns the tasks of the demonstration.
func (r *run) submitted() []*action {
	return slices.Concat(r.actions, r.sheet.steps(), r.change.steps(), r.alerts.steps())
}

// since returns the time since the start, as the progress shows it.
func (r *run) since() string { return fmt.Sprintf("%6.1fs", time.Since(r.began).Seconds()) }
