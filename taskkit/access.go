package taskkit

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"taskkit.dev/internal/access"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// init lends packages taskops, taskdoctor, taskui and intake what this package does not export: they import this package, so this one cannot call them.
func init() { //nolint:gochecknoinits // a variable of package access must be set before any function of them is called
	access.ClientOf = func(client any) access.Client {
		c, _ := client.(*Client)
		return lent{c}
	}
	access.RequestOf = func(options any, what string) (store.Request, error) {
		opts, _ := options.([]RequestOption)
		return onlyAudit(opts, what)
	}
	access.FilterOf = func(filter any) (store.Filter, error) {
		f, _ := filter.(Filter)
		return f.store()
	}
	access.SubmissionOf = func(options any) (access.Submission, error) {
		sub := optionsSet(options)
		return sub.scheduled(), errors.Join(sub.checkSchedule(), sub.check())
	}
	access.ReferenceOf = func(options any) string { return optionsSet(options).Reference }
	access.TaskOf = func(kind, spec, options any) (access.Task, error) {
		k, _ := kind.(schedulable)
		opts, _ := options.([]SubmitOption)
		return k.scheduledTask(spec, opts)
	}
	access.ConfigOf = func(d dialect.Name, config any) (int, error) {
		c, _ := config.(*Config)
		e := c.engine()
		return e.Slots, c.checkFor(d, e)
	}
	access.Mask = func(pointers string, spec json.RawMessage) json.RawMessage {
		var hidden secrets
		if pointers != "" {
			hidden = parseSecrets(strings.Split(pointers, "\n"))
		}
		return hidden.below("spec").mask(spec)
	}
}

// lent is a client as package taskops has it.
type lent struct{ c *Client }

func (l lent) Store(ctx context.Context) (store.Client, error) { return l.c.tables(ctx) }

func (l lent) Request(ctx context.Context, id ID, r store.Request) error {
	_, err := l.c.send(ctx, id, r)
	return err
}

func (l lent) DB() (*sql.DB, string) {
	db, _ := l.c.db.(*sql.DB)
	return db, l.c.schema
}

func (l lent) Public(ctx context.Context, err error) error { return l.c.public(ctx, err) }

// onlyAudit returns the request that options describe, which have its actor and its reason
// only.
func onlyAudit(opts []RequestOption, what string) (store.Request, error) {
	var r requestOptions
	for _, o := range opts {
		o.applyRequest(&r)
	}
	r.Action = lifecycle.ActPause // which takes no limit
	if err := r.check(); err != nil {
		return store.Request{}, err
	}
	if r.Skip {
		return store.Request{}, &OptionError{"WithSkip", what + " as a whole: leave it out"}
	}
	return r.Request, nil
}

// schedulable is a [Kind] of any types.
type schedulable interface {
	scheduledTask(spec any, opts []SubmitOption) (access.Task, error)
}

// scheduledTask returns the task that a schedule submits.
func (k *Kind[Spec, State, Result]) scheduledTask(spec any, opts []SubmitOption) (t access.Task, err error) {
	if err := k.acceptsTasks(); err != nil {
		return t, err
	}
	forgetSubmitted(opts)
	typed, _ := spec.(Spec)
	sub := k.options(append([]SubmitOption{System()}, opts...))
	sub.NewTask.RunAs = cmp.Or(sub.NewTask.RunAs, sub.Owner)
	if err := errors.Join(sub.checkSchedule(), sub.check(), k.checkOptions(sub, []Spec{typed})); err != nil {
		return t, err
	}
	var task store.NewTask
	if err := k.newTask(sub, &typed, &task); err != nil {
		return t, err
	}
	t = access.Task{Submission: sub.scheduled(), Kind: k.def.Name, Spec: task.Spec, Revision: k.def.Revision, Secrets: k.hidden()}
	t.Queue = cmp.Or(t.Queue, k.def.Queue)
	return t, nil
}

// optionsSet returns what a []SubmitOption sets.
func optionsSet(options any) *submission {
	opts, _ := options.([]SubmitOption)
	s := &submission{NewTask: store.NewTask{Total: -1, Options: new(store.Options)}}
	for _, o := range opts {
		o.applySubmit(s)
	}
	return s
}

// scheduled returns what a schedule has of the options of a submission.
func (s *submission) scheduled() access.Submission {
	return access.Submission{
		Owner: s.Owner, RunAs: s.NewTask.RunAs, Actor: s.Actor, Queue: s.Queue, IdempotencyKey: s.NewTask.IdempotencyKey, Priority: s.NewTask.Priority, Schema: s.schema,
		Options: store.ScheduleOptions{UniqueKey: s.UniqueKey, Limits: s.Options.Limits, Times: lifecycle.Times{Window: s.Options.Window, TimeLimit: s.Options.TimeLimit}, Keep: s.Options.Keep},
	}
}
