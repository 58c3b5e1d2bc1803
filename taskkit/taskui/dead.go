package taskui

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskops"
)

const (
	groupsOfPage = 100
	// deadOfPage is how many dead letters are read for the groups, twice with the number of those that are a day old.
	deadOfPage = 5000
	// retriedAtOnce is how many dead letters are retried within a request, where no worker makes bulk requests.
	retriedAtOnce = 500
	retryDead     = "dead/retry"
	retryTimeout  = time.Minute
)

// deadView is the data of the page of dead letters.
type deadView struct {
	Groups    []deadGroupView
	Truncated bool // some numbers are lower bounds
	Next      string
}

type deadGroupView struct {
	taskops.DeadGroup

	Number        string
	Path, Example string // of the list, and of one of them
	Form          *operatorForm
}

// deadActions are the actions of the page.
func deadActions() []action {
	return []action{{path: retryDead, op: taskhttp.OpRetryDead, do: retryGroup}}
}

// deadLetters reads the page of dead letters, grouped by kind and code.
func deadLetters(r *request) (any, error) {
	after, err := r.after()
	if err != nil {
		return nil, err
	}
	dead, err := r.deadGroups(r.Context())
	if err != nil {
		return nil, err
	}
	v, may := &deadView{Truncated: len(dead.Truncated) > 0}, r.mayOperate(r.Context(), taskhttp.OpRetryDead)
	cursor := func(g taskops.DeadGroup) string { return g.Kind + "\n" + g.Code }
	groups := slices.Clone(dead.Groups)
	slices.SortFunc(groups, func(a, b taskops.DeadGroup) int { return strings.Compare(cursor(a), cursor(b)) })
	groups = slices.DeleteFunc(groups, func(g taskops.DeadGroup) bool { return cursor(g) <= after })
	if len(groups) > groupsOfPage {
		groups = groups[:groupsOfPage]
		v.Next = nextPath("dead", cursor(groups[groupsOfPage-1]))
	}
	for _, g := range groups {
		search := mustParse(mustParse(searchFor("status", "failed")).With("kind", g.Kind)).With("code", g.Code)
		group := deadGroupView{
			DeadGroup: g, Number: atLeast(g.Tasks, !slices.Contains(dead.Truncated, g.Kind)), Path: listPath(search), Example: taskPath(g.Example),
		}
		if may {
			form := newForm(retryDead, "Retry the group", "Each continues from its last checkpoint with new attempts. Retry them once the cause is mended.", hidden("kind", g.Kind), hidden("code", g.Code))
			group.Form = &form
		}
		v.Groups = append(v.Groups, group)
	}
	return v, nil
}

// deadGroups returns the dead letters by kind and code, as of a few seconds ago, and as of now after a change.
func (r *request) deadGroups(ctx context.Context) (*taskops.DeadGroups, error) {
	if r.URL.Query().Has("said") {
		return r.d.ops.Dead(ctx, taskops.DeadFilter{Most: deadOfPage})
	}
	dead, err := r.dead(ctx)
	return dead.all, err
}

// retryGroup retries the dead letters of a kind with a code: by a bulk operation, which is a task with a progress of its own, or at once where no live worker
// makes these.
func retryGroup(r *request, reason string) (to, saying string, err error) {
	kind, err := r.named("kind")
	if err != nil {
		return "", "", err
	}
	code, err := r.named("code")
	if err != nil {
		return "", "", err
	}
	r.long(retryTimeout)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), retryTimeout)
	defer cancel()
	queue, served, err := taskbulk.Queue(ctx, r.d.client)
	if err != nil {
		return "", "", err
	}
	if served {
		id, err := r.submitOnce(ctx, taskbulk.Request{
			Verb: taskbulk.Retry, Filter: taskkit.Filter{Kinds: []string{kind}, Code: code, Statuses: []taskkit.Status{taskkit.StatusError, taskkit.StatusFailure}}, Actor: r.who.ID, Reason: reason,
		}, queue)
		if err != nil {
			return "", "", err
		}
		return taskPath(id), "dead-retrying", nil
	}
	f := taskops.DeadFilter{Kinds: []string{kind}, Code: code}
	found, err := r.d.ops.Dead(ctx, f)
	if err != nil {
		return "", "", err
	}
	var n int64
	for _, g := range found.Groups {
		n += g.Tasks
	}
	switch {
	case n == 0:
		return "", "", errNoneDead
	case n > retriedAtOnce:
		return "", "", &problem{
			status: http.StatusConflict, title: "No worker makes bulk requests", detail: fmt.Sprintf("The group has %s tasks, and more than %d are retried by a task.", count(n), retriedAtOnce),
			remedy: "Add to the registry of a worker what makes them, or use the command taskkit dead retry:", code: "taskbulk.Register(registry)",
		}
	}
	report, err := r.d.ops.RetryDead(ctx, f, r.audit(reason)...)
	if err != nil {
		return "", "", err
	}
	if report.Done == 0 && len(report.Refusals) > 0 {
		return "", "", &problem{status: http.StatusConflict, title: "None of these tasks can be retried", detail: trimName(report.Refusals[0].Problem), remedy: "Open one of them: its page says what is possible."}
	}
	return "dead", "dead-retried", nil
}

// errNoneDead refuses the retry of a group that has no tasks.
var errNoneDead = &problem{status: http.StatusConflict, title: "The group has no tasks any more", detail: "They were retried or deleted since the page was opened.", remedy: "Reload the page."}
