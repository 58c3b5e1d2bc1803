package dev

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/google/uuid"

	"taskkit.dev/gen/sendemailtask"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent/alert"
	"taskkit.dev/taskkit"
)

const (
	// coachlessCount is how many people have no coach at first, if there are as many.
	coachlessCount = 25
	// retryCanary is after how many of them the retry waits for approval.
	retryCanary = 5
)

// alerts is what is done around the early alerts, which are raised in buckets: they are previewed
// first, and fail for people without a coach, who get one and are retried, a few of them first.
type alerts struct {
	coaches map[uuid.UUID]string // by person, of the people who have none at first

	preview, retry *action
	mail           *action // of the retry

	before, after map[string]caseload.Fingerprint // around the preview
	report        *taskkit.PreviewReport
	paused        *taskkit.Task // the retry when it waited for approval; nil if it did not
	approvers     []uuid.UUID
}

// steps returns the tasks of the alerts that were submitted beside the action.
func (a *alerts) steps() []*action {
	if a == nil {
		return nil
	}
	return slices.DeleteFunc([]*action{a.preview, a.retry, a.mail}, func(a *action) bool { return a == nil || a.id == taskkit.ID{} })
}

// lacks reports whether a person has no coach at first.
func (a *alerts) lacks(person uuid.UUID) bool { _, ok := a.coaches[person]; return ok }

// canary is how many people are retried before an approval.
func (a *alerts) canary() int { return min(retryCanary, len(a.coaches)-1) }

// mailed is how many mails the retry has sent.
func (a *alerts) mailed() int64 {
	if a.mail == nil {
		return 0
	}
	return a.mail.task.Progress.Done
}

// previewAlerts takes some people's coaches away, and previews the alerts of everyone.
func (r *run) previewAlerts(ctx context.Context) (err error) {
	a := &alerts{coaches: make(map[uuid.UUID]string)}
	r.alerts = a
	every := max(2, len(r.people.all)/coachlessCount)
	var some []uuid.UUID
	for i := every - 1; i < len(r.people.all) && len(some) < coachlessCount; i += every {
		some = append(some, r.people.all[i])
	}
	found, err := caseload.Find(ctx, r.people.domain, some)
	if err != nil {
		return err
	}
	for id, p := range found {
		a.coaches[id] = p.Coach
	}
	if err := r.setCoaches(ctx, func(string) string { return "" }); err != nil {
		return err
	}
	if a.before, err = caseload.Fingerprints(ctx, r.workspace.db); err != nil {
		return err
	}
	a.preview = &action{name: "preview of the alerts", submit: raiseAlerts}
	if err := r.inTransaction(ctx, a.preview, taskkit.WithPreview()); err != nil {
		return err
	}
	if err := r.until(ctx, a.preview, (*taskkit.Task).Ended); err != nil {
		return err
	}
	if a.report, err = r.client.Preview(ctx, a.preview.id); err != nil {
		return err
	}
	if a.after, err = caseload.Fingerprints(ctx, r.workspace.db); err != nil {
		return err
	}
	r.view.message("preview of the early alerts, as one task: %s would be raised, %d people have no coach", humanize.Comma(a.report.Progress.Done), a.report.Progress.Failed)
	return nil
}

// setCoaches sets the coach of the people who had none at first.
func (r *run) setCoaches(ctx context.Context, to func(coach string) string) error {
	for id, coach := range r.alerts.coaches {
		if err := r.people.domain.Person.UpdateOneID(id).SetCoach(to(coach)).Exec(ctx); err != nil {
			return fmt.Errorf("set the coach of %s: %w", id, err)
		}
	}
	return nil
}

// retryAlerts gives each person a coach, and retries the people who failed in any of the buckets: a few first,
// and the others when a second person has approved that.
func (r *run) retryAlerts(ctx context.Context) (err error) {
	a := r.alerts
	if len(a.coaches) == 0 {
		return nil // of one person
	}
	if err := r.setCoaches(ctx, func(coach string) string { return coach }); err != nil {
		return err
	}
	i := slices.IndexFunc(r.actions, func(a *action) bool { return a.ledger == caseload.ActionAlert })
	a.retry = &action{name: "retry of the alerts"}
	opts := []taskkit.SubmitOption{taskkit.WithApproval(), taskkit.WithReason("they have a coach now")}
	if n := a.canary(); n > 0 { // with one person it waits before its first batch
		opts = append(opts, taskkit.WithCanary(n))
	}
	if a.retry.id, err = r.client.RetryFailed(ctx, r.actions[i].id, opts...); err != nil {
		return err
	}
	if err := r.until(ctx, a.retry, waitsOrEnded); err != nil {
		return err
	}
	if !a.retry.task.Ended() {
		a.paused = a.retry.task
		if err := r.approve(ctx, a.retry); err != nil {
			return err
		}
	}
	if err := r.until(ctx, a.retry, (*taskkit.Task).Ended); err != nil {
		return err
	}
	if a.approvers, err = r.approversOf(ctx, a.retry); err != nil {
		return err
	}
	mails, _, err := r.client.Tasks(ctx, taskkit.Filter{Follows: a.retry.id, Kinds: []string{sendemailtask.Kind.Name()}})
	if err != nil {
		return err
	}
	if len(mails) != 1 {
		return fmt.Errorf("the retry of the early alerts has submitted %d tasks, want one that sends mail", len(mails))
	}
	a.mail = &action{name: "mail of the retry", id: mails[0].ID}
	r.view.message("the %d people without a coach have one now, and one task has raised the alerts that failed in the buckets", len(a.coaches))
	return r.until(ctx, a.mail, (*taskkit.Task).Ended)
}

// checkAlerts checks what was found, and compares it with the ledger.
func (r *run) checkAlerts(ctx context.Context, k *checks) error {
	a := r.alerts
	without, people := int64(len(a.coaches)), int64(len(r.people.all))
	want := []taskkit.TableChange{{Table: alert.Table, Verb: "insert", Rows: people - without}}
	ok := a.preview.task.Status == taskkit.StatusCompleted && slices.Equal(a.report.Changes, want) && a.report.Progress.Failed == without && maps.Equal(a.before, a.after)
	k.that(ok, "preview of the alerts: %s rows to insert, %d people without a coach, and no row of the domain changed%s", humanize.Comma(people-without), without,
		unless(ok, "%s with %v and %+v", a.preview.task.Status, a.report.Changes, a.report.Progress))

	if without == 0 {
		return nil
	}
	ids := slices.Collect(maps.Keys(a.coaches))
	found, err := caseload.Audit(ctx, r.people.domain, caseload.ActionAlert, []uuid.UUID{a.retry.id}, ids)
	if err != nil {
		return err
	}
	t := a.retry.task
	ok = t.Status == taskkit.StatusCompleted && t.Progress.Done == without && t.Progress.Total == without && a.mail.task.Progress.Processed() == without &&
		a.paused != nil && a.paused.Progress.Processed() == int64(a.canary()) &&
		slices.Equal(a.approvers, []uuid.UUID{supervisor}) && found.Clean()
	k.that(ok, "retry of the alerts: the %d people who failed in the buckets, %d of them before a second person approved; processed twice: %d, missed: %d, according to the ledger%s",
		without, a.canary(), found.Twice, found.Missed, unless(ok, "%s with %+v, approved by %v; %s", t.Status, t.Progress, a.approvers, found))
	return nil
}
