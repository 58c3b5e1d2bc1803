package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// applyStart: a start, then a checkpoint, then the end with another.
func applyStart(e *env) {
	e.registerWorker()
	c := e.claimedTask()
	is(e, "start", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Executing, Attempts: 1}), store.Applied{OK: true})
	got := e.read(c.ID)
	is(e, "status", got.Status, lifecycle.Executing)
	if got.Started == nil || got.Stopped != nil {
		e.Fatalf("started %v, stopped %v", got.Started, got.Stopped)
	}
	started := *got.Started

	w := store.Write{
		Lease: c.Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 2, State: json.RawMessage(`{"at":  7}`),
		Progress: lifecycle.Progress{Total: 10, Position: 5, Done: 4, Failed: 1, Skipped: 2},
		Items: []store.Item{
			{Key: `"p1"`, Outcome: store.ItemFailed, Code: "gone", Detail: "no such person", Position: 3, Attempt: 1},
			{Key: `{"id":7}`, Outcome: store.ItemSkipped, Code: "same"},
		},
	}
	is(e, "checkpoint", e.apply(w).OK, true)
	got = e.read(c.ID)
	is(e, "seq", got.Seq, 1)
	is(e, "state, as written", string(got.State), `{"at":  7}`)
	is(e, "revision, attempts", [2]int{got.Revision, got.Attempts}, [2]int{2, 0})
	is(e, "progress", got.Progress, w.Progress)
	if !got.Started.Equal(started) {
		e.Fatalf("started %v, was %v", got.Started, started)
	}
	is(e, "failed items", e.items(c.ID, store.ItemFailed), `["p1" failed gone "no such person" at 3, attempt 1]`)
	is(e, "skipped items", e.items(c.ID, store.ItemSkipped), `[{"id":7} skipped same "" at 0, attempt 0]`)

	at, err := e.s.Positions(e.ctx(), []uuid.UUID{c.ID, uuid.New()})
	e.ok(err)
	is(e, "positions", len(at), 1)
	p := at[c.ID]
	is(e, "position", fmt.Sprint(p.Fence, p.Seq, p.Status, p.Process, string(p.State), p.Progress), fmt.Sprint(1, 1, lifecycle.Executing, process, `{"at":  7}`, w.Progress))

	w.Seq, w.To, w.Items = 1, lifecycle.Completed, nil
	w.Progress.Total = -1
	is(e, "end", e.apply(w).OK, true)
	got = e.read(c.ID)
	is(e, "status", got.Status, lifecycle.Completed)
	is(e, "seq", got.Seq, 2)
	is(e, "process", got.Process, "")
	is(e, "total", got.Progress.Total, -1)
	if got.Stopped == nil || got.Elapsed < 0 {
		e.Fatalf("stopped %v, elapsed %v", got.Stopped, got.Elapsed)
	}
}

// applyGuards: a write with another fence, seq or status changes nothing.
func applyGuards(e *env) {
	e.registerWorker()
	c := e.claimedTask()
	for name, change := range map[string]func(*store.Lease){
		"older fence": func(h *store.Lease) { h.Fence-- }, "newer fence": func(h *store.Lease) { h.Fence++ },
		"newer seq": func(h *store.Lease) { h.Seq++ }, "no task": func(h *store.Lease) { h.ID = uuid.New() },
	} {
		h := c.Lease
		change(&h)
		for _, to := range lifecycle.Statuses() {
			is(e, name, e.apply(store.Write{Lease: h, To: to, Checkpoint: true, Revision: 1, State: json.RawMessage(`{}`)}), store.Applied{})
		}
	}
	is(e, "status", e.read(c.ID).Status, lifecycle.Scheduling)
	is(e, "the true one", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage(`{}`)}).OK, true)
	is(e, "again", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage(`{}`)}).OK, false)
	c.Seq = 1
	is(e, "end", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Completed}).OK, true)
	for _, to := range lifecycle.Statuses() {
		is(e, "after the end", e.apply(store.Write{Lease: c.Lease, To: to}), store.Applied{})
	}
	if none, err := e.s.Apply(e.ctx(), process, nil); err != nil || len(none) != 0 {
		e.Fatalf("no writes: %v, %v", none, err)
	}
}

