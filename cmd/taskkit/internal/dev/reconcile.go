package dev

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/dustin/go-humanize"
	"github.com/google/uuid"

	"taskkit.dev/executors/reconcile"
	"taskkit.dev/gen/reconcilecaseloadtask"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
)

// sheet is the sixth action: a registrar's file, with which the statuses are reconciled in
// stages, and what should come of it according to the domain. The file begins with the sample
// of the executor, some lines of which are wrong, and goes on with everybody else in the
// program, of whom each third has another status.
type sheet struct {
	task   *action
	upload uuid.UUID

	want    reconcile.Result
	failed  int                             // lines
	differ  []uuid.UUID                     // the people whose status is to be set
	lines   []int                           // of the file that they are on
	become  map[uuid.UUID]map[string]string // what the statuses should be
	wrong   int                             // statuses that were not so when the task had ended
	started bool
}

// sampleRejected are the lines of the sample that are not valid.
var sampleRejected = []int{5, 7, 8}

// steps returns the task if it was submitted.
func (s *sheet) steps() []*action {
	if s == nil || !s.started {
		return nil
	}
	return []*action{s.task}
}

// reconcile stores the file, submits the task in the same transaction as a service does, and
// kills a worker while it is in its buckets.
func (r *run) reconcile(ctx context.Context) error {
	s := &sheet{}
	r.sheet = s
	file, err := r.writeSheet(ctx)
	if err != nil {
		return err
	}
	if err := r.expectSheet(ctx, s, file); err != nil {
		return err
	}
	if s.upload, err = caseload.PutUpload(ctx, r.people.domain, "registrar.csv", file); err != nil {
		return err
	}
	s.task = &action{name: "reconcile_caseload", submit: func(ctx context.Context, tx taskkit.Execer, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
		return reconcilecaseloadtask.Submit(ctx, tx, reconcile.Spec{Upload: s.upload}, opts...)
	}}
	r.workers.free()
	if r.killsNow = r.allKills(); r.Kills > 0 {
		r.workers.arm(holdBuckets)
	}
	if err := r.inTransaction(ctx, s.task); err != nil {
		return err
	}
	s.started = true
	if err := r.until(ctx, s.task, (*taskkit.Task).Ended); err != nil {
		return err
	}
	statuses, err := caseload.Statuses(ctx, r.people.domain, r.people.all)
	if err != nil {
		return err
	}
	for person, want := range s.become {
		if !maps.Equal(statuses[person], want) {
			s.wrong++
		}
	}
	result, err := r.sheetResult(ctx)
	if err != nil {
		return err
	}
	r.view.message("the statuses were reconciled with a registrar's file of %s lines: %s changed, %s unchanged, %d rejected, %d failed",
		humanize.Comma(int64(result.Loaded+result.Rejected)), humanize.Comma(int64(result.Changed)), humanize.Comma(int64(result.Unchanged)), result.Rejected, result.Unknown+result.NotEnrolled)
	return nil
}

