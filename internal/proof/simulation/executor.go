package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// insertTouch is the statement by which executors write the items that they have
// processed.
const insertTouch = "INSERT INTO touch (first, last, spec) VALUES ($1, $2, $3)"

// errFlaky is an error that may be gone the next time.
var errFlaky = errors.New("simulated: a transient error")

// batchOfFrozen is the size of the first batch over a frozen set: some batches lie
// within a page, and others need two.
const batchOfFrozen = 400

// lastPass is the last pass over the items of a task.
const lastPass = 2

// stopAfter are the stop policies of kinds.
var stopAfter = map[string]lifecycle.StopPolicy{kindRemote: {Failed: 3}}

// kinds are the bulk actions that one worker knows.
func (n *node) kinds(all bool) map[string]*session.Kind {
	ks := make(map[string]*session.Kind)
	for _, name := range []string{kindMove, kindTidy, kindCount, kindRemote, kindFrozen, kindParent} {
		if name == kindRemote && !all {
			continue
		}
		ks[name] = &session.Kind{
			Name: name, Revision: 1, Reads: []int{1}, Limit: mostInBatch, Ledger: keepsLedger(name), FindsTargets: name == kindFrozen,
			HasAbort: name == kindTidy || name == kindFrozen || name == kindParent, HasReport: name == kindTidy || name == kindFrozen || name == kindParent,
			Children: name == kindParent, Touches: n.plan.Throttle.touches(name),
			Preview: true, StopAfter: stopAfter[name], DeferDelays: []time.Duration{300 * time.Millisecond, 2 * time.Second},
			Scheduled: n.scheduled,
			Open: func(t session.Task, spec json.RawMessage) (session.Call, error) {
				var number int
				if err := json.Unmarshal(spec, &number); err != nil {
					return nil, err
				}
				return &call{node: n, task: n.task(t.ID), id: t.ID, spec: string(spec), told: n.told(t.ID), boundary: time.Now()}, nil
			},
		}
	}
	ks[kindFrozen].Limit = batchOfFrozen
	decode := func(_ session.Task, _ json.RawMessage, _ string, keys json.RawMessage) (any, int, error) {
		var page []int
		err := json.Unmarshal(keys, &page)
		n.count("page of a frozen set")
		return page, len(page), err
	}
	ks[kindFrozen].DecodeTargets, ks[kindParent].DecodeTargets = decode, decode
	return ks
}

// keepsLedger reports whether it is recorded which items of a kind have succeeded.
func keepsLedger(kind string) bool { return kind == kindTidy || kind == kindCount }

// call is the executor of one task: it moves a cursor over the task's items and
// writes a row for each.
type call struct {
	*node
	task *Task
	id   uuid.UUID
	spec string

	told     reading
	boundary time.Time // when the session began, or its last batch has returned
}

// state is what a batch hands to the next.
type state struct {
	At     int   `json:"at"`
	Pass   int   `json:"pass,omitempty"`
	Search int   `json:"search,omitempty"` // how much it has found, with repetitions
	Wait   *wait `json:"wait,omitempty"`   // of a parent

	done bool // with this pass
}

// Execute implements [session.Call].
func (c *call) Execute(ctx context.Context, s *session.Step, raw json.RawMessage) (session.Next, json.RawMessage, error) {
	c.begins(ctx)
	defer func() { c.boundary = time.Now() }()
	var at state
	if err := json.Unmarshal(raw, &at); err != nil {
		return session.Next{}, nil, err
	}
	if err := c.mood(ctx); err != nil {
		return session.Next{}, nil, err
	}
	if s.Attempt > 1 {
		c.count("tried again")
	}
	if s.Attempt > maxAttempts {
		c.know(func(f *facts) { f.tooOften[c.id] = s.Attempt })
	}
	batch := c.batch
	if c.task.Kind == kindFrozen {
		batch = c.frozenBatch
	}
	if c.task.Kind == kindParent {
		next, err := c.parentBatch(ctx, s, &at)
		if err != nil {
			return session.Next{}, nil, err
		}
		out, err := json.Marshal(at)
		return next, out, err
	}
	if err := batch(ctx, s, &at); err != nil {
		return session.Next{}, nil, err
	}
	out, err := json.Marshal(at)
	if err != nil {
		return session.Next{}, nil, err
	}
	switch {
	case at.At >= c.task.Items && (c.task.Kind != kindFrozen || at.done):
		return session.Next{Done: true}, out, nil
	case c.chance(c.plan.Later):
		c.count("later")
		return session.Next{Wait: c.between(time.Millisecond, 2*time.Second)}, out, nil
	}
	return session.Next{}, out, nil
}

