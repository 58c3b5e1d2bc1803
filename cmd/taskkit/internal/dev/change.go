package dev

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/google/uuid"

	"taskkit.dev/executors/programstatus"
	"taskkit.dev/gen/programstatustask"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent"
	"taskkit.dev/internal/demo/caseload/ent/enrolment"
	"taskkit.dev/taskkit"
)

// supervisor is the person who approves what coach submits.
var supervisor = uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8058")

const (
	// canaryItems is after how many people the change waits for approval, if there
	// are more.
	canaryItems = 10
	// leaverCount is how many people have left the program, if there are as many.
	leaverCount = 25
)

// change is one more bulk action, which is made with care: the status of everybody in
// a program is previewed, then changed for a few people, then for all others once a
// second person has approved that, and at last for those for whom it has failed. It
// fails for the leavers, who have left the program after the list was made. What is
// found on the way is kept here, and checked with the report.
type change struct {
	people  []uuid.UUID // the frozen set: who was in the program
	canary  int
	leavers []uuid.UUID // of those who are not among the first

	preview, real, retry *action

	before, after map[string]caseload.Fingerprint // around the preview
	wantRows      int64                           // enrolments to update, according to the domain
	wantNotes     map[string]int64
	report        *taskkit.PreviewReport

	paused      *taskkit.Task // the task when it waited for approval; nil if it did not
	first       caseload.Findings
	applied     bool // once: the second call named the task of the first
	refused     bool // the owner's approval
	failed      map[uuid.UUID]bool
	retryWaited bool // for an approval too
	// approvers are the persons who have approved each of the two tasks, according to
	// its events.
	approvers, retryApprovers []uuid.UUID
}

// steps returns the tasks of the change that were submitted.
func (c *change) steps() []*action {
	if c == nil {
		return nil
	}
	return slices.DeleteFunc([]*action{c.preview, c.real, c.retry}, func(a *action) bool { return a == nil || a.id == taskkit.ID{} })
}

// makeChange runs the change. All other tasks have ended.
func (r *run) makeChange(ctx context.Context) error {
	r.workers.free() // from here on no worker is killed
	in := caseload.Query{Program: r.people.program}
	n, _, err := caseload.Count(ctx, r.people.domain, in)
	if err != nil {
		return err
	}
	c := &change{}
	r.change = c
	if c.people, err = caseload.People(ctx, r.people.domain, in, uuid.Nil, uuid.Nil, n); err != nil {
		return err
	}
	c.canary = min(canaryItems, n-1)
	others := c.people[c.canary:]
	every := max(1, len(others)/leaverCount)
	for i := every - 1; i < len(others) && len(c.leavers) < leaverCount; i += every {
		c.leavers = append(c.leavers, others[i])
	}
	left, err := r.removeFromProgram(ctx, c.leavers)
	if err != nil {
		return err
	}
	if err := r.runPreview(ctx, c); err != nil {
		return fmt.Errorf("preview the change: %w", err)
	}
	if err := r.runCanary(ctx, c); err != nil {
		return fmt.Errorf("change the first people and then all: %w", err)
	}
	if err := r.addToProgram(ctx, left); err != nil {
		return err
	}
	if err := r.runRetry(ctx, c); err != nil {
		return fmt.Errorf("retry the people who failed: %w", err)
	}
	return nil
}

