package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// slowCall is how long a call may take that is repeated until its plan is generic, and callWithin how long any may take.
const (
	slowCall   = 3 * time.Second
	callWithin = 2 * time.Minute
)

// reader is what reads the tables on one handle.
type reader struct {
	client   *taskkit.Client
	operator *taskops.Operator
	worker   store.Store
	process  string
	numbers  sizes
}

// open opens a reader, and what closes it.
func (s *sized) open(ctx context.Context, mode string, n sizes) (r *reader, stop func(), err error) {
	db, err := s.planned(mode)
	if err != nil {
		return nil, nil, err
	}
	w, err := dbstore.Open(ctx, db, s.schema(), dbstore.Options{})
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	client := taskkit.NewClient(db)
	r = &reader{client, taskops.New(client), w, "size " + uuid.NewString(), n}
	stop = func() {
		// The figures are there.
		_ = w.Deregister(context.WithoutCancel(ctx), r.process)
		w.Release(ctx)
		_ = db.Close()
	}
	err = w.RegisterWorker(ctx, store.Process{ID: r.process, Version: "1", Kinds: r.claim().Kinds, Queues: r.claim().Queues, Slots: 12, DeadAfter: time.Hour, MaxAttempts: 10})
	if err != nil {
		stop()
		return nil, nil, err
	}
	return r, stop, nil
}

// schema is the schema of the tables.
func (s *sized) schema() string {
	if s.postgres {
		return taskkit.DefaultSchema
	}
	return ""
}

// claim is the claim of a worker with twelve kinds, of which no task waits.
func (r *reader) claim() store.Claim {
	c := store.Claim{Process: r.process, Queues: []string{"default"}, Kinds: map[string][]int{}, Limit: 12, SpecMax: 1 << 20}
	for i := range 12 {
		c.Kinds["kind"+strconv.Itoa(i)] = []int{1}
	}
	return c
}

// list reads pages of tasks.
func (r *reader) list(pages int, f taskkit.Filter) func(context.Context) error {
	return func(ctx context.Context) error {
		f := f
		for range pages {
			_, next, err := r.client.Tasks(ctx, f)
			if err != nil || next == (taskkit.ID{}) {
				return err
			}
			f.Before = next
		}
		return nil
	}
}

// line is a row of the table.
type line struct {
	what string
	call func(context.Context) error
}

// lines are the calls that are measured.
func (r *reader) lines() []line {
	all := []line{
		{"claim that finds nothing", func(ctx context.Context) error { _, err := r.worker.Claim(ctx, r.claim()); return err }},
		{"check whether a task waits", func(ctx context.Context) error { _, err := r.worker.Waiting(ctx, r.claim()); return err }},
		{"reap", func(ctx context.Context) error { _, err := r.worker.Reap(ctx, nil); return err }},
		{"prune events, none is due", func(ctx context.Context) error {
			_, err := r.operator.PruneEvents(ctx, 90*24*time.Hour, 500)
			return err
		}},
		{"counts", func(ctx context.Context) error { _, _, err := r.client.Counts(ctx, ""); return err }},
		{"counts of a kind", func(ctx context.Context) error { _, _, err := r.client.Counts(ctx, "billing"); return err }},
		{"queues", func(ctx context.Context) error { _, err := r.operator.Queues(ctx); return err }},
		{"groups of dead letters", func(ctx context.Context) error { _, err := r.operator.Dead(ctx, taskops.DeadFilter{}); return err }},
		{"id by its last digits, a recent one", r.resolve},
		{"id by its last digits, none", func(ctx context.Context) error {
			_, err := r.client.Resolve(ctx, "ffffffffffff")
			if _, none := errors.AsType[*taskkit.IDError](err); none {
				return nil
			}
			return err
		}},
	}
	failed := []taskkit.Status{taskkit.StatusFailure, taskkit.StatusError}
	big, one, none := ownerID(ownerBig), ownerID(ownerOne), ownerID(5)
	kind, noKind := []string{"billing"}, []string{"none"}
	manyKinds := make([]string, 1000)
	for i := range manyKinds {
		manyKinds[i] = "none" + strconv.Itoa(i)
	}
	for _, l := range []struct {
		what  string
		pages int
		f     taskkit.Filter
	}{
		{"list", 1, taskkit.Filter{}},
		{"list by owner and kind, an owner of a third", 1, taskkit.Filter{Owner: big, Kinds: kind}},
		{"list by owner and two kinds, an owner of a third", 1, taskkit.Filter{Owner: big, Kinds: []string{"billing", "mail"}}},
		{"list by owner and kind, an owner of one task", 1, taskkit.Filter{Owner: one, Kinds: kind}},
		{"list by owner and kind, an owner of 330 tasks", 1, taskkit.Filter{Owner: ownerID(ownerOther), Kinds: kind}},
		{"list by owner and a kind without a match, an owner of a third", 1, taskkit.Filter{Owner: big, Kinds: noKind}},
		{"list by owner, none", 1, taskkit.Filter{Owner: none}},
		{"list by owner and status, none", 1, taskkit.Filter{Owner: big, Statuses: []taskkit.Status{taskkit.StatusExecuting}}},
		{"list by kind", 1, taskkit.Filter{Kinds: kind}},
		{"list by kind, none", 1, taskkit.Filter{Kinds: noKind}},
		{"list by 1,000 kinds, none", 1, taskkit.Filter{Kinds: manyKinds}},
		{"list by queue, none", 1, taskkit.Filter{Queue: "none"}},
		{"list by kind and queue, none", 1, taskkit.Filter{Kinds: kind, Queue: "none"}},
		{"list by reference", 1, taskkit.Filter{Reference: "reference 3"}},
		{"list by reference, none", 1, taskkit.Filter{Reference: "none"}},
		{"list by unique key", 1, taskkit.Filter{UniqueKey: "key 25"}},
		{"list by unique key, none", 1, taskkit.Filter{UniqueKey: "none"}},
		{"list FAILURE and ERROR", 1, taskkit.Filter{Statuses: failed}},
		{"list FAILURE and ERROR of a kind, none", 1, taskkit.Filter{Statuses: failed, Kinds: noKind}},
		{"list EXECUTING", 1, taskkit.Filter{Statuses: []taskkit.Status{taskkit.StatusExecuting}}},
		{"list QUEUED of a kind", 1, taskkit.Filter{Statuses: []taskkit.Status{taskkit.StatusQueued}, Kinds: kind}},
		{"dead letters by a code, none", 1, taskkit.Filter{Statuses: failed, Code: "none"}},
		{"20 pages of 1,000, an owner of a third", 20, taskkit.Filter{Owner: big, Limit: 1000}},
	} {
		all = append(all, line{l.what, r.list(l.pages, l.f)})
	}
	return all
}

