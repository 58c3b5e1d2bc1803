package taskui

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskcause"
	"taskkit.dev/taskkit/taskhttp"
)

// approvalsView is the data of the page Approvals.
type approvalsView struct {
	Mine   []approvalRow // that the person can approve
	Others []approvalRow // that other people must approve
	Next   string        // the path of the page with older tasks; "": there are none
}

// approvalRow is a task that waits for approval.
type approvalRow struct {
	*taskkit.Task

	Path      string
	Why       string // it waits
	Requester string
	Bar       bar
	Refused   string // why the person cannot approve it; "": it can
}

// approvals reads the page Approvals: the tasks that wait for approval and that the person sees.
func approvals(r *request) (any, error) {
	ctx := r.Context()
	before := uuid.Nil
	if text := r.URL.Query().Get("before"); text != "" {
		var err error
		if before, err = uuid.Parse(text); err != nil {
			return nil, errNoPage
		}
	}
	found, next, err := r.awaitApproval(ctx, before)
	if err != nil {
		return nil, err
	}
	v := &approvalsView{}
	if v.Mine, v.Others, err = r.byApprover(ctx, found); err != nil {
		return nil, err
	}
	if next != uuid.Nil {
		v.Next = withParameter("approvals", "before", next.String())
	}
	return v, nil
}

// byApprover divides tasks that wait for approval into tasks that the person can approve and others.
func (r *request) byApprover(ctx context.Context, found []*taskkit.Task) (mine, others []approvalRow, err error) {
	refusals, err := r.d.client.Refusals(ctx, r.actor(), found...)
	if err != nil {
		return nil, nil, err
	}
	for _, t := range found {
		no := refusals[t.ID]
		if no == nil { // it was deleted meanwhile
			continue
		}
		row := approvalRow{Task: t, Path: approvalPath(t.ID), Why: clean(t.ControlReason), Requester: r.requester(t), Bar: newBar(t.Progress)}
		if row.Refused = r.cannotApprove(ctx, t, no.Approve); row.Refused == "" {
			mine = append(mine, row)
		} else {
			others = append(others, row)
		}
	}
	return mine, others, nil
}

// awaitApproval reads a page of the tasks that wait for approval, the newest first. No others are read. next is where the next page begins, and zero at
// the end.
func (r *request) awaitApproval(ctx context.Context, before taskkit.ID) (found []*taskkit.Task, next taskkit.ID, err error) {
	return r.tasks(ctx, taskkit.Filter{Approval: true, Children: true, Before: before, Limit: rowsOfPage})
}

// requester returns who has submitted a task.
func (r *request) requester(t *taskkit.Task) string {
	if t.CreatedBy == uuid.Nil {
		return r.personName(t.Owner)
	}
	return r.personName(t.CreatedBy)
}

// cannotApprove says why the person cannot approve a task; "": it can. refused is what the library says.
func (r *request) cannotApprove(ctx context.Context, t *taskkit.Task, refused error) string {
	switch {
	case r.who.ID == uuid.Nil:
		return "It is not known who you are, and an approval is one by a person: Config.Access gives no ID."
	case !r.may(ctx, taskhttp.OpApprove, t):
		return "You may not approve it."
	default:
		return errorText(refused)
	}
}

// approvalView is the data of the page of one approval: what the person sees and decides about.
type approvalView struct {
	Task      *taskkit.Task
	Requester string
	Owner     string
	RunAs     string // "": the owner
	Bar       bar
	Spec      text
	Preview   *taskkit.PreviewReport // that the task applies, or its own; nil: none
	Of        string                 // the path of the preview; "": the task itself
	Hash      string
	Approve   *operatorForm
	Refuse    *operatorForm
	Refused   string
}

// Title implements titled.
func (v *approvalView) Title() string { return "Approve " + v.Task.Kind }

// approvalActions are the actions of the page.
func approvalActions() []action {
	return []action{
		{path: "approvals/{id}/approve", op: taskhttp.OpApprove, do: approve},
		{path: "approvals/{id}/refuse", op: taskhttp.OpStop, destroys: true, do: func(r *request, reason string) (string, string, error) {
			t, err := r.taskFor(r.Context(), taskhttp.OpStop)
			if err != nil {
				return "", "", err
			}
			if t.Cause() != taskcause.Approval {
				return "", "", errDecided
			}
			_, err = r.d.client.Stop(r.Context(), t.ID, r.audit("refused: "+reason)...)
			return "approvals", "refused", err
		}},
	}
}

