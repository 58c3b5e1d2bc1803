package dev

import (
	"net/netip"
	"strings"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/tasknotify"
)

// Webhook is the webhook that notifications go to. A worker gets it with its settings.
type Webhook struct {
	Target, URL string
	Secrets     []string
	Allow       []netip.Prefix
	Body        func(m *tasknotify.Message) (body []byte, contentType string, err error) // nil: a Payload
}

// Register registers the kind of notifications with the webhook as their only target.
func (w *Webhook) Register(r *taskkit.Registry, db taskkit.ExecQuerier, schema string) error {
	return tasknotify.Register(r, tasknotify.Config{DB: db, Schema: schema, Targets: map[string]tasknotify.Target{
		w.Target: &tasknotify.Webhook{URL: w.URL, Secrets: w.Secrets, Allow: w.Allow, Body: w.Body, PlainHTTP: len(w.Allow) > 0 && strings.HasPrefix(w.URL, "http:")},
	}})
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
