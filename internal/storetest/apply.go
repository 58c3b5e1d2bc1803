package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// applyStart: a start, then a checkpoint, then the end with another.
func applyStart(b *bed) {
	b.enrol()
	c := b.held()
	is(b, "start", b.apply(store.Write{Hold: c.Hold, To: workflow.Executing, Attempts: 1}), store.Applied{OK: true})
	got := b.read(c.ID)
	is(b, "status", got.Status, workflow.Executing)
	if got.Started == nil || got.Stopped != nil {
		b.Fatalf("started %v, stopped %v", got.Started, got.Stopped)
	}
	started := *got.Started

	w := store.Write{
		Hold: c.Hold, To: workflow.Executing, Checkpoint: true, Revision: 2, State: json.RawMessage(`{"at":  7}`),
		Progress: store.Progress{Total: 10, Taken: 5, Done: 4, Failed: 1, Skipped: 2},
		Failures: []store.Failure{{Item: "p1", Code: "gone", Detail: "no such person", Attempt: 1}},
	}
	is(b, "checkpoint", b.apply(w).OK, true)
	got = b.read(c.ID)
	is(b, "seq", got.Seq, 1)
	is(b, "state, as written", string(got.State), `{"at":  7}`)
	is(b, "revision, attempts", [2]int{got.Revision, got.Attempts}, [2]int{2, 0})
	is(b, "progress", got.Progress, w.Progress)
	if !got.Started.Equal(started) {
		b.Fatalf("started %v, was %v", got.Started, started)
	}
	fs, err := b.s.Failures(b.ctx(), c.ID, uuid.Nil, 0)
	b.ok(err)
	is(b, "failures", len(fs), 1)
	is(b, "failure", [3]string{fs[0].Item, fs[0].Code, fs[0].Detail}, [3]string{"p1", "gone", "no such person"})
	next, err := b.s.Failures(b.ctx(), c.ID, fs[0].ID, 10)
	b.ok(err)
	is(b, "failures after the last", len(next), 0)

	at, err := b.s.Positions(b.ctx(), []uuid.UUID{c.ID, uuid.New()})
	b.ok(err)
	is(b, "positions", len(at), 1)
	p := at[c.ID]
	is(b, "position", fmt.Sprint(p.Fence, p.Seq, p.Status, p.Process, string(p.State), p.Progress), fmt.Sprint(1, 1, workflow.Executing, process, `{"at":  7}`, w.Progress))

	w.Seq, w.To, w.Failures = 1, workflow.Completed, nil
	w.Progress.Total = -1
	is(b, "end", b.apply(w).OK, true)
	got = b.read(c.ID)
	is(b, "status", got.Status, workflow.Completed)
	is(b, "seq", got.Seq, 2)
	is(b, "process", got.Process, "")
	is(b, "total", got.Progress.Total, -1)
	if got.Stopped == nil || got.Elapsed < 0 {
		b.Fatalf("stopped %v, elapsed %v", got.Stopped, got.Elapsed)
	}
}

// applyGuards: a write with another fence, seq or status changes nothing.
func applyGuards(b *bed) {
	b.enrol()
	c := b.held()
	for name, change := range map[string]func(*store.Hold){
		"older fence": func(h *store.Hold) { h.Fence-- }, "newer fence": func(h *store.Hold) { h.Fence++ },
		"newer seq": func(h *store.Hold) { h.Seq++ }, "no task": func(h *store.Hold) { h.ID = uuid.New() },
	} {
		h := c.Hold
		change(&h)
		for _, to := range workflow.Statuses() {
			is(b, name, b.apply(store.Write{Hold: h, To: to, Checkpoint: true, Revision: 1, State: json.RawMessage(`{}`)}), store.Applied{})
		}
	}
	is(b, "status", b.read(c.ID).Status, workflow.Scheduling)
	is(b, "the true one", b.apply(store.Write{Hold: c.Hold, To: workflow.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage(`{}`)}).OK, true)
	is(b, "again", b.apply(store.Write{Hold: c.Hold, To: workflow.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage(`{}`)}).OK, false)
	c.Seq = 1
	is(b, "end", b.apply(store.Write{Hold: c.Hold, To: workflow.Completed}).OK, true)
	for _, to := range workflow.Statuses() {
		is(b, "after the end", b.apply(store.Write{Hold: c.Hold, To: to}), store.Applied{})
	}
	if none, err := b.s.Apply(b.ctx(), process, nil); err != nil || len(none) != 0 {
		b.Fatalf("no writes: %v, %v", none, err)
	}
}

