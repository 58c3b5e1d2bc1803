package dev

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/google/uuid"

	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/demo/caseload/ent/enrolment"
	"taskkit.dev/taskkit"
)

// checkChange checks what was found, and compares it with the ledger.
func (r *run) checkChange(ctx context.Context, k *checks) error {
	c := r.change
	var rows int
	for _, f := range c.before {
		rows += f.Rows
	}
	got := make(map[string]int64, len(c.report.Notes))
	for _, n := range c.report.Notes {
		got[n.Note] = n.Items
	}
	var want []taskkit.TableChange
	if c.wantRows > 0 {
		want = append(want, taskkit.TableChange{Table: enrolment.Table, Verb: "update", Rows: c.wantRows})
	}
	ok := c.preview.task.Status == taskkit.StatusCompleted && slices.Equal(c.report.Changes, want) && c.report.OtherChanges == 0 &&
		maps.Equal(got, c.wantNotes) && c.report.OtherNotes == 0
	k.that(ok, "preview: its report says what the tables say: %s rows to update, %d people who are not enrolled%s",
		humanize.Comma(c.wantRows), len(c.leavers), unless(ok, "%s with %v and %v", c.preview.task.Status, c.report.Changes, got))
	ok = len(c.before) > 0 && maps.Equal(c.before, c.after)
	k.that(ok, "preview: no row of the domain changed, of %s in %d tables%s",
		humanize.Comma(int64(rows)), len(c.before), list(differences(c.before, c.after)))

	ok = c.applied && c.real.task.Follows == c.preview.id && c.real.task.Progress.Total == int64(len(c.people))
	k.that(ok, "apply: one task over the %d people that were previewed%s", len(c.people), unless(ok, "%+v", c.real.task.Progress))
	ok = c.paused != nil && c.paused.Progress.Processed() == int64(c.canary) && c.first.Clean() && c.first.Touched == c.canary
	k.that(ok, "canary: the task paused after exactly %d people, according to the ledger%s", c.canary, unless(ok, "%s", c.first))
	ok = c.refused && slices.Equal(c.approvers, []uuid.UUID{supervisor}) &&
		c.real.task.Status == taskkit.StatusCompleted && !c.real.task.Partial && c.real.task.Progress == c.report.Progress
	k.that(ok, "approval: refused to the owner, given by a second person; the task then completed with the numbers of the preview%s",
		unless(ok, "%s with %+v, approved by %v", c.real.task.Status, c.real.task.Progress, c.approvers))

	found, err := r.auditChange(ctx, []*action{c.real}, func(p uuid.UUID) bool { return !slices.Contains(c.leavers, p) })
	if err != nil {
		return err
	}
	ok = sameSet(c.failed, c.leavers) && found.Clean()
	k.that(ok, "failures: exactly the %d people who had left the program; of the others processed twice: %d, missed: %d, according to the ledger%s",
		len(c.leavers), found.Twice, found.Missed, unless(ok, "%d failed; %s", len(c.failed), found))
	if found, err = r.auditChange(ctx, []*action{c.retry}, func(p uuid.UUID) bool { return slices.Contains(c.leavers, p) }); err != nil {
		return err
	}
	all, err := r.auditChange(ctx, []*action{c.real, c.retry}, func(uuid.UUID) bool { return true })
	if err != nil {
		return err
	}
	p := c.retry.task.Progress
	ok = c.retry.task.Status == taskkit.StatusCompleted && p.Done == int64(len(c.leavers)) && p.Total == p.Done &&
		c.retryWaited && slices.Equal(c.retryApprovers, []uuid.UUID{supervisor}) && found.Clean() && all.Clean()
	k.that(ok, "retry: exactly these %d people; by both tasks together processed twice: %d, missed: %d, according to the ledger%s",
		len(c.leavers), all.Twice, all.Missed, unless(ok, "%s with %+v, approved by %v; %s", c.retry.task.Status, p, c.retryApprovers, found))
	return nil
}

// auditChange compares what tasks of the change have done with the people of the set
// for whom they should have done it.
func (r *run) auditChange(ctx context.Context, tasks []*action, of func(uuid.UUID) bool) (caseload.Findings, error) {
	ids := make([]uuid.UUID, len(tasks))
	for i, a := range tasks {
		ids[i] = a.id
	}
	var want []uuid.UUID
	for _, p := range r.change.people {
		if of(p) {
			want = append(want, p)
		}
	}
	return caseload.Audit(ctx, r.people.domain, caseload.ActionStatus, ids, want)
}

// unless returns the details of a check that is not ok.
func unless(ok bool, format string, args ...any) string {
	if ok {
		return ""
	}
	return list([]string{fmt.Sprintf(format, args...)})
}

// differences names the tables that are not the same.
func differences(before, after map[string]caseload.Fingerprint) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if before[name] != after[name] {
			all = append(all, fmt.Sprintf("%s had %d rows and has %d", name, before[name].Rows, after[name].Rows))
		}
	}
	return all
}

// sameSet reports whether a set and a list without duplicates have the same elements.
func sameSet(set map[uuid.UUID]bool, people []uuid.UUID) bool {
	for _, p := range people {
		if !set[p] {
			return false
		}
	}
	return len(set) == len(people)
}