// batch processes the next items.
func (c *call) batch(ctx context.Context, s *session.Step, at *state) error {
	s.Total(c.task.Items)
	early := c.chance(0.5)
	size := c.task.Batch
	if c.task.Conditions.Canary > 0 {
		size = min(size, s.Limit)
	}
	for end := min(at.At+size, c.task.Items); at.At < end; at.At++ {
		if !keepsLedger(c.task.Kind) {
			s.Advance(1) // a failed item is processed too
		}
		process, i := c.item, c.task.value(at.At)
		if c.task.again(at.At) {
			c.count("failed item that succeeds later")
			process = c.work
		}
		if err := process(ctx, s, i, i); err != nil {
			return err
		}
		if !early && c.chance(c.plan.Transient/4) {
			return errFlaky
		}
	}
	return nil
}

// frozenBatch takes the next items of the frozen set.
func (c *call) frozenBatch(ctx context.Context, s *session.Step, at *state) error {
	t := s.Targets
	if t == nil || t.Err != nil {
		return fmt.Errorf("simulated: there is no frozen set: %v", t)
	}
	c.given(t)
	switch {
	case c.task.Range != nil:
		c.count("batch of a range")
	case c.task.Part:
		c.count("batch of a bucket that has found its targets")
	}
	var loaded []int
	for _, l := range t.Lists {
		loaded = append(loaded, l.([]int)...) //nolint:forcetypeassert,errcheck // see kinds
	}
	items, next := c.take(s, loaded, *at)
	pass := at.Pass
	for len(items) > 0 {
		// Those in a row of which nothing is to be said are one write.
		n := 1
		for n < len(items) && items[n] == items[0]+n && !c.task.special(items[n-1]) && !c.task.special(items[n]) {
			n++
		}
		if pass < c.task.deferred(items[0]) {
			c.count("deferred item")
			s.Defer(itemkey.Encode(items[0]), errors.New("simulated: an item that is busy"))
		} else if err := c.item(ctx, s, items[0], items[n-1]); err != nil {
			return err
		}
		items = items[n:]
		if c.chance(c.plan.Transient / 4) {
			return errFlaky
		}
	}
	*at = next
	return nil
}

// take returns the next items of a frozen set, and the state after them.
func (c *call) take(s *session.Step, loaded []int, at state) ([]int, state) {
	t, items := s.Targets, loaded
	if s.Deferred == nil {
		from, to := s.Take(t.Total, min(s.Limit, t.Most), func(i int) string { return itemkey.Encode(loaded[i-t.From]) })
		items, at.At, at.done = loaded[from-t.From:to-t.From], to, to >= t.Total
	} else {
		c.count("deferred item tried again")
		items = nil
		for _, p := range s.Deferred.Positions {
			items = append(items, loaded[int(p)-1-t.From])
		}
		n, more := s.TakeDeferred(s.Limit, func(i int) string { return itemkey.Encode(items[i]) })
		items, at.done = items[:n], !more
	}
	if at.done {
		at.Pass++
	}
	return items, at
}

// special reports whether something else happens at an item than a write.
func (t *Task) special(i int) bool {
	return t.fails(i) || t.skips(i) || t.deferred(i) > 0 || i == t.Killer || i == t.Poison || i == t.Panic || i == t.Goexit
}

// mood is what an execution does before it does anything.
func (c *call) mood(ctx context.Context) error {
	if c.chance(c.plan.Ignore) {
		c.count("context ignored")
		pass(c.between(time.Second, 9*time.Second))
		return errFlaky
	}
	most := c.plan.ExecTime
	if c.task.Kind == kindFrozen {
		most /= 10 // or batches become small, of which there would be very many
	}
	if err := sleep(ctx, c.between(0, most)); err != nil {
		return err
	}
	if c.chance(c.plan.Transient) {
		c.count("transient error")
		return errFlaky
	}
	return nil
}

