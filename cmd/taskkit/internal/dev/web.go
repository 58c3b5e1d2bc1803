package dev

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/cmd/taskkit/internal/metrics"
	"taskkit.dev/executors/earlyalert"
	"taskkit.dev/executors/exportcaseload"
	"taskkit.dev/executors/programstatus"
	"taskkit.dev/executors/sendemail"
	"taskkit.dev/executors/targets"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen/earlyalerttask"
	"taskkit.dev/gen/exportcaseloadtask"
	"taskkit.dev/gen/programstatustask"
	"taskkit.dev/gen/sendemailtask"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhealth"
	"taskkit.dev/taskkit/taskhttp"
)

// The paths of the actions.
const (
	pathStatus = "/people/program-status"
	pathWatch  = "/people/watch"
	pathAlert  = "/people/early-alert"
	pathExport = "/people/export"
	pathMail   = "/people/mail"
)

// personHeader names who makes a request; coach does if it is left out.
const personHeader = "Person"

// web serves the actions over HTTP, and makes one call of its own.
type web struct {
	url    string
	server *http.Server
	ended  chan error
	client *taskhttp.Client
	calls  sync.WaitGroup
	// cancel ends the call.
	cancel context.CancelFunc
	export chan exported
	// unread ends the reading of the figures of queues.
	unread func()
}

// exported is what the call has returned.
type exported struct {
	last taskhttp.Job // as the call last saw it
	name string       // of the file
	size int64
	hash []byte // SHA-256 of what was sent
	err  error
}

// serve serves the actions on an address of this machine. The web must be closed.
func (r *run) serve(ctx context.Context) (*web, error) {
	jobs, err := taskhttp.New(r.workspace.db, taskhttp.Config{
		Caller: whoCalls, Authorize: mayDo, Schema: r.workspace.schema, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, err
	}
	taskhttp.Start(jobs, "POST "+pathStatus, programstatustask.Kind, asOthers(r, func(s *programstatus.Spec) targets.Targets { return s.Targets }))
	taskhttp.Start(jobs, "POST "+pathWatch, watchtask.Kind, asOthers(r, func(s *watch.Spec) targets.Targets { return s.Targets }))
	taskhttp.Start(jobs, "POST "+pathAlert, earlyalerttask.Kind, asOthers(r, func(s *earlyalert.Spec) targets.Targets { return s.Targets }))
	taskhttp.Start(jobs, "POST "+pathExport, exportcaseloadtask.Kind, asOthers(r, func(s *exportcaseload.Spec) targets.Targets { return s.Targets }))
	taskhttp.Start(jobs, "POST "+pathMail, sendemailtask.Kind, asOthers(r, func(s *sendemail.Spec) targets.Targets { return s.Targets }))
	taskhttp.FileResults(jobs, exportcaseloadtask.Kind, openExport)

	dashboard, err := r.dashboard()
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle(pathDashboard, dashboard)
	mux.Handle("/", jobs)
	all, telemetry, unread, err := metrics.Serve(context.WithoutCancel(ctx), r.workspace.db, r.workspace.schema, slog.New(slog.DiscardHandler), mux)
	if err != nil {
		return nil, err
	}
	r.telemetry = telemetry
	address := cmp.Or(r.Listen, "127.0.0.1:0")
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		unread()
		return nil, fmt.Errorf("serve the actions on %s: %w", address, err)
	}
	url := "http://" + l.Addr().String()
	w := &web{
		url: url, server: &http.Server{Handler: taskhealth.Beside(all, r.workspace.db, taskhealth.Options{Schema: r.workspace.schema}), ReadHeaderTimeout: patience}, ended: make(chan error, 1),
		client: &taskhttp.Client{URL: url, HTTP: &http.Client{Transport: &http.Transport{}}},
		cancel: func() {}, export: make(chan exported, 1), unread: unread,
	}
	w.server.RegisterOnShutdown(jobs.Drain)
	go func() { w.ended <- w.server.Serve(l) }()
	return w, nil
}