// resolve finds the last of the running tasks by its last digits.
func (r *reader) resolve(ctx context.Context) error {
	last := r.numbers.ended + r.numbers.foreign + r.numbers.waiting + r.numbers.running
	_, err := r.client.Resolve(ctx, fmt.Sprintf("%012x", last))
	if _, none := errors.AsType[*taskkit.IDError](err); none {
		return nil // in the empty tables
	}
	return err
}

// measured is how many buffers a call has read, and for how long.
type measured struct {
	buffers int64
	took    time.Duration
	refused error
}

// text writes the buffers, or that a call was refused.
func (m measured) text() string {
	switch {
	case errors.Is(m.refused, context.DeadlineExceeded):
		return "over " + callWithin.String()
	case m.refused != nil:
		return "refused"
	}
	return thousands(m.buffers)
}

// call makes a call until its plan is the one of a statement that was often executed, and measures the last time.
func (s *sized) call(ctx context.Context, f func(context.Context) error) (m measured, err error) {
	for range 7 {
		cctx, cancel := context.WithTimeout(ctx, callWithin)
		began := time.Now()
		m.buffers, _, m.refused = s.meter(cctx, f)
		m.took = time.Since(began)
		cancel()
		if ctx.Err() != nil {
			return m, context.Cause(ctx)
		}
		if m.refused != nil || m.took > slowCall {
			break
		}
	}
	return m, nil
}

// statementSizes measures the buffers of each call with each kind of plan.
func statementSizes(ctx context.Context, full, empty *sized, n sizes, _ time.Duration, out io.Writer) error {
	type side struct {
		*sized
		mode string
	}
	sides := []side{{full, "force_custom_plan"}, {full, "force_generic_plan"}, {full, ""}, {empty, ""}}
	head := []string{"buffers of a call", "custom plan", "generic plan", "after 7 calls", "empty tables", "ms after 7 calls"}
	if !full.postgres {
		sides, head = sides[2:], []string{"ms of a call", "full tables", "empty tables"}
	}
	columns := make([][]measured, len(sides))
	var names []string
	for i, side := range sides {
		r, stop, err := side.open(ctx, side.mode, n)
		if err != nil {
			return err
		}
		names = nil
		for _, l := range r.lines() {
			m, err := side.call(ctx, l.call)
			if err != nil {
				stop()
				return err
			}
			if m.refused != nil {
				fmt.Fprintf(out, "<!-- %s: %v -->\n", l.what, m.refused)
			}
			names = append(names, l.what)
			columns[i] = append(columns[i], m)
		}
		stop()
	}
	ms := func(m measured) string { return figure(m.took.Seconds() * 1000) }
	var rows [][]string
	for i, name := range names {
		row := []string{name}
		if full.postgres {
			for _, c := range columns {
				row = append(row, c[i].text())
			}
			row = append(row, ms(columns[2][i]))
		} else {
			row = append(row, ms(columns[0][i]), ms(columns[1][i]))
		}
		rows = append(rows, row)
	}
	markdown(out, "Reads, "+full.name, head, rows)
	return nil
}