// applyIllegal: a holder may not bring its task into SCHEDULING or nonsense.
func applyIllegal(e *env) {
	e.registerWorker()
	c := e.claimedTask()
	is(e, "to SCHEDULING", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Scheduling}), store.Applied{})
	is(e, "to nonsense", e.apply(store.Write{Lease: c.Lease, To: "NONSENSE"}), store.Applied{})
	is(e, "status", e.read(c.ID).Status, lifecycle.Scheduling)
}

// applyMixed: many tasks to all ends in one call, with one that has lost.
func applyMixed(e *env) {
	e.registerWorker()
	const n = 300
	tasks := make([]store.NewTask, n)
	for i := range tasks {
		tasks[i] = task()
	}
	e.insert(tasks...)
	claimed := e.claim(n)
	is(e, "claimed", len(claimed), n)
	ends := []lifecycle.Status{lifecycle.Queued, lifecycle.Executing, lifecycle.Completed, lifecycle.Error, lifecycle.Failure}
	writes := make([]*store.Write, n)
	for i, c := range claimed {
		writes[i] = &store.Write{Lease: c.Lease, To: ends[i%len(ends)], Attempts: i, StatusDetail: fmt.Sprint("d", i), Reason: fmt.Sprint("r", i), Delay: time.Hour}
		switch {
		case i%7 == 0:
			writes[i].Fence++
		case i%3 == 0:
			writes[i].Checkpoint, writes[i].Revision, writes[i].State = true, 1, json.RawMessage(fmt.Sprint(i))
			writes[i].Items = []store.Item{failedItem(i), failedItem("x")}
		case i%3 == 1:
			writes[i].Attempt = &store.Attempt{Process: process, Fence: c.Fence, Class: "transient", Code: "c", Detail: "d", Attempt: i}
		default:
			writes[i].Result = json.RawMessage(fmt.Sprintf(`{"i":%d}`, i))
		}
	}
	applied, err := e.s.Apply(e.ctx(), process, writes)
	e.ok(err)
	is(e, "answers", len(applied), n)
	for i, w := range writes {
		got := e.read(w.ID)
		if i%7 == 0 {
			is(e, "lost", applied[i], store.Applied{})
			is(e, "status of the lost", got.Status, lifecycle.Scheduling)
			continue
		}
		is(e, "applied", applied[i].OK, true)
		is(e, "status", got.Status, w.To)
		is(e, "attempts, desc", fmt.Sprint(got.Attempts, got.StatusDetail), fmt.Sprint(i, fmt.Sprint("d", i)))
		is(e, "started", got.Started != nil, w.To != lifecycle.Queued && w.To != lifecycle.Error || w.Checkpoint)
		is(e, "stopped", got.Stopped != nil, w.To.Terminal())
		is(e, "process", got.Process != "", w.To.InFlight())
		is(e, "waits an hour", got.Wait > 50*time.Minute, w.To == lifecycle.Queued)
		is(e, "waiting reason", got.WaitingReason == fmt.Sprint("r", i), w.To == lifecycle.Queued)
		is(e, "reason", got.Reason, "")
		if w.Checkpoint {
			is(e, "state", string(got.State), fmt.Sprint(i))
		}
	}
	for rows, mod := range map[Rows]int{Items: 0, Attempts: 1, Results: 2} {
		want := 0
		for i := range n {
			if i%7 != 0 && i%3 == mod {
				want++
			}
		}
		if mod == 0 {
			want *= 2
		}
		is(e, string(rows), e.count(rows), want)
	}
	as, err := e.s.Attempts(e.ctx(), claimed[1].ID, 10)
	e.ok(err)
	is(e, "attempt", fmt.Sprintf("%+v", func() store.Attempt { a := as[0]; a.Created = time.Time{}; return a }()),
		fmt.Sprintf("%+v", store.Attempt{Process: process, Fence: 1, Class: "transient", Code: "c", Detail: "d", Attempt: 1}))
}