// close ends the call and the server.
func (w *web) close() error {
	w.cancel()
	w.calls.Wait()
	w.client.HTTP.CloseIdleConnections()
	w.unread()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	err := w.server.Shutdown(ctx)
	if ended := <-w.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// whoCalls takes everybody for the coach, or for whom a header names: only programs of
// this machine reach the server.
func whoCalls(r *http.Request) (taskhttp.Caller, error) {
	switch text := r.Header.Get(personHeader); text {
	case "", coach.String():
		return taskhttp.Caller{Owner: coach}, nil
	case supervisor.String():
		return taskhttp.Caller{Owner: supervisor}, nil
	default:
		return taskhttp.Caller{}, fmt.Errorf("%s is nobody of the demonstration", text)
	}
}

// errNotYours is the refusal of mayDo.
var errNotYours = errors.New("the job belongs to somebody else")

// mayDo lets the coach start jobs and do everything with them but approve, which is for
// the supervisor. The supervisor sees them too.
func mayDo(_ context.Context, who taskhttp.Caller, op taskhttp.Operation, t *taskkit.Task) error {
	var may bool
	switch {
	case t != nil && t.Owner != coach:
	case who.Owner == coach:
		may = op != taskhttp.OpApprove
	default:
		may = op == taskhttp.OpApprove || op == taskhttp.OpWatch || op == taskhttp.OpList
	}
	if !may {
		return errNotYours
	}
	return nil
}

// asOthers gives tasks that are started over HTTP what the others of the run have.
func asOthers[Spec any](r *run, of func(*Spec) targets.Targets) taskhttp.StartOption[Spec] {
	return taskhttp.Before(func(_ context.Context, _ *sql.Tx, _ taskhttp.Caller, spec *Spec) ([]taskkit.SubmitOption, error) {
		opts := []taskkit.SubmitOption{taskkit.WithQueue(r.workspace.queue), taskkit.WithReason("taskkit dev"), taskkit.WithObserver(r.telemetry)}
		opts = append(opts, r.Webhook.notified()...)
		if q := of(spec).Query; q != nil && *q == *everyone().Query {
			opts = append(opts, taskkit.WithTotal(len(r.people.all)))
		}
		return opts, nil
	})
}

// startExport starts the export by a call that goes on until it has its result, and
// returns the id of the task.
func (r *run) startExport(ctx context.Context) (taskkit.ID, error) {
	// An interrupt must not hide the id of a task that was started.
	calling, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r.web.cancel = cancel
	started := make(chan taskkit.ID, 1)
	r.web.calls.Go(func() {
		var e exported
		sum := sha256.New()
		spec := exportcaseload.Spec{Targets: everyone(), Format: exportcaseload.CSV}
		_, e.name, e.size, e.err = r.web.client.AwaitFile(calling, pathExport, spec, sum, func(j *taskhttp.Job) {
			if e.last.ID == uuid.Nil {
				started <- j.ID
			}
			e.last = *j
		})
		e.hash = sum.Sum(nil)
		r.web.export <- e
	})
	timer := time.NewTimer(stuckAfter)
	defer timer.Stop()
	select {
	case id := <-started:
		context.AfterFunc(ctx, cancel)
		return id, nil
	case e := <-r.web.export:
		return taskkit.ID{}, e.err
	case <-timer.C:
		return taskkit.ID{}, fmt.Errorf("%s does not answer", r.web.url)
	}
}

// awaitExport returns what the call of startExport returns. The task has ended.
func (r *run) awaitExport(ctx context.Context) error {
	timer := time.NewTimer(stuckAfter)
	defer timer.Stop()
	select {
	case r.exported = <-r.web.export:
		if r.exported.err == nil {
			r.view.message("the export was started, awaited and downloaded over HTTP, by one call of Client.AwaitFile")
		}
		return ctx.Err()
	case <-ctx.Done():
		return context.Canceled
	case <-timer.C:
		return fmt.Errorf("%s does not answer though the export has ended", r.web.url)
	}
}

// openExport opens the file of an export. All who may fetch it may have it.
func openExport(_ context.Context, _ taskhttp.Caller, result exportcaseload.Result) (*taskhttp.ResultFile, error) {
	f, err := os.Open(result.Where)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &taskhttp.ResultFile{Name: result.Where, Modified: info.ModTime(), Content: f}, nil
}

// checkExport compares the file that was downloaded over HTTP with the task's file.
func (r *run) checkExport(ctx context.Context, c *checks) error {
	for _, a := range r.actions {
		if !a.overHTTP {
			continue
		}
		stored, err := exportcaseloadtask.Fetch(ctx, r.client, a.id)
		if err != nil && !errors.Is(err, taskkit.ErrNoResult) {
			return err
		}
		content, err := os.ReadFile(stored.Where)
		if err != nil && stored.Where != "" {
			return fmt.Errorf("read the exported file: %w", err)
		}
		e, hash := r.exported, sha256.Sum256(content)
		ok := e.err == nil && e.last.ID == a.id && e.last.Status == taskhttp.Succeeded && a.task.Owner == coach &&
			e.name == filepath.Base(stored.Where) && e.size == stored.Bytes && bytes.Equal(e.hash, hash[:]) && stored.Rows == len(r.people.all)
		c.that(ok, "over HTTP: one call started the export, awaited its end and downloaded its file, which the task has%s",
			unless(ok, "%v, job %v in %s, file %q of %d bytes; the task has %+v", e.err, e.last.ID, e.last.Status, e.name, e.size, stored))
	}
	return nil
}

// curl is a command line that starts a job.
func (w *web) curl() string {
	return "curl -s " + w.url + pathWatch + ` -H 'Content-Type: application/json' -d '{"targets":{"query":{"everyone":true}},"action":"unwatch"}'`
}