// applyIllegal: a holder may not bring its task into SCHEDULING or nonsense.
func applyIllegal(b *bed) {
	b.enrol()
	c := b.held()
	is(b, "to SCHEDULING", b.apply(store.Write{Hold: c.Hold, To: workflow.Scheduling}), store.Applied{})
	is(b, "to nonsense", b.apply(store.Write{Hold: c.Hold, To: "NONSENSE"}), store.Applied{})
	is(b, "status", b.read(c.ID).Status, workflow.Scheduling)
}

// applyMixed: many tasks to all ends in one call, with one that has lost.
func applyMixed(b *bed) {
	b.enrol()
	const n = 300
	tasks := make([]store.NewTask, n)
	for i := range tasks {
		tasks[i] = task()
	}
	b.insert(tasks...)
	claimed := b.claim(n)
	is(b, "claimed", len(claimed), n)
	ends := []workflow.Status{workflow.Queued, workflow.Executing, workflow.Completed, workflow.Error, workflow.Failure}
	writes := make([]store.Write, n)
	for i, c := range claimed {
		writes[i] = store.Write{Hold: c.Hold, To: ends[i%len(ends)], Attempts: i, Desc: fmt.Sprint("d", i), Reason: fmt.Sprint("r", i), Delay: time.Hour}
		switch {
		case i%7 == 0:
			writes[i].Fence++
		case i%3 == 0:
			writes[i].Checkpoint, writes[i].Revision, writes[i].State = true, 1, json.RawMessage(fmt.Sprint(i))
			writes[i].Failures = []store.Failure{{Item: fmt.Sprint(i), Code: "c"}, {Item: "x", Code: "c"}}
		case i%3 == 1:
			writes[i].Attempt = &store.Attempt{Process: process, Fence: c.Fence, Class: "transient", Code: "c", Detail: "d", Attempt: i}
		default:
			writes[i].Result = json.RawMessage(fmt.Sprintf(`{"i":%d}`, i))
		}
	}
	applied, err := b.s.Apply(b.ctx(), process, writes)
	b.ok(err)
	is(b, "answers", len(applied), n)
	for i, w := range writes {
		got := b.read(w.ID)
		if i%7 == 0 {
			is(b, "lost", applied[i], store.Applied{})
			is(b, "status of the lost", got.Status, workflow.Scheduling)
			continue
		}
		is(b, "applied", applied[i].OK, true)
		is(b, "status", got.Status, w.To)
		is(b, "attempts, desc", fmt.Sprint(got.Attempts, got.Desc), fmt.Sprint(i, fmt.Sprint("d", i)))
		is(b, "started", got.Started != nil, w.To != workflow.Queued && w.To != workflow.Error)
		is(b, "stopped", got.Stopped != nil, w.To.Terminal())
		is(b, "process", got.Process != "", w.To.InFlight())
		is(b, "waits an hour", got.Wait > 50*time.Minute, w.To == workflow.Queued)
		is(b, "reason", got.Reason == fmt.Sprint("r", i), w.To == workflow.Queued)
		if w.Checkpoint {
			is(b, "state", string(got.State), fmt.Sprint(i))
		}
	}
	for table, mod := range map[string]int{"failure": 0, "attempt": 1, "result": 2} {
		want := 0
		for i := range n {
			if i%7 != 0 && i%3 == mod {
				want++
			}
		}
		if mod == 0 {
			want *= 2
		}
		is(b, table, b.count("SELECT count(*) FROM taskkit_task_"+table), want)
	}
	as, err := b.s.Attempts(b.ctx(), claimed[1].ID, 10)
	b.ok(err)
	is(b, "attempt", fmt.Sprintf("%+v", func() store.Attempt { a := as[0]; a.Created = time.Time{}; return a }()),
		fmt.Sprintf("%+v", store.Attempt{Process: process, Fence: 1, Class: "transient", Code: "c", Detail: "d", Attempt: 1}))
}