// applyTwiceOneTask: two writes of one task in one call are made in their order.
func applyTwiceOneTask(e *env) {
	e.registerWorker()
	c := e.claimedTask()
	second := store.Write{Lease: c.Lease, To: lifecycle.Completed, Checkpoint: true, Revision: 1, State: json.RawMessage(`2`)}
	second.Seq = 1
	applied, err := e.s.Apply(e.ctx(), process, []*store.Write{
		{Lease: c.Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage(`1`)},
		&second,
		{Lease: c.Lease, To: lifecycle.Failure},
	})
	e.ok(err)
	is(e, "applied", fmt.Sprint(applied), fmt.Sprint([]store.Applied{{OK: true}, {OK: true}, {}}))
	got := e.read(c.ID)
	is(e, "task", fmt.Sprint(got.Status, got.Seq, string(got.State)), fmt.Sprint(lifecycle.Completed, 2, "2"))
}

// applyEndWithoutStart: the end writes the start as well, and ERROR needs none. So does a batch after which the task waits, and the next
// claim keeps it as the first start.
func applyEndWithoutStart(e *env) {
	e.registerWorker()
	for _, to := range []lifecycle.Status{lifecycle.Completed, lifecycle.Failure, lifecycle.Error} {
		c := e.claimedTask()
		is(e, "applied", e.apply(store.Write{Lease: c.Lease, To: to}).OK, true)
		got := e.read(c.ID)
		is(e, "started", got.Started != nil, to != lifecycle.Error)
	}
	e.removeTasks()
	for way, write := range map[string]func(store.Write) (store.Applied, error){
		"alone":        func(w store.Write) (store.Applied, error) { return e.apply(w), nil },
		"with a batch": func(w store.Write) (store.Applied, error) { return e.begin(w.Lease).Commit(e.ctx(), w) },
	} {
		c := e.claimedTask()
		is(e, way+": given back", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Queued}).OK, true)
		if at := e.read(c.ID).Started; at != nil {
			e.Fatalf("%s: the task was not executed, and has started at %v", way, at)
		}
		c = e.claim(1)[0]
		a, err := write(store.Write{Lease: c.Lease, To: lifecycle.Queued, Checkpoint: true, Revision: 1})
		e.ok(err)
		is(e, way+": waits", a.OK, true)
		before := e.read(c.ID).Started
		p, err := e.s.Plan(e.ctx(), c.ID)
		e.ok(err)
		if before == nil || !p.FirstStarted.Equal(*before) {
			e.Fatalf("%s: the task has started at %v, its plan says %v", way, before, p.FirstStarted)
		}
		c = e.claim(1)[0]
		is(e, way+": ends", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Completed}).OK, true)
		if got := e.read(c.ID).Started; got == nil || !got.Equal(*before) {
			e.Fatalf("%s: the task has started at %v, and then at %v", way, before, got)
		}
	}
}

