package dev

import (
	"context"
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
		Start: func(context.Context, taskui.Person, string) ([]taskkit.SubmitOption, error) {
			return append([]taskkit.SubmitOption{taskkit.WithQueue(r.workspace.queue)}, r.Webhook.notified()...), nil
		},
	})
}

// whoWatches takes a browser of this machine for the supervisor, who sees and operates all tasks.
func whoWatches(r *http.Request) (taskui.Person, error) {
	p, err := taskui.ThisMachine(r)
	p.ID, p.Name = supervisor, "the supervisor of the demonstration"
	return p, err
}