// applyTwiceOneTask: two writes of one task in one call are made in their order.
func applyTwiceOneTask(b *bed) {
	b.enrol()
	c := b.held()
	second := store.Write{Hold: c.Hold, To: workflow.Completed, Checkpoint: true, Revision: 1, State: json.RawMessage(`2`)}
	second.Seq = 1
	applied, err := b.s.Apply(b.ctx(), process, []store.Write{
		{Hold: c.Hold, To: workflow.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage(`1`)},
		second,
		{Hold: c.Hold, To: workflow.Failure},
	})
	b.ok(err)
	is(b, "applied", fmt.Sprint(applied), fmt.Sprint([]store.Applied{{OK: true}, {OK: true}, {}}))
	got := b.read(c.ID)
	is(b, "task", fmt.Sprint(got.Status, got.Seq, string(got.State)), fmt.Sprint(workflow.Completed, 2, "2"))
}

// applyEndWithoutStart: the end writes the start as well, and ERROR needs none.
func applyEndWithoutStart(b *bed) {
	b.enrol()
	for _, to := range []workflow.Status{workflow.Completed, workflow.Failure, workflow.Error} {
		c := b.held()
		is(b, "applied", b.apply(store.Write{Hold: c.Hold, To: to}).OK, true)
		got := b.read(c.ID)
		is(b, "started", got.Started != nil, to != workflow.Error)
	}
}

// applyControl: a request that stands comes back with the write, a release with
// a stop standing is due at once, and a void one is cleared.
func applyControl(b *bed) {
	b.enrol()
	c := b.held()
	_, err := b.request(c.ID, store.ActStop)
	b.ok(err)
	is(b, "control", b.apply(store.Write{Hold: c.Hold, To: workflow.Executing}).Control, workflow.Stop)
	is(b, "control", b.apply(store.Write{Hold: c.Hold, To: workflow.Queued, Delay: time.Hour}), store.Applied{OK: true, Control: workflow.Stop})
	got := b.read(c.ID)
	if got.Wait > 0 {
		b.Fatalf("waits %v with a stop standing", got.Wait)
	}
	again := b.claim(1)
	is(b, "claimed", len(again), 1)
	is(b, "control", again[0].Control, workflow.Stop)
	is(b, "cleared", b.apply(store.Write{Hold: again[0].Hold, To: workflow.Failure, ClearControl: true}), store.Applied{OK: true})
	got = b.read(c.ID)
	is(b, "control", got.Control, workflow.None)
	is(b, "control reason", got.ControlReason, "")

	// A pause holds the released task back.
	p := b.held()
	_, err = b.request(p.ID, store.ActPause)
	b.ok(err)
	is(b, "control", b.apply(store.Write{Hold: p.Hold, To: workflow.Queued}).Control, workflow.Pause)
	is(b, "claimed", len(b.claim(1)), 0)
}

// applyDelete: a task that ends with a delete standing is removed with all that
// belongs to it; the log of what was asked stays.
func applyDelete(b *bed) {
	b.enrol()
	for _, to := range []workflow.Status{workflow.Completed, workflow.Error, workflow.Failure} {
		c := b.held()
		b.apply(store.Write{
			Hold: c.Hold, To: workflow.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage(`{}`),
			Failures: []store.Failure{{Item: "x", Code: "c"}},
		})
		_, err := b.request(c.ID, store.ActDelete)
		b.ok(err)
		c.Seq++
		is(b, "applied", b.apply(store.Write{
			Hold: c.Hold, To: to, Checkpoint: true, Revision: 1, State: json.RawMessage(`{}`), Result: json.RawMessage(`1`),
			Failures: []store.Failure{{Item: "y", Code: "c"}}, Attempt: &store.Attempt{Class: "x"},
		}), store.Applied{OK: true, Control: workflow.Delete})
		b.gone(c.ID)
		es, err := b.s.Events(b.ctx(), c.ID, 10)
		b.ok(err)
		is(b, "events", len(es), 1)
	}
	for _, table := range []string{"queued_task", "task_failure", "task_attempt", "task_result"} {
		is(b, table, b.count("SELECT count(*) FROM taskkit_"+table), 0)
	}
	// Released, it stays for a worker to clean up.
	c := b.held()
	_, err := b.request(c.ID, store.ActDelete)
	b.ok(err)
	is(b, "released", b.apply(store.Write{Hold: c.Hold, To: workflow.Queued, Delay: time.Hour}), store.Applied{OK: true, Control: workflow.Delete})
	again := b.claim(1)
	is(b, "claimed", again[0].Control, workflow.Delete)
	// A delete that is void is none.
	is(b, "cleared", b.apply(store.Write{Hold: again[0].Hold, To: workflow.Completed, ClearControl: true}), store.Applied{OK: true})
	is(b, "status", b.read(c.ID).Status, workflow.Completed)
}