// applyControl: a request that stands comes back with the write, a release with
// a stop standing is due at once, and none stands after the end.
func applyControl(e *env) {
	e.registerWorker()
	c := e.claimedTask()
	_, err := e.request(c.ID, lifecycle.ActStop)
	e.ok(err)
	is(e, "control", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Executing}).Control, lifecycle.Stop)
	is(e, "control", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Queued, Delay: time.Hour}), store.Applied{OK: true, Control: lifecycle.Stop})
	got := e.read(c.ID)
	if got.Wait > 0 {
		e.Fatalf("waits %v with a stop standing", got.Wait)
	}
	again := e.claim(1)
	is(e, "claimed", len(again), 1)
	is(e, "control", again[0].Control, lifecycle.Stop)
	is(e, "cleared", e.apply(store.Write{Lease: again[0].Lease, To: lifecycle.Failure}), store.Applied{OK: true})
	got = e.read(c.ID)
	is(e, "control", got.Control, lifecycle.None)
	is(e, "control reason", got.ControlReason, "")

	// A pause holds the released task back.
	p := e.claimedTask()
	_, err = e.request(p.ID, lifecycle.ActPause)
	e.ok(err)
	is(e, "control", e.apply(store.Write{Lease: p.Lease, To: lifecycle.Queued}).Control, lifecycle.Pause)
	is(e, "claimed", len(e.claim(1)), 0)
}

// applyDelete: a task that ends with a delete standing is removed with all that
// belongs to it; the log of requests stays.
func applyDelete(e *env) {
	e.registerWorker()
	for _, to := range []lifecycle.Status{lifecycle.Completed, lifecycle.Error, lifecycle.Failure} {
		c := e.claimedTask()
		e.apply(store.Write{
			Lease: c.Lease, To: lifecycle.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage(`{}`),
			Items: []store.Item{failedItem("x")},
		})
		_, err := e.request(c.ID, lifecycle.ActDelete)
		e.ok(err)
		c.Seq++
		is(e, "applied", e.apply(store.Write{
			Lease: c.Lease, To: to, Checkpoint: true, Revision: 1, State: json.RawMessage(`{}`), Result: json.RawMessage(`1`),
			Items: []store.Item{failedItem("y")}, Attempt: &store.Attempt{Class: "x"},
		}), store.Applied{OK: true, Control: lifecycle.Delete})
		e.gone(c.ID)
		es, err := e.s.Events(e.ctx(), c.ID, 10)
		e.ok(err)
		is(e, "events", len(es), 1)
	}
	for _, rows := range []Rows{Tasks, Items, Attempts, Results} {
		is(e, string(rows), e.count(rows), 0)
	}
	// Released, it stays for a worker to clean up.
	c := e.claimedTask()
	_, err := e.request(c.ID, lifecycle.ActDelete)
	e.ok(err)
	is(e, "released", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Queued, Delay: time.Hour}), store.Applied{OK: true, Control: lifecycle.Delete})
	again := e.claim(1)
	is(e, "claimed", again[0].Control, lifecycle.Delete)
	// The row goes when the task comes to its own end, and so does one that fails.
	is(e, "removed", e.apply(store.Write{Lease: again[0].Lease, To: lifecycle.Completed}), store.Applied{OK: true, Control: lifecycle.Delete})
	e.gone(c.ID)
}

// nasty are texts that a database refuses or cuts off.
func nasty() []string {
	return []string{"a\x00b", "\xff\xfe\xed\xa0\x80", strings.Repeat("x", 10<<20), "'; DROP TABLE taskkit_queued_task; --", "\\u0000 {}\",NULL", "🙂\u202e\u200b", " \t\r\n"}
}

// applyTexts: to record what went wrong can never fail.
func applyTexts(e *env) {
	e.registerWorker()
	for _, s := range nasty() {
		c := e.claimedTask()
		w := store.Write{
			Lease: c.Lease, To: lifecycle.Failure, StatusDetail: s, Reason: s, Checkpoint: true, Revision: 1, State: json.RawMessage(`{}`),
			Items:   []store.Item{{Key: itemkey.Encode(s), Outcome: store.ItemFailed, Code: s, Detail: s}},
			Attempt: &store.Attempt{Process: s, Class: s, Code: s, Detail: s},
		}
		is(e, "applied", e.apply(w).OK, true)
		got := e.read(c.ID)
		items, err := e.s.Items(e.ctx(), c.ID, store.ItemFailed, store.ItemCursor{}, 1)
		e.ok(err)
		as, err := e.s.Attempts(e.ctx(), c.ID, 1)
		e.ok(err)
		for _, text := range []string{got.StatusDetail, items[0].Key, items[0].Detail, as[0].Detail, as[0].Process} {
			if text == "" || len(text) > 64<<10 || strings.ContainsRune(text, 0) {
				e.Fatalf("stored %d bytes of %.20q", len(text), s)
			}
		}
		// And a person's reason, and a process's version.
		if _, err := e.s.Request(e.ctx(), c.ID, store.Request{Action: lifecycle.ActRetry, Reason: s}); err != nil {
			e.Fatal(err)
		}
		if _, err := e.s.Request(e.ctx(), c.ID, store.Request{Action: lifecycle.ActPause, Reason: s}); err != nil {
			e.Fatal(err)
		}
	}
	e.registerWorker(func(p *store.Process) { p.ID, p.Version = "v", "a\x00\xff" })
}

