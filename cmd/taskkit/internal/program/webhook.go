package program

import (
	"context"
	"database/sql"
	"errors"
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
	"taskkit.dev/taskkit/tasknotify"
)

// secretEnv has the secrets of the webhook. They are no flag, which other users of the machine could read.
const secretEnv = "TASKKIT_WEBHOOK_SECRET"

// notificationsKept is how long notifications are kept that a worker of this command has delivered.
const notificationsKept = 30 * 24 * time.Hour

// webhookFlags are the flags of a webhook that notifications are delivered to.
type webhookFlags struct {
	url, target string
	allow       []string
}

func (w *webhookFlags) add(c *cobra.Command) {
	flags := c.Flags()
	flags.StringVar(&w.url, "webhook", "", "deliver notifications to this `URL`, signed by the secret in "+secretEnv+" (whsec_...; a second one after a comma)")
	flags.StringVar(&w.target, "webhook-target", "webhook", "`name` of the target that the webhook is")
	flags.StringSliceVar(&w.allow, "webhook-allow", nil, "`network` that is not public, and in which the receiver may be, like 10.1.0.0/16")
}

// webhook returns what the flags say; nil: no webhook.
func (w *webhookFlags) webhook() (*dev.Webhook, error) {
	if w.url == "" {
		if w.target != "webhook" || len(w.allow) > 0 {
			return nil, command.Usage("--webhook-target and --webhook-allow need --webhook")
		}
		return nil, nil //nolint:nilnil // see above
	}
	if !notice.ValidTarget(w.target) {
		return nil, command.Usage("--webhook-target accepts at most 63 lower case letters, digits, underscores and hyphens, not %q", w.target)
	}
	hook := &dev.Webhook{Target: w.target, URL: w.url}
	if text := os.Getenv(secretEnv); text != "" {
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

// deliver runs a worker that executes nothing but notifications, until ctx ends. It removes nothing that belongs to others, and ends no
// tasks of kinds that it does not know.
func (p *program) deliver(ctx context.Context, db *sql.DB, hook *dev.Webhook, queues []string) (func() error, error) {
	var r taskkit.Registry
	if err := hook.Register(&r, db, p.Schema()); err != nil {
		if _, ok := errors.AsType[*taskkit.OptionError](err); ok {
			return nil, command.Usage("--webhook: %s", strings.ReplaceAll(err.Error(), "taskkit: tasknotify.Config.Targets: target "+hook.Target+": ", ""))
		}
		return nil, err
	}
	w, err := taskkit.NewWorker(ctx, db, &r, taskkit.Config{
		Schema: p.Schema(), Queues: queues, Slots: 4, Logger: slog.New(slog.NewTextHandler(p.Err(), nil)), UnknownKindAfter: -1,
		Retention:     taskkit.Retention{Fetched: taskkit.Never, Unfetched: taskkit.Never, Ended: taskkit.Never, Idle: taskkit.Never, Events: taskkit.Never},
		KindRetention: map[string]taskkit.Retention{tasknotify.Kind.Name(): {Ended: notificationsKept}},
	})
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	fmt.Fprintf(p.Err(), "delivering the notifications of target %s\n", hook.Target)
	return func() error { return <-ended }, nil
}