// item processes the items from i to last. They are one, or none of them is special.
func (c *call) item(ctx context.Context, s *session.Step, i, last int) error {
	t := c.task
	if err := c.fatal(ctx, i); err != nil {
		return err
	}
	switch {
	case t.fails(i):
		if keepsLedger(t.Kind) {
			s.Succeed(itemkey.Encode(i)) // the last outcome counts
		}
		s.Fail(itemkey.Encode(i), errors.New("simulated: an item that never works"))
		return nil
	case t.skips(i):
		c.count("skipped item")
		s.Skip(itemkey.Encode(i), "nothing_to_do")
		return nil
	}
	return c.work(ctx, s, i, last)
}

// fatal does what an item does that the task does not get past.
func (c *call) fatal(ctx context.Context, i int) error {
	t := c.task
	switch i {
	case t.Killer:
		c.count("worker killed by an item")
		c.crash()
		<-ctx.Done()
		return ctx.Err()
	case t.Poison:
		c.forGood("permanent error")
		return &classify.MarkedError{Class: lifecycle.Permanent, Code: "poison", Err: errors.New("simulated: a permanent error")}
	case t.Panic:
		c.forGood("panic")
		panic("simulated: a panic")
	case t.Goexit:
		c.forGood("goexit")
		runtime.Goexit()
	}
	return nil
}

// work does what makes the items from i to last succeed.
func (c *call) work(ctx context.Context, s *session.Step, i, last int) error {
	if c.task.Kind == kindCount {
		// A batch that is executed again may use a transaction although the one before did not, or the other way round.
		if c.chance(c.plan.Try) {
			c.count("transaction that writes nothing")
			if err := s.Try(ctx, func() error { return nil }); err != nil {
				return err
			}
		}
		s.Succeed(itemkey.Encode(i))
		return nil
	}
	if c.chance(c.plan.Try) {
		c.count("savepoint")
		err := s.Try(ctx, func() error {
			if err := c.touch(ctx, s, i, last); err != nil {
				return err
			}
			if keepsLedger(c.task.Kind) {
				s.Succeed(itemkey.Encode(-1)) // and is undone
			}
			return errFlaky
		})
		if !errors.Is(err, errFlaky) {
			return err
		}
	}
	return c.touch(ctx, s, i, last)
}

func (t *Task) fails(i int) bool { return t.Fails > 0 && i%t.Fails == t.Fails-1 }

func (t *Task) skips(i int) bool { return t.Skips > 0 && i%t.Skips == 0 && !t.fails(i) }

// deferred is how often an item is deferred. One that is deferred in the last pass fails.
func (t *Task) deferred(i int) int {
	if t.Defers == 0 || i%t.Defers != 0 || t.fails(i) || t.skips(i) {
		return 0
	}
	return (i/t.Defers + 1) % (lastPass + 2)
}

// outcome is what becomes of an item, "" if it succeeds, and in which pass.
func (t *Task) outcome(i int) (o store.Outcome, pass int) {
	d := t.deferred(i)
	switch {
	case t.fails(i), t.Preview && d > 0: // a preview has one pass
		return store.ItemFailed, 0
	case t.skips(i):
		return store.ItemSkipped, 0
	case d > lastPass:
		return store.ItemFailed, lastPass
	}
	return "", d
}

func (c *call) touch(ctx context.Context, s *session.Step, i, last int) error {
	for n := i; s.Preview && n <= last; n++ {
		s.Note(itemkey.Encode(n), "touched")
	}
	_, err := s.Tx.ExecContext(ctx, insertTouch, i, last, c.spec)
	for n := i; err == nil && keepsLedger(c.task.Kind) && n <= last; n++ {
		s.Succeed(itemkey.Encode(n))
	}
	return err
}

// forGood notes that the task may end in FAILURE.
func (c *call) forGood(what string) {
	c.count(what)
	c.know(func(f *facts) { f.permanent[c.id] = true })
}

// Abort implements [session.Call].
func (c *call) Abort(ctx context.Context, s *session.Step, _ json.RawMessage) error {
	c.count("abort: " + string(s.Ending))
	c.given(s.Targets)
	return c.mood(ctx)
}

// Report implements [session.Call].
func (c *call) Report(ctx context.Context, s *session.Step, raw json.RawMessage) (json.RawMessage, error) {
	c.count("report: " + string(s.Ending))
	c.given(s.Targets)
	return raw, c.mood(ctx)
}