// runPreview previews the change over the frozen set, and reads all tables before and after.
func (r *run) runPreview(ctx context.Context, c *change) (err error) {
	if err := r.expect(ctx, c); err != nil {
		return err
	}
	if c.before, err = caseload.Fingerprints(ctx, r.workspace.db); err != nil {
		return err
	}
	c.preview = &action{name: "preview", submit: func(ctx context.Context, tx taskkit.Execer, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
		return programstatustask.Submit(ctx, tx, programstatus.Spec{Program: r.people.program, Status: caseload.Exited}, opts...)
	}}
	if err := r.inTransaction(ctx, c.preview, taskkit.WithPreview(), taskkit.WithTargets(slices.Values(c.people))); err != nil {
		return err
	}
	if err := r.until(ctx, c.preview, (*taskkit.Task).Ended); err != nil {
		return err
	}
	if c.report, err = r.client.Preview(ctx, c.preview.id); err != nil {
		return err
	}
	if c.after, err = caseload.Fingerprints(ctx, r.workspace.db); err != nil {
		return err
	}
	var rows []string
	for _, t := range c.report.Changes {
		rows = append(rows, fmt.Sprintf("would %s %s rows of %s", t.Verb, humanize.Comma(t.Rows), t.Table))
	}
	r.view.message("preview of %s for %s people: %s; expected to take %.1fs", programstatustask.Kind.Name(),
		humanize.Comma(int64(len(c.people))), strings.Join(append(rows, notes(c.report)), "; "), c.report.Expected.Seconds())
	return nil
}

// expect finds out what the preview should report, from the domain alone.
func (r *run) expect(ctx context.Context, c *change) error {
	var statuses []struct {
		Status string `sql:"status"`
		Count  int64  `sql:"count"`
	}
	err := r.people.domain.Enrolment.Query().Where(enrolment.ProgramID(r.people.program)).
		GroupBy(enrolment.FieldStatus).Aggregate(ent.Count()).Scan(ctx, &statuses)
	if err != nil {
		return fmt.Errorf("count the statuses in the program: %w", err)
	}
	c.wantNotes = map[string]int64{"not enrolled": int64(len(c.leavers))}
	for _, s := range statuses {
		c.wantRows += s.Count
		if s.Status == caseload.Exited {
			c.wantNotes["already "+caseload.Exited] = s.Count
		} else {
			c.wantNotes["-> "+caseload.Exited] += s.Count
		}
	}
	return nil
}

// notes returns the notes of a report as text.
func notes(p *taskkit.PreviewReport) string {
	var all []string
	for _, n := range p.Notes {
		all = append(all, fmt.Sprintf("%q for %s", n.Note, humanize.Comma(n.Items)))
	}
	return strings.Join(all, ", ")
}

// runCanary applies the preview: it changes the first people, asks both persons for their approval, and then
// changes the others.
func (r *run) runCanary(ctx context.Context, c *change) (err error) {
	opts := []taskkit.SubmitOption{taskkit.WithApproval()}
	if c.canary > 0 { // with one person it waits before its first batch
		opts = append(opts, taskkit.WithCanary(c.canary))
	}
	c.real = &action{name: "change"}
	if c.real.id, err = r.client.Apply(ctx, c.preview.id, opts...); err != nil {
		return err
	}
	_, err = r.client.Apply(ctx, c.preview.id, opts...)
	duplicate, is := errors.AsType[*taskkit.DuplicateError](err)
	c.applied = is && duplicate.ID == c.real.id
	if err := r.until(ctx, c.real, waitsOrEnded); err != nil {
		return err
	}
	if !c.real.task.Ended() {
		c.paused = c.real.task
		c.first, err = caseload.Audit(ctx, r.people.domain, caseload.ActionStatus, []uuid.UUID{c.real.id}, c.people[:c.canary])
		if err != nil {
			return err
		}
		r.view.message("the change itself is paused at %d people: %s", c.paused.Progress.Processed(), c.paused.ControlReason)
		_, err = r.client.Approve(ctx, c.real.id, taskkit.WithActor(coach))
		var state *taskkit.StateError
		if c.refused = errors.As(err, &state); err != nil && !c.refused {
			return err
		}
		if c.refused {
			if err := r.approve(ctx, c.real); err != nil {
				return err
			}
			r.view.message("a second person approves the others")
		}
	}
	if err := r.until(ctx, c.real, (*taskkit.Task).Ended); err != nil {
		return err
	}
	if c.approvers, err = r.approversOf(ctx, c.real); err != nil {
		return err
	}
	c.failed, err = r.failures(ctx, c.real)
	r.view.message("the change has ended: %s people changed, %d failed", humanize.Comma(c.real.task.Progress.Done), len(c.failed))
	return err
}