// errDecided refuses a decision about a task that does not wait for one.
var errDecided = &problem{
	status: http.StatusConflict, title: "The task does not wait for approval any more", detail: "It was approved, stopped or changed since the page was opened, so nothing was done.",
	remedy: "Open its page: it says who has decided.",
}

// approve approves the task of the path, if it is as the form says that the person saw it. The hash of that is in the record.
func approve(r *request, reason string) (to, saying string, err error) {
	ctx := r.Context()
	t, err := r.taskFor(ctx, taskhttp.OpApprove)
	if err != nil {
		return "", "", err
	}
	if t.Cause() != taskcause.Approval {
		return "", "", errDecided
	}
	v, err := r.readApproval(ctx, t)
	if err != nil {
		return "", "", err
	}
	if seen, err := r.named("hash"); err != nil || seen != v.Hash {
		return "", "", errChanged
	}
	record := "approved as seen, sha256 " + v.Hash
	if reason != "" {
		record = reason + " (" + record + ")"
	}
	_, err = r.d.client.Approve(ctx, t.ID, r.audit(record)...)
	return "approvals", "approve", err
}

// approval reads the page of one approval.
func approval(r *request) (any, error) {
	ctx := r.Context()
	t, err := r.task(ctx)
	if err != nil {
		return nil, err
	}
	if t.Cause() != taskcause.Approval {
		return nil, errDecided
	}
	v, err := r.readApproval(ctx, t)
	if err != nil {
		return nil, err
	}
	refusals, err := r.d.client.Refusals(ctx, r.actor(), t)
	if err != nil {
		return nil, err
	}
	no := refusals[t.ID]
	if no == nil {
		return nil, errNoTask
	}
	path := approvalPath(t.ID)
	if v.Refused = r.cannotApprove(ctx, t, no.Approve); v.Refused == "" {
		form := newForm(path+"/approve", "Approve", "The task goes on. What you have seen is recorded with your approval, by its hash.", hidden("hash", v.Hash))
		v.Approve = &form
	}
	if no.Stop == nil && r.may(ctx, taskhttp.OpStop, t) {
		form := newForm(path+"/refuse", "Refuse", "The task ends, and what it has done stays.").destroying()
		v.Refuse = &form
	}
	return v, nil
}

// readApproval reads what a person sees of a task before an approval.
func (r *request) readApproval(ctx context.Context, t *taskkit.Task) (*approvalView, error) {
	v := &approvalView{Task: t, Requester: r.requester(t), Owner: r.personName(t.Owner), Bar: newBar(t.Progress)}
	if t.RunAs != t.Owner {
		v.RunAs = r.personName(t.RunAs)
	}
	if r.operator() {
		v.Spec = indented(t.SpecJSON)
	}
	of := t
	if t.Follows != uuid.Nil {
		previewed, err := r.d.client.Task(ctx, t.Follows)
		switch {
		case errors.Is(err, taskkit.ErrNotFound):
		case err != nil:
			return nil, err
		case previewed.Preview && r.may(ctx, taskhttp.OpWatch, previewed):
			of, v.Of = previewed, taskPath(previewed.ID)
		}
	}
	if of.Preview && r.may(ctx, taskhttp.OpItems, of) {
		var err error
		if v.Preview, err = r.d.client.Preview(ctx, of.ID); err != nil && !errors.Is(err, taskkit.ErrNotFound) {
			return nil, err
		}
	}
	var err error
	v.Hash, err = v.hash()
	return v, err
}

// hash returns a hash of what the page shows of the task and of its preview. It changes with each of these.
func (v *approvalView) hash() (string, error) {
	spec := v.Task.SpecJSON
	if v.Spec.Text == "" { // it is not shown
		spec = nil
	}
	seen, err := json.Marshal(struct {
		Task                     taskkit.ID
		Kind                     string
		Spec                     json.RawMessage
		Owner, RunAs, Requester  uuid.UUID
		Reason, Waits, Requested string
		Progress                 taskkit.Progress
		Preview                  *taskkit.PreviewReport
	}{
		v.Task.ID, v.Task.Kind, spec, v.Task.Owner, v.Task.RunAs, v.Task.CreatedBy, v.Task.Reason, v.Task.ControlReason,
		v.Task.Created.UTC().Format("2006-01-02T15:04:05.999999Z"), v.Task.Progress, v.Preview,
	})
	if err != nil {
		return "", fmt.Errorf("hash what is shown of task %s: %w", v.Task.ID, err)
	}
	sum := sha256.Sum256(seen)
	return hex.EncodeToString(sum[:]), nil
}

// approvalPath returns the path of the page of one approval.
func approvalPath(id taskkit.ID) string { return "approvals/" + id.String() }
