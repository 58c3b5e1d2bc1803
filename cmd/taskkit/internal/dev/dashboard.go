package dev

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"taskkit.dev/executors/earlyalert"
	"taskkit.dev/executors/exportcaseload"
	"taskkit.dev/executors/programstatus"
	"taskkit.dev/executors/reconcile"
	"taskkit.dev/executors/sendemail"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskui"
)

// pathDashboard is where the dashboard is.
const pathDashboard = "/tasks/"

// dashboard returns the dashboard of the demonstration. Its tasks run on the workers of the run.
func (r *run) dashboard() (http.Handler, error) {
	var registry taskkit.Registry
	gen.Executors{ // none of which is called: the workers are other processes
		ExportCaseload: &exportcaseload.Executor{}, ProgramStatus: &programstatus.Executor{}, Watch: &watch.Executor{}, SendEmail: &sendemail.Executor{},
		ReconcileCaseload: &reconcile.Executor{}, ReconcileLoad: &reconcile.Loader{}, ReconcileCompare: &reconcile.Comparer{}, ReconcileApply: &reconcile.Applier{},
		EarlyAlert: &earlyalert.Executor{},
	}.Register(&registry)
	return taskui.New(r.client, &registry, taskui.Config{
		Access: whoWatches, Logger: slog.New(slog.DiscardHandler),
		EndWorker: r.killWorker,
		Start: func(context.Context, taskui.Person, string) ([]taskkit.SubmitOption, error) {
			return append([]taskkit.SubmitOption{taskkit.WithQueue(r.workspace.queue)}, r.Webhook.notified()...), nil
		},
	})
}

// errBusy refuses to kill a worker while the run kills them itself, and counts them.
var errBusy = errors.New("the demonstration kills workers by itself until it has printed its report: start a task of your own then, and kill its worker")

// killWorker kills the process of a worker with SIGKILL, by its id. Another process takes its place.
func (r *run) killWorker(ctx context.Context, worker string) error {
	if !r.reported.Load() {
		return errBusy
	}
	k := killRequest{worker: worker, done: make(chan error, 1)}
	select {
	case r.killed <- k:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-k.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// whoWatches takes a browser of this machine for the supervisor, who sees and operates all tasks.
func whoWatches(r *http.Request) (taskui.Person, error) {
	p, err := taskui.ThisMachine(r)
	p.ID, p.Name = supervisor, "the supervisor of the demonstration"
	return p, err
}