// runRetry changes the people who failed, by a new task. It needs an approval as the
// first one did.
func (r *run) runRetry(ctx context.Context, c *change) (err error) {
	c.retry = &action{name: "retry"}
	if c.retry.id, err = r.client.RetryFailed(ctx, c.real.id, taskkit.WithReason("they are in the program again")); err != nil {
		return err
	}
	if err := r.until(ctx, c.retry, waitsOrEnded); err != nil {
		return err
	}
	if c.retryWaited = !c.retry.task.Ended(); c.retryWaited {
		if err := r.approve(ctx, c.retry); err != nil {
			return err
		}
	}
	if err := r.until(ctx, c.retry, (*taskkit.Task).Ended); err != nil {
		return err
	}
	if c.retryApprovers, err = r.approversOf(ctx, c.retry); err != nil {
		return err
	}
	r.view.message("those who failed are in the program again, and a new task, approved too, has changed %d of them", c.retry.task.Progress.Done)
	return nil
}

// approve approves a task as the second person.
func (r *run) approve(ctx context.Context, a *action) error {
	_, err := r.client.Approve(ctx, a.id, taskkit.WithActor(supervisor), taskkit.WithReason("taskkit dev"))
	return err
}

// approversOf returns the persons who have approved a task.
func (r *run) approversOf(ctx context.Context, a *action) ([]uuid.UUID, error) {
	events, err := r.client.Events(ctx, a.id, 100)
	if err != nil {
		return nil, err
	}
	var persons []uuid.UUID
	for _, e := range events {
		if e.Action == "approve" {
			persons = append(persons, e.Actor)
		}
	}
	return persons, nil
}

// waitsOrEnded reports whether a task is paused or has ended.
func waitsOrEnded(t *taskkit.Task) bool {
	return t.Ended() || t.Status == taskkit.StatusQueued && t.Control == taskkit.ControlPause
}

// until waits until a task of the change is as done says, and reads it into a.task.
func (r *run) until(ctx context.Context, a *action, done func(*taskkit.Task) bool) error {
	return r.wait(ctx, func() (bool, bool, error) {
		t, err := r.client.Task(ctx, a.id)
		if ctx.Err() != nil {
			return false, false, nil //nolint:nilerr // the run was interrupted, which wait reports
		}
		if err != nil {
			return false, false, err
		}
		changed := a.task == nil || t.Modified != a.task.Modified || t.Progress != a.task.Progress
		a.task = t
		return changed, done(t), nil
	})
}

// removeFromProgram takes people out of the program and returns their enrolments.
func (r *run) removeFromProgram(ctx context.Context, people []uuid.UUID) ([]*ent.Enrolment, error) {
	theirs := enrolment.And(enrolment.ProgramID(r.people.program), enrolment.PersonIDIn(people...))
	left, err := r.people.domain.Enrolment.Query().Where(theirs).All(ctx)
	if err == nil {
		_, err = r.people.domain.Enrolment.Delete().Where(theirs).Exec(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("take %d people out of the program: %w", len(people), err)
	}
	return left, nil
}

// addToProgram puts people into the program again.
func (r *run) addToProgram(ctx context.Context, left []*ent.Enrolment) error {
	again := make([]*ent.EnrolmentCreate, len(left))
	for i, e := range left {
		again[i] = r.people.domain.Enrolment.Create().SetPersonID(e.PersonID).SetProgramID(e.ProgramID).SetStatus(e.Status)
	}
	if err := r.people.domain.Enrolment.CreateBulk(again...).Exec(ctx); err != nil {
		return fmt.Errorf("put %d people into the program again: %w", len(left), err)
	}
	return nil
}