// applyResult: a result is read, its first fetch is recorded, and a later result
// takes its place.
func applyResult(e *env) {
	e.registerWorker()
	c := e.claimedTask()
	if r, _, err := e.s.Result(e.ctx(), c.ID); err != nil || r != nil {
		e.Fatalf("result before the end: %q, %v", r, err)
	}
	is(e, "failed", e.apply(store.Write{Lease: c.Lease, To: lifecycle.Failure, Revision: 4, Result: json.RawMessage(`18446744073709551615`)}).OK, true)
	for range 2 {
		r, revision, err := e.s.Result(e.ctx(), c.ID)
		e.ok(err)
		is(e, "revision", revision, 4)
		is(e, "result", string(r), `18446744073709551615`)
	}
	is(e, "fetched by reading", e.count(FetchedResults), 0)
	for range 2 {
		r, revision, err := e.s.Fetch(e.ctx(), c.ID)
		e.ok(err)
		is(e, "revision", revision, 4)
		is(e, "result", string(r), `18446744073709551615`)
	}
	is(e, "fetched", e.count(FetchedResults), 1)
	_, err := e.request(c.ID, lifecycle.ActRetry)
	e.ok(err)
	again := e.claim(1)
	is(e, "completed", e.apply(store.Write{Lease: again[0].Lease, To: lifecycle.Completed, Revision: 5, Result: json.RawMessage(`{"a":  1.0}`)}).OK, true)
	r, revision, err := e.s.Result(e.ctx(), c.ID)
	e.ok(err)
	is(e, "revision", revision, 5)
	is(e, "result, as written", string(r), `{"a":  1.0}`)
	if _, _, err := e.s.Result(e.ctx(), uuid.New()); !errors.Is(err, store.ErrNotFound) {
		e.Fatalf("result of no task: %v", err)
	}
	if _, _, err := e.s.Fetch(e.ctx(), uuid.New()); !errors.Is(err, store.ErrNotFound) {
		e.Fatalf("fetch of no task: %v", err)
	}
}

// applyNumbers: a state of any JSON comes back as it was.
func applyNumbers(e *env) {
	e.registerWorker()
	c := e.claimedTask()
	for i, state := range []string{`18446744073709551615`, `1.0`, `"text"`, `null`, `[]`, `1e400`, `"\u0000"`, `true`} {
		h := c.Lease
		h.Seq = int64(i)
		is(e, "applied", e.apply(store.Write{Lease: h, To: lifecycle.Executing, Checkpoint: true, Revision: 1, State: json.RawMessage(state)}).OK, true)
		at, err := e.s.Positions(e.ctx(), []uuid.UUID{c.ID})
		e.ok(err)
		is(e, "state at a position", string(at[c.ID].State), state)
		is(e, "state", string(e.read(c.ID).State), state)
	}
	e.apply(store.Write{Lease: store.Lease{ID: c.ID, Fence: 1, Seq: 8}, To: lifecycle.Queued})
	is(e, "state of a claim", string(e.claim(1)[0].State), "true")
}
