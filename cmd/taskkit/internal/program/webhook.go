package program

import (
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/command"
	"taskkit.dev/cmd/taskkit/internal/dev"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/taskevent"
	"taskkit.dev/taskkit/tasknotify"
	"taskkit.dev/taskkit/tasknotify/findings"
	"taskkit.dev/taskkit/taskops"
)

// notificationsKept is how long notifications are kept that a worker of this command has delivered.
const notificationsKept = 30 * 24 * time.Hour

// findingsKept is how long tasks are kept that have run the doctor.
const findingsKept = 24 * time.Hour

// webhookFlags are the flags of a webhook that notifications are delivered to.
type webhookFlags struct {
	url, target, body string
	allow             []string
	findings          time.Duration // only of serve
}

func (w *webhookFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&w.url, "webhook", "", "deliver notifications to this `URL`, signed by the secret in "+dev.SecretEnv+" (whsec_...; a second one after a comma)")
	flags.StringVar(&w.target, "webhook-target", "webhook", "`name` of the target that the webhook is")
	flags.StringVar(&w.body, "webhook-body", "json", "`format` of the body: json, slack or teams")
	flags.StringSliceVar(&w.allow, "webhook-allow", nil, "`network` that is not public, and in which the receiver may be, like 10.1.0.0/16")
}

// webhook returns what the flags say; nil: no webhook.
func (w *webhookFlags) webhook() (*dev.Webhook, error) {
	if w.url == "" {
		if w.target != "webhook" || w.body != "json" || len(w.allow) > 0 || w.findings != 0 {
			return nil, command.Usage("--webhook-target, --webhook-body, --webhook-allow and --findings need --webhook")
		}
		return nil, nil //nolint:nilnil // see above
	}
	if !notice.ValidTarget(w.target) {
		return nil, command.Usage("--webhook-target accepts at most 63 lower case letters, digits, underscores and hyphens, not %q", w.target)
	}
	hook := &dev.Webhook{Target: w.target, URL: w.url, Body: w.body}
	if _, ok := dev.Bodies[w.body]; !ok {
		return nil, command.Usage("--webhook-body accepts json, slack or teams, not %q", w.body)
	}
	if w.findings != 0 && w.findings < time.Minute {
		return nil, command.Usage("--findings accepts an interval of at least 1m, not %v", w.findings)
	}
	if text := os.Getenv(dev.SecretEnv); text != "" {
		hook.Secrets = strings.Split(text, ",")
	}
	for _, text := range w.allow {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, command.Usage("--webhook-allow accepts a network like 10.1.0.0/16, not %q", text)
		}
		hook.Allow = append(hook.Allow, p.Masked())
	}
	return hook, nil
}

// deliver runs a worker that executes nothing but notifications, and the doctor at an interval if that is not 0, until ctx ends. It removes nothing that belongs to others, and ends no
// tasks of unknown kinds.
func (p *program) deliver(ctx context.Context, db *sql.DB, hook *dev.Webhook, queues []string, every time.Duration, o taskevent.Observer) (func() error, error) {
	var r taskkit.Registry
	if err := hook.Register(&r, db, p.Schema()); err != nil {
		return nil, err
	}
	if every != 0 {
		if err := findings.Register(&r, findings.Config{DB: db, Doctor: taskdoctor.Options{Schema: p.Schema()}}); err != nil {
			return nil, err
		}
	}
	w, err := taskkit.NewWorker(ctx, db, &r, taskkit.Config{
		Schema: p.Schema(), Queues: queues, Slots: 4, Logger: slog.New(slog.NewTextHandler(p.Err(), nil)), UnknownKindAfter: -1, Observer: o,
		Retention:     taskkit.Retention{Fetched: taskkit.Never, Unfetched: taskkit.Never, Ended: taskkit.Never, Idle: taskkit.Never, Events: taskkit.Never},
		KindRetention: map[string]taskkit.Retention{tasknotify.Kind.Name(): {Ended: notificationsKept}},
	})
	if err != nil {
		return nil, err
	}
	if every != 0 { // the worker has checked the tables
		queue := append(queues, "default")[0]
		err := taskops.SetSchedule(ctx, db, findings.Kind, "taskkit_findings_"+hook.Target, findings.Spec{Targets: []string{hook.Target}, Queue: queue},
			taskops.Schedule{Cron: "@every " + every.String()}, taskkit.WithSchema(p.Schema()), taskkit.WithQueue(queue), taskkit.WithRetention(findingsKept))
		if err != nil {
			return nil, err
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	fmt.Fprintf(p.Err(), "delivering the notifications of target %s\n", hook.Target)
	return func() error { return <-ended }, nil
}
