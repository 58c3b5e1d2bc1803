package tasknotify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/taskkind"
)

// Kind is the kind of the tasks that deliver notifications. The spec is the notification.
var Kind = taskkit.NewKind(taskkind.Definition[notice.Notice, State, struct{}]{Name: notice.Kind, BatchSize: 1})

// State is how far a notification is. A webhook has none.
type State struct {
	// Stage is where the notification is on its way through a [Mail]: "send" or "held".
	Stage string `json:"stage,omitempty"`
}

// Target is where notifications go: a [Webhook], a [Mail], or one of the application's own.
type Target interface {
	// Deliver delivers a notification. A permanent error (taskkit.Permanent) makes the task that delivers it a dead letter, another
	// one is tried again, and taskkit.RetryAfter says when. Deliver may be called again after it has delivered.
	Deliver(ctx context.Context, m *Message) error
}

// Message is a notification as it is delivered.
type Message struct {
	notice.Notice
	// ID is the same at each try, and of no other notification.
	ID string
	// Link is the page of the task, see [Config.Link]; "" if there is none.
	Link string
}

// Config says which targets a worker delivers to.
type Config struct {
	// DB is the database of the worker. It is needed.
	DB taskkit.ExecQuerier
	// Schema is the schema of taskkit's tables on PostgreSQL. Defaults to taskkit.DefaultSchema. SQLite ignores it.
	Schema string
	// Targets are the targets by the names that subscriptions have, see [notice.ValidTarget]. A notification to another target
	// is a dead letter, which can be retried when the target is known.
	Targets map[string]Target
	// PassOn leaves notifications to other targets to other workers of their queues: such a notification waits, and is claimed again after 30
	// seconds, later after up to 15 minutes. Without a worker that has its target it waits for ever. Defaults to false: it is a dead letter.
	PassOn bool
	// Link returns the page of the task of a notification. Defaults to none.
	Link func(n notice.Notice) string
}

// Register registers the kind of notifications with its executor. It returns *[taskkit.OptionError] values, joined, for what is
// wrong with the configuration, such as a secret that is too short.
func Register(r *taskkit.Registry, c Config) error {
	x, err := newExecutor(c)
	if err != nil {
		return err
	}
	taskkit.Register(r, Kind, x)
	return nil
}

// deliverer is a target of this package.
type deliverer interface {
	// check returns what is wrong with the target, when it is registered.
	check() error
	// deliver delivers as Deliver does, and says how the task goes on.
	deliver(ctx context.Context, d *delivery, m *Message) (taskkit.Next, error)
}

func newExecutor(c Config) (*executor, error) {
	var errs []error
	refuse := func(option, problem string) {
		errs = append(errs, &taskkit.OptionError{Option: "tasknotify." + option, Problem: problem})
	}
	if c.DB == nil {
		refuse("Config.DB", "nil: give it the database of the worker")
	}
	if len(c.Targets) == 0 {
		refuse("Config.Targets", "empty: name at least one target")
	}
	names := make([]string, 0, len(c.Targets))
	for name := range c.Targets {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		switch target := c.Targets[name].(type) {
		case nil:
			refuse("Config.Targets", fmt.Sprintf("target %s is nil", name))
		case deliverer:
			if err := target.check(); err != nil {
				refuse("Config.Targets", fmt.Sprintf("target %s: %v", name, err))
			}
		}
		if !notice.ValidTarget(name) {
			refuse("Config.Targets", fmt.Sprintf("%.70q is not the name of a target: use at most 63 lower case letters, digits, underscores and hyphens", name))
		}
	}
	t, err := newTable(c.DB, c.Schema)
	if err != nil {
		refuse("Config.Schema", err.Error())
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &executor{config: c, table: t}, nil
}

// executor delivers one notification.
type executor struct {
	config Config
	table  *table
}

type batch = taskkit.Batch[notice.Notice, State]

// delivery is what a target of this package has beside its message: the database, the batch, and how a notification is read that
// waits for a digest.
type delivery struct {
	*table
	b    *batch
	link func(n notice.Notice) string
}

// errUnsubscribed ends a delivery to a target that wants no notifications any more.
var errUnsubscribed = errors.New("the target has unsubscribed")

// How long a notification to another target waits, see [Config.PassOn]: a quarter of its age, within these bounds.
const (
	minPassOn = 30 * time.Second
	maxPassOn = 15 * time.Minute
)

// Execute implements [taskkit.Executor]. It delivers before its first statement on b.Tx, so that on SQLite no other task waits for a
// receiver.
func (x *executor) Execute(ctx context.Context, b *batch) (taskkit.Next, error) {
	b.Total(1)
	target, ok := x.config.Targets[b.Spec.Target]
	if !ok && x.config.PassOn {
		now := time.Now()
		wait := min(max(now.Sub(b.Spec.At)/4, minPassOn), maxPassOn)
		return taskkit.LaterAt(now.Add(wait), "for a worker with the target "+b.Spec.Target), nil
	}
	if !ok {
		return taskkit.Done, taskkit.Permanent("unknown_target", fmt.Errorf("there is no target %s in tasknotify.Config.Targets, only %s: add it and retry the task",
			b.Spec.Target, strings.Join(x.names(), ", ")))
	}
	d := &delivery{x.table, b, x.link}
	m := &Message{Notice: b.Spec, ID: "msg_" + b.Task.String(), Link: d.link(b.Spec)}
	var (
		next = taskkit.Done
		err  error
	)
	if own, ok := target.(deliverer); ok {
		next, err = own.deliver(ctx, d, m)
	} else {
		err = target.Deliver(ctx, m)
	}
	switch {
	case errors.Is(err, errUnsubscribed):
		b.Skip(b.Spec.Target, "unsubscribed")
	case err != nil:
		return taskkit.Done, err
	case next == taskkit.Done:
		b.Advance(1)
	}
	return next, nil
}

// link is [Config.Link], or no link.
func (x *executor) link(n notice.Notice) string {
	if x.config.Link == nil {
		return ""
	}
	return x.config.Link(n)
}

// names are the names of the targets, in their order.
func (x *executor) names() []string {
	var names []string
	for name := range x.config.Targets {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