// nasty are texts that a database refuses or cuts off.
func nasty() []string {
	return []string{"a\x00b", "\xff\xfe\xed\xa0\x80", strings.Repeat("x", 10<<20), "'; DROP TABLE taskkit_queued_task; --", "\\u0000 {}\",NULL", "🙂\u202e\u200b", " \t\r\n"}
}

// applyTexts: to record what went wrong can never fail.
func applyTexts(b *bed) {
	b.enrol()
	for _, s := range nasty() {
		c := b.held()
		w := store.Write{
			Hold: c.Hold, To: workflow.Failure, Desc: s, Reason: s, Checkpoint: true, Revision: 1, State: json.RawMessage(`{}`),
			Failures: []store.Failure{{Item: s, Code: s, Detail: s}},
			Attempt:  &store.Attempt{Process: s, Class: s, Code: s, Detail: s},
		}
		is(b, "applied", b.apply(w).OK, true)
		got := b.read(c.ID)
		fs, err := b.s.Failures(b.ctx(), c.ID, uuid.Nil, 1)
		b.ok(err)
		as, err := b.s.Attempts(b.ctx(), c.ID, 1)
		b.ok(err)
		for _, text := range []string{got.Desc, fs[0].Item, fs[0].Detail, as[0].Detail, as[0].Process} {
			if text == "" || len(text) > 64<<10 || strings.ContainsRune(text, 0) {
				b.Fatalf("stored %d bytes of %.20q", len(text), s)
			}
		}
		// And a person's reason, and a process's version.
		if _, err := b.s.Request(b.ctx(), c.ID, store.Request{Action: store.ActRetry, Reason: s}); err != nil {
			b.Fatal(err)
		}
		if _, err := b.s.Request(b.ctx(), c.ID, store.Request{Action: store.ActPause, Reason: s}); err != nil {
			b.Fatal(err)
		}
	}
	b.enrol(func(p *store.Process) { p.ID, p.Version = "v", "a\x00\xff" })
}

// applyResult: a result is read, its first fetch noted, and a later one takes
// its place.
func applyResult(b *bed) {
	b.enrol()
	c := b.held()
	if r, _, err := b.s.Result(b.ctx(), c.ID); err != nil || r != nil {
		b.Fatalf("result before the end: %q, %v", r, err)
	}
	is(b, "failed", b.apply(store.Write{Hold: c.Hold, To: workflow.Failure, Revision: 4, Result: json.RawMessage(`18446744073709551615`)}).OK, true)
	for range 2 {
		r, revision, err := b.s.Result(b.ctx(), c.ID)
		b.ok(err)
		is(b, "revision", revision, 4)
		is(b, "result", string(r), `18446744073709551615`)
	}
	is(b, "fetched", b.count("SELECT count(*) FROM taskkit_task_result WHERE fetched_date IS NOT NULL"), 1)
	_, err := b.request(c.ID, store.ActRetry)
	b.ok(err)
	again := b.claim(1)
	is(b, "completed", b.apply(store.Write{Hold: again[0].Hold, To: workflow.Completed, Revision: 5, Result: json.RawMessage(`{"a":  1.0}`)}).OK, true)
	r, revision, err := b.s.Result(b.ctx(), c.ID)
	b.ok(err)
	is(b, "revision", revision, 5)
	is(b, "result, as written", string(r), `{"a":  1.0}`)
	if _, _, err := b.s.Result(b.ctx(), uuid.New()); !errors.Is(err, store.ErrNotFound) {
		b.Fatalf("result of no task: %v", err)
	}
}

// applyNumbers: a state of any JSON comes back as it was.
func applyNumbers(b *bed) {
	b.enrol()
	c := b.held()
	for i, state := range []string{`18446744073709551615`, `1.0`, `"text"`, `null`, `[]`, `1e400`, `"\u0000"`, `true`} {
		h := c.Hold
		h.Seq = int64(i)
		is(b, "applied", b.apply(store.Write{Hold: h, To: workflow.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage(state)}).OK, true)
		at, err := b.s.Positions(b.ctx(), []uuid.UUID{c.ID})
		b.ok(err)
		is(b, "state at a position", string(at[c.ID].State), state)
		is(b, "state", string(b.read(c.ID).State), state)
	}
	b.apply(store.Write{Hold: store.Hold{ID: c.ID, Fence: 1, Seq: 8}, To: workflow.Queued})
	is(b, "state of a claim", string(b.claim(1)[0].State), "true")
}