// writeSheet makes up the file.
func (r *run) writeSheet(ctx context.Context) ([]byte, error) {
	sample, err := csv.NewReader(bytes.NewReader(reconcile.Sample)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read the sample of a registrar's file: %w", err)
	}
	inSample := make(map[string]bool)
	for _, cells := range sample {
		inSample[cells[1]] = true
	}
	found, err := caseload.Find(ctx, r.people.domain, r.people.all)
	if err != nil {
		return nil, err
	}
	statuses, err := caseload.Statuses(ctx, r.people.domain, r.people.all)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.Write(reconcile.Sample)
	w := csv.NewWriter(&b)
	for i, id := range r.people.all {
		now, in := statuses[id][r.people.program]
		p := found[id]
		if !in || p == nil || inSample[p.SchoolID] {
			continue
		}
		if i%3 == 0 {
			now = map[string]string{caseload.Active: caseload.Paused, caseload.Paused: caseload.Active, caseload.Exited: caseload.Active}[now]
		}
		if err := w.Write([]string{r.people.program, p.SchoolID, p.LastName + ", " + p.FirstName, now, "2026-09-01"}); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// expectSheet finds out what should come of the file, from the domain alone.
func (r *run) expectSheet(ctx context.Context, s *sheet, file []byte) error {
	lines, err := csv.NewReader(bytes.NewReader(file)).ReadAll()
	if err != nil {
		return err
	}
	var numbers []string
	for _, cells := range lines[1:] {
		numbers = append(numbers, cells[1])
	}
	people, err := caseload.Students(ctx, r.people.domain, numbers)
	if err != nil {
		return err
	}
	if s.become, err = caseload.Statuses(ctx, r.people.domain, r.people.all); err != nil {
		return err
	}
	for i, cells := range lines[1:] {
		line := i + 2
		if slices.Contains(sampleRejected, line) {
			s.want.Rejected++
			continue
		}
		s.want.Loaded++
		person, known := people[cells[1]]
		now, enrolled := s.become[person][cells[0]]
		status := string(bytes.ToLower([]byte(cells[3])))
		switch {
		case !known:
			s.want.Unknown++
		case !enrolled:
			s.want.NotEnrolled++
		case now == status:
			s.want.Unchanged++
		default:
			s.want.Changed++
			s.differ = append(s.differ, person)
			s.lines = append(s.lines, line)
			s.become[person][cells[0]] = status
		}
	}
	s.failed = s.want.Rejected + s.want.Unknown + s.want.NotEnrolled
	return nil
}

// sheetResult returns the result of the task, the zero Result if it has none.
func (r *run) sheetResult(ctx context.Context) (reconcile.Result, error) {
	result, err := reconcilecaseloadtask.Fetch(ctx, r.client, r.sheet.task.id)
	if errors.Is(err, taskkit.ErrNoResult) {
		return reconcile.Result{}, nil
	}
	return result, err
}

// checkReconcile compares what the task has done with what it should have done. The change
// that came after it has set statuses anew: the ledger says what this task has set.
func (r *run) checkReconcile(ctx context.Context, c *checks) error {
	s := r.sheet
	result, err := r.sheetResult(ctx)
	if err != nil {
		return err
	}
	failed := 0
	for _, err := range r.client.Items(ctx, s.task.id, taskkit.OutcomeFailed) {
		if err != nil {
			return err
		}
		failed++
	}
	ok := s.task.task.Status == taskkit.StatusCompleted && !s.task.task.Partial && result == s.want && failed == s.failed
	c.that(ok, "reconcile: of %s lines %s changed a status, %s changed nothing, and %d failed as they should%s",
		humanize.Comma(int64(s.want.Loaded+s.want.Rejected)), humanize.Comma(int64(s.want.Changed)), humanize.Comma(int64(s.want.Unchanged)), s.failed,
		unless(ok, "%s: %s with %+v, want %+v, and %d failed", s.task.task.Status, s.task.task.StatusDetail, result, s.want, failed))

	found, err := caseload.Audit(ctx, r.people.domain, caseload.ActionStatus, []uuid.UUID{s.task.id}, s.differ)
	if err != nil {
		return err
	}
	ok = found.Clean() && s.wrong == 0
	c.that(ok, "reconcile: exactly the %s people whose status differed; processed twice: %d, missed: %d, according to the ledger; statuses that are not as in the file: %d%s",
		humanize.Comma(int64(len(s.differ))), found.Twice, found.Missed, s.wrong, unless(ok, "%s", found))

	stages, err := r.children(ctx, s.task.id)
	if err != nil {
		return err
	}
	var names []string
	problem := "there is no last stage"
	buckets := 0
	for _, stage := range stages {
		names = append(names, stage.Stage)
		if stage.Stage != reconcile.StageApply {
			continue
		}
		children, err := r.children(ctx, stage.ID)
		if err != nil {
			return err
		}
		buckets = len(children)
		problem, err = r.coverage(ctx, children, func(_ context.Context, part segment.Segment) (int, error) { return s.linesIn(part) })
		if err != nil {
			return err
		}
	}
	ok = problem == "" && slices.Equal(names, []string{reconcile.StageLoad, reconcile.StageCompare, reconcile.StageApply})
	c.that(ok, "reconcile: the stages load, compare and apply, one after the other; %d buckets of the last, complete and without an overlap%s", buckets, unless(ok, "%v: %s", names, problem))
	return nil
}

// linesIn counts the lines with another status in a segment of lines.
func (s *sheet) linesIn(part segment.Segment) (int, error) {
	text, err := json.Marshal(part)
	if err != nil {
		return 0, err
	}
	var ends struct {
		From json.Number `json:"from"`
		To   json.Number `json:"to"`
	}
	if err := json.Unmarshal(text, &ends); err != nil {
		return 0, err
	}
	from, _ := ends.From.Int64() // 0 without one
	to, err := ends.To.Int64()
	n := 0
	for _, line := range s.lines {
		if int64(line) >= from && (err != nil || int64(line) < to) {
			n++
		}
	}
	return n, nil
}
