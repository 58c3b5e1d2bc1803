package dev

import (
	"errors"
	"net/netip"
	"strings"

	"taskkit.dev/cmd/taskkit/internal/command"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasknotify"
)

// Webhook is the webhook that notifications go to. A worker process gets it as JSON with its settings.
type Webhook struct {
	Target, URL string
	Secrets     []string
	Allow       []netip.Prefix
	Body        string // one of [Bodies]
}

// Bodies are the formats of a body. Nil stands for the JSON of a tasknotify.Payload.
var Bodies = map[string]func(m *tasknotify.Message) (body []byte, contentType string, err error){
	"json": nil, "slack": tasknotify.SlackBody, "teams": tasknotify.TeamsBody,
}

// inFlags replaces the fields of a tasknotify.Webhook by the flags of the command.
var inFlags = strings.NewReplacer("use https, or http with PlainHTTP", "use https, or http with --webhook-allow", "Webhook.Secrets has 0 secrets", SecretEnv+" has no secret",
	"Webhook.Secrets", SecretEnv, "Webhook.Allow", "--webhook-allow", "Webhook.URL", "--webhook")

// SecretEnv has the secrets of the webhook. They are no flag, which other users of the machine could read.
const SecretEnv = "TASKKIT_WEBHOOK_SECRET"

// Register registers the kind of notifications with the webhook as their only target. What is wrong with the flags is an error of usage.
func (w *Webhook) Register(r *taskkit.Registry, db taskkit.ExecQuerier, schema string) error {
	err := tasknotify.Register(r, tasknotify.Config{DB: db, Schema: schema, PassOn: true, Targets: map[string]tasknotify.Target{
		w.Target: &tasknotify.Webhook{URL: w.URL, Secrets: w.Secrets, Allow: w.Allow, Body: Bodies[w.Body], PlainHTTP: len(w.Allow) > 0 && strings.HasPrefix(w.URL, "http:")},
	}})
	if wrong, ok := errors.AsType[*taskkit.OptionError](err); ok {
		return command.Usage("%s", inFlags.Replace(strings.TrimPrefix(wrong.Problem, "target "+w.Target+": ")))
	}
	return err
}

// Check returns what is wrong with the webhook.
func (w *Webhook) Check(db taskkit.ExecQuerier) error {
	return w.Register(new(taskkit.Registry), db, "")
}

// notified are the options of a task of which a webhook is notified; nil: none is.
func (w *Webhook) notified() []taskkit.SubmitOption {
	if w == nil {
		return nil
	}
	return []taskkit.SubmitOption{taskkit.WithNotifications(w.Target)}
}
