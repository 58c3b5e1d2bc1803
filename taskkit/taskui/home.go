package taskui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/tasksearch"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskops"
)

// homeView is the data of the page Home.
type homeView struct {
	Figures    []figure
	Needs      []need
	Unread     bool        // the doctor did not answer in time
	Throughput *throughput // nil: not known
	Running    []row
	More       bool // more tasks run
	Newest     []row
	Say        string
}

// figure is a number that leads to its tasks.
type figure struct {
	Value, Text, Path string
	Alarm             bool
}

// need is what needs a person.
type need struct {
	Severity taskdoctor.Severity
	Text     string
	Path     string // below the dashboard; "": the text is no link
	Fix      string
	Command  string
}

const (
	runningOfHome  = 20
	newestOfHome   = 10
	measuredOfHome = 10
	needsOfHome    = 20
	doctorPatience = 3 * time.Second
)

// home reads the page Home.
func home(r *request) (any, error) {
	ctx := r.Context()
	v := &homeView{}
	running, next, err := r.tasks(ctx, taskkit.Filter{Running: true, Limit: runningOfHome})
	if err != nil {
		return nil, err
	}
	v.More = next != uuid.Nil
	if v.Running, err = r.rows(ctx, running, new(tasksearch.Query)); err != nil {
		return nil, err
	}
	newest, _, err := r.tasks(ctx, taskkit.Filter{Limit: newestOfHome})
	if err != nil {
		return nil, err
	}
	if v.Newest, err = r.rows(ctx, newest, new(tasksearch.Query)); err != nil {
		return nil, err
	}
	if err := r.awaiting(ctx, v); err != nil {
		return nil, err
	}
	if r.mayOperate(ctx, taskhttp.OpReadDead) {
		if err := r.failures(ctx, v); err != nil {
			return nil, err
		}
	}
	if r.mayOperate(ctx, taskhttp.OpReadQueues) {
		if err := r.queues(ctx, v); err != nil {
			return nil, err
		}
		r.throughput(ctx, v)
	}
	if r.mayOperate(ctx, taskhttp.OpReadDoctor) {
		r.findings(ctx, v)
	}
	if len(v.Needs) > needsOfHome {
		v.Needs = v.Needs[:needsOfHome]
	}
	for _, f := range v.Figures {
		v.Say += f.Value + " " + f.Text + ", "
	}
	v.Say += fmt.Sprintf("%d need you", len(v.Needs))
	return v, nil
}

// queues adds the figures of the queues.
func (r *request) queues(ctx context.Context, v *homeView) error {
	all, err := r.d.queues.read(ctx, r.d.ops.Queues)
	if err != nil {
		return err
	}
	var running, waiting int64
	var oldest time.Duration
	more := false
	for i := range all {
		q := &all[i]
		running, waiting, more, oldest = running+q.Running, waiting+q.Waiting, more || q.MoreWaiting, max(oldest, q.OldestWait)
	}
	wait := "none"
	if oldest > 0 {
		wait = roughly(oldest)
	}
	speed, err := r.d.speed.read(ctx, r.readSpeed)
	if err != nil {
		return err
	}
	v.Figures = append([]figure{
		{Value: count(running), Text: "running", Path: listPath("is:running")},
		{Value: atLeast(waiting, !more), Text: "waiting", Path: listPath("status:queued")},
		{Value: wait, Text: "oldest wait of a due task", Path: listPath("status:queued")},
		{Value: speed, Text: "items done", Path: listPath("is:running")},
	}, v.Figures...)
	return nil
}

// readSpeed reads how many items the running tasks process in the last minute, of the newest of them.
func (r *request) readSpeed(ctx context.Context) (string, error) {
	running, next, err := r.d.client.Tasks(ctx, taskkit.Filter{Running: true, Limit: measuredOfHome})
	if err != nil {
		return "", err
	}
	sum, more := 0.0, ""
	if next != uuid.Nil {
		more = "+"
	}
	for _, t := range running {
		p, err := r.d.client.Progress(ctx, t.ID)
		if errors.Is(err, taskkit.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		sum += p.Rate
	}
	return rate(sum) + more, nil
}

// failures adds the failed tasks.
func (r *request) failures(ctx context.Context, v *homeView) error {
	dead, err := r.dead(ctx)
	if err != nil {
		return err
	}
	failed := dead.recent()
	v.Figures = append(v.Figures, figure{atLeast(failed, len(dead.all.Truncated) == 0), "failed in 24 h", listPath("status:failed"), failed > 0})
	for _, g := range dead.all.Groups {
		if time.Since(g.Newest) > 24*time.Hour {
			continue
		}
		text := mustParse(mustParse(searchFor("status", "failed")).With("kind", g.Kind)).With("code", g.Code)
		form := "%s tasks of %s have failed with %s"
		if g.Tasks == 1 {
			form = "%s task of %s has failed with %s"
		}
		number := atLeast(g.Tasks, !slices.Contains(dead.all.Truncated, g.Kind))
		v.Needs = append(v.Needs, need{taskdoctor.Error, clean(fmt.Sprintf(form, number, g.Kind, g.Code)), listPath(text), "", ""})
	}
	return nil
}

// awaiting adds the tasks that the person can approve, of the newest that wait for approval.
func (r *request) awaiting(ctx context.Context, v *homeView) error {
	found, _, err := r.awaitApproval(ctx, uuid.Nil)
	if err != nil {
		return err
	}
	mine, _, err := r.byApprover(ctx, found)
	if err != nil {
		return err
	}
	for _, t := range mine {
		v.Needs = append(v.Needs, need{taskdoctor.Warning, clean(t.Kind + " waits for approval" + because(t.Reason)), t.Path, "", ""})
	}
	return nil
}

// findings adds what the doctor finds, as of half a minute ago. A slow one does not keep the page.
func (r *request) findings(ctx context.Context, v *homeView) {
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	report, err := r.d.doctor.read(ctx, func(ctx context.Context) (*taskdoctor.Report, error) {
		return taskdoctor.Run(ctx, r.d.db, r.d.config.Doctor)
	})
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			r.d.config.Logger.WarnContext(ctx, "the doctor's findings are not known", "error", err)
		}
		v.Unread = true
		return
	}
	for _, f := range report.Findings {
		if f.Severity != taskdoctor.Info {
			v.Needs = append(v.Needs, need{f.Severity, clean(f.Text), "", clean(f.Fix), clean(f.Command)})
		}
	}
}

// deadTasks are the groups of the failed tasks, of all and of those that failed more than a day ago.
type deadTasks struct{ all, old *taskops.DeadGroups }

// dead reads the failed tasks by kind and code, as of a few seconds ago.
func (r *request) dead(ctx context.Context) (deadTasks, error) {
	return r.d.dead.read(ctx, func(ctx context.Context) (d deadTasks, err error) {
		if d.all, err = r.d.ops.Dead(ctx, taskops.DeadFilter{Most: deadOfPage}); err != nil {
			return d, err
		}
		d.old, err = r.d.ops.Dead(ctx, taskops.DeadFilter{OlderThan: 24 * time.Hour, Most: deadOfPage})
		return d, err
	})
}

// recent returns how many tasks failed within a day; at least so many if a kind is truncated.
func (d deadTasks) recent() (n int64) {
	for _, g := range d.all.Groups {
		n += g.Tasks
	}
	for _, g := range d.old.Groups {
		n -= g.Tasks
	}
	return max(n, 0)
}

// atLeast returns a count, or that there are at least so many.
func atLeast(n int64, exact bool) string {
	if exact {
		return count(n)
	}
	return count(n) + "+"
}
