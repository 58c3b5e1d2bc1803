package intake

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/store"
	"taskkit.dev/taskkit"
)

// item is a message of a batch on its way in.
type item struct {
	Delivery
	key      string // its id in the table
	decision *Decision
	used     bool // the decision was used by a transaction that has failed
	refused  *RefusedError
	tries    int       // of the handler
	failed   time.Time // when the handler first failed
	task     uuid.UUID
	paused   *taskkit.PausedError // the task is paused, and the message was merged into it
	// superseded: a newer version of its reference came before.
	superseded *taskkit.SupersededError
	// tried: a commit with the message had no answer, so its row may be from that commit.
	tried     bool
	duplicate bool
	row       uuid.UUID // of a message that was redriven; zero: it has none yet
	kept      bool      // it comes from its row, not from the broker
	differs   bool      // it is a duplicate with another body
	// dead: the message was refused, now or at an earlier delivery.
	dead bool
	done bool // its row is committed
}

// lock is what its submission locks.
func (i *item) lock() string {
	if i.decision == nil {
		return ""
	}
	return i.decision.lock
}

// takeIn takes a batch in and settles it. It returns when that is done or ctx has ended. The
// broker delivers the unsettled messages again.
func (c *Consumer) takeIn(ctx context.Context, ds []Delivery) {
	began := time.Now()
	items := c.items(ds)
	for n := 1; ; n++ {
		err := c.try(ctx, items)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errAgain) {
			n = 0
			continue
		}
		most := retryMax + retryMax/4
		for _, it := range items {
			if it.tries > 0 && !it.done && it.refused == nil && it.decision == nil {
				most = min(most, max(c.config.MaxHold-time.Since(it.failed), time.Millisecond))
			}
		}
		if c.waitAtMost(ctx, n, c.explained(ctx, err), most); ctx.Err() != nil {
			return
		}
	}
	c.acknowledge(ctx, items, began)
}

// items returns the items of a batch. Of messages with the same id all but the first are
// duplicates.
func (c *Consumer) items(ds []Delivery) []*item {
	items, first := make([]*item, len(ds)), make(map[string]*item, len(ds))
	for i, d := range ds {
		it := &item{Delivery: d, key: d.key()}
		_, it.kept = d.Receipt.(keptReceipt)
		items[i] = it
		if code, err := c.check(&it.Message); err != nil {
			c.refuse(it, code, err)
		}
		if before, is := first[it.key]; is {
			it.duplicate, it.done = true, true
			it.differs = hash(it.Body) != hash(before.Body)
		} else {
			first[it.key] = it
		}
	}
	return items
}

func (c *Consumer) refuse(it *item, code Code, err error) {
	it.dead = true
	it.refused = &RefusedError{Source: c.config.Name, ID: clip(it.ID), Code: code, Err: err}
}

// errAgain: the state of the batch has changed, so it is tried again at once.
var errAgain = errors.New("try the batch again")

// try takes in the remaining messages of a batch. When ctx ends, a transaction that has begun
// goes on.
func (c *Consumer) try(ctx context.Context, items []*item) error {
	if err := c.recognise(ctx, items); err != nil {
		return err
	}
	var ready []*item
	var failed error
	for _, it := range items {
		if it.done {
			continue
		}
		if it.refused == nil && (it.decision == nil || it.used) {
			if err := c.decide(ctx, it); err != nil {
				failed = err
				continue
			}
		}
		ready = append(ready, it)
	}
	for len(ready) > 0 {
		n := min(len(ready), c.most)
		if err := c.store(ctx, ready[:n]); err != nil {
			return err
		}
		ready = ready[n:]
		c.most = min(2*c.most, c.config.BatchSize)
	}
	return failed
}

// explained calls explained with the consumer's database.
func (c *Consumer) explained(ctx context.Context, err error) error {
	ctx, cancel := c.call(ctx)
	defer cancel()
	return explained(ctx, c.config.DB, c.config.Schema, err)
}

// call returns the context of a call or a transaction, which goes on when ctx ends.
func (c *Consumer) call(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), c.config.CallTimeout)
}

// recognise finds the messages that have been taken in before.
func (c *Consumer) recognise(ctx context.Context, items []*item) error {
	var keys []string
	for _, it := range items {
		if !it.done {
			keys = append(keys, it.key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	ctx, cancel := c.call(ctx)
	defer cancel()
	seen, err := c.sql.SeenMessages(ctx, c.config.DB, c.config.Name, keys)
	if err != nil {
		return err
	}
	for _, it := range items {
		was, is := seen[it.key]
		if it.done {
			continue
		}
		if it.row = uuid.Nil; is && was.Outcome == store.MessageRedriven {
			it.row = was.Row
		} else if is {
			it.done, it.duplicate, it.dead = true, !it.tried, was.Outcome == store.MessageRefused
			it.differs = it.duplicate && was.Hash != hash(it.Body)
		}
	}
	return nil
}

// decide calls the handler for a message. With an error it must be called again.
func (c *Consumer) decide(ctx context.Context, it *item) error {
	d, err := c.handle(ctx, it.Message)
	if err == nil && d.submit == nil && d.reason == "" {
		err = errors.New("the handler returned neither Submit nor SubmitJSON nor Drop with a reason")
	}
	if err == nil {
		it.decision, it.used = &d, false
		return nil
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if it.tries++; it.tries == 1 {
		it.failed = time.Now()
	}
	if code := ofHandler(ctx, err); code != "" {
		c.refuse(it, code, err)
	} else if held := time.Since(it.failed); it.tries >= c.config.MaxTries || held >= c.config.MaxHold {
		c.refuse(it, CodeGaveUp, fmt.Errorf("the handler failed %d times within %v: %w", it.tries, held.Round(time.Millisecond), err))
	} else {
		return fmt.Errorf("message %q: %w", clip(it.ID), err)
	}
	return nil
}

type panicError struct{ err error }

func (e *panicError) Error() string { return e.err.Error() }

// recovered turns a panic into the error of a call.
func recovered(err *error) {
	if v := recover(); v != nil {
		*err = &panicError{classify.Panic(v)}
	}
}

// handle calls the handler, and recovers a panic of it or of the method Error.
func (c *Consumer) handle(ctx context.Context, m Message) (d Decision, err error) {
	defer recovered(&err)
	ctx, cancel := context.WithTimeout(ctx, c.config.CallTimeout)
	defer cancel()
	if d, err = c.config.Handler(ctx, m); err != nil {
		_ = err.Error() // panics for some nil pointers
	}
	return d, err
}

// statements counts the statements of a transaction.
type statements struct {
	taskkit.ExecQuerier

	n int
}

func (s *statements) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	s.n++
	return s.ExecQuerier.ExecContext(ctx, query, args...)
}

func (s *statements) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	s.n++
	return s.ExecQuerier.QueryContext(ctx, query, args...)
}

// store submits the tasks of messages and records all of them, in one transaction.
func (c *Consumer) store(ctx context.Context, items []*item) (err error) {
	ctx, cancel := c.call(ctx)
	defer cancel()
	defer func() {
		if err != nil && ctx.Err() != nil {
			c.most = max(len(items)/2, 1) // perhaps it was too much for one transaction
		}
	}()
	tx, err := c.config.DB.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	defer tx.Rollback()
	// Consumers that lock the same references in another order would wait for each other. Messages of one stay in their order.
	slices.SortStableFunc(items, func(a, b *item) int { return strings.Compare(a.lock(), b.lock()) })
	rows, again := make([]*store.Message, 0, len(items)), []*store.Message(nil)
	counted := &statements{ExecQuerier: tx}
	for _, it := range items {
		it.used = true
		if it.refused == nil && it.decision.submit != nil {
			if err := c.submit(ctx, counted, it); err != nil {
				return err
			}
		}
		if row := c.row(it); it.row != uuid.Nil {
			again = append(again, row)
		} else {
			rows = append(rows, row)
		}
	}
	// Other consumers may take in the same messages at the same time, in another order.
	inOrder := func(a, b *store.Message) int { return strings.Compare(a.Message, b.Message) }
	slices.SortFunc(rows, inOrder)
	slices.SortFunc(again, inOrder)
	for _, row := range again {
		if is, err := c.sql.TakeMessageAnew(ctx, tx, row); err != nil {
			return err
		} else if !is {
			return errAgain // another consumer has taken it in
		}
	}
	if err := c.sql.RecordMessages(ctx, tx, rows); err != nil {
		if classify.UniqueViolation(err) {
			return errAgain // another consumer has taken in one of them
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		for _, it := range items {
			it.tried = true
		}
		return fmt.Errorf("commit %d messages: %w", len(items), err)
	}
	for _, it := range items {
		it.done = true
	}
	return nil
}

// submit submits the task of a message. A message that can never become a task is refused.
// If a statement was executed before that, the whole transaction must begin again.
func (c *Consumer) submit(ctx context.Context, tx *statements, it *item) error {
	first := []taskkit.SubmitOption{taskkit.WithReason("message: source=" + c.config.Name + " id=" + clip(it.ID))}
	if c.config.Schema != taskkit.DefaultSchema {
		first = append(first, taskkit.WithSchema(c.config.Schema))
	}
	if !it.NotBefore.IsZero() {
		first = append(first, taskkit.WithNotBefore(it.NotBefore))
	}
	before := tx.n
	id, err := it.decision.call(ctx, tx, first)
	paused, merged := errors.AsType[*taskkit.PausedError](err)
	superseded, older := errors.AsType[*taskkit.SupersededError](err)
	if err == nil || merged || older {
		it.task, it.paused, it.superseded = id, paused, superseded
		return nil
	}
	code := ofSubmission(ctx, err)
	if code == "" {
		return fmt.Errorf("submit the task of message %q: %w", clip(it.ID), err)
	}
	c.refuse(it, code, err)
	if tx.n != before {
		return errAgain
	}
	return nil
}

// row returns the record of a message.
func (c *Consumer) row(it *item) *store.Message {
	m := &store.Message{ID: it.row, Source: c.config.Name, Message: it.key, Hash: hash(it.Body)}
	if m.ID == uuid.Nil {
		m.ID = store.NewID()
	}
	switch {
	case it.refused != nil:
		m.Outcome, m.Code, m.Detail = store.MessageRefused, string(it.refused.Code), it.refused.Err.Error()
		m.Body, m.Headers = kept(&it.Message)
	case it.decision.submit == nil:
		m.Outcome, m.Detail = store.MessageDropped, it.decision.reason
	case it.superseded != nil:
		m.Outcome, m.Detail = store.MessageSuperseded, it.superseded.Error()
	default:
		m.Outcome, m.Task = store.MessageSubmitted, it.task
	}
	return m
}

// acknowledge acknowledges or rejects the messages of a batch whose rows are committed, and
// counts them. After an error the broker delivers them again.
func (c *Consumer) acknowledge(ctx context.Context, items []*item, began time.Time) {
	e := Received{Source: c.config.Name, Messages: len(items)}
	var accepted, rejected []Delivery
	for _, it := range items {
		switch {
		case it.duplicate:
			e.Duplicates++
			if it.differs {
				c.config.Log.Warn("intake: message has the id of an earlier one and another body: it is a duplicate", "source", c.config.Name, "id", clip(it.key))
				c.observe(ctx, DuplicateDiffers{Source: c.config.Name, ID: clip(it.key)})
			}
		case it.refused != nil:
			e.Refused++
			c.config.Log.Error("intake: message refused", "source", c.config.Name, "id", it.refused.ID, "code", it.refused.Code, "error", it.refused.Err)
			c.observe(ctx, MessageRefused{Err: it.refused})
		case it.decision.submit == nil:
			e.Dropped++
		case it.superseded != nil:
			e.Superseded++
			c.config.Log.Info("intake: message superseded", "source", c.config.Name, "id", it.ID,
				"reference", it.superseded.Reference, "version", it.superseded.Version, "newest", it.superseded.Newest)
		default:
			e.Submitted++
			if it.paused != nil {
				e.Paused++
				c.config.Log.Warn("intake: message merged into a paused task, which waits for a resume", "source", c.config.Name, "id", it.ID, "task", it.task, "reference", it.paused.Reference)
				c.observe(ctx, MergedIntoPaused{Source: c.config.Name, ID: it.ID, Err: it.paused})
			}
		}
		if it.kept {
			e.Redriven++
		} else if it.dead && c.config.DeadLetter {
			rejected = append(rejected, it.Delivery)
		} else {
			accepted = append(accepted, it.Delivery)
		}
	}
	c.counts.received.Add(int64(e.Messages))
	c.counts.submitted.Add(int64(e.Submitted))
	c.counts.dropped.Add(int64(e.Dropped))
	c.counts.superseded.Add(int64(e.Superseded))
	c.counts.refused.Add(int64(e.Refused))
	c.counts.duplicates.Add(int64(e.Duplicates))
	c.counts.paused.Add(int64(e.Paused))
	err := c.withoutDeadLetter(ctx, c.callSource(ctx, c.config.Source.Reject, rejected))
	if err = errors.Join(err, c.callSource(ctx, c.config.Source.Ack, accepted)); err != nil {
		c.config.Log.Warn("intake: cannot acknowledge messages, which will be delivered again", "source", c.config.Name, "messages", len(items), "error", err)
	}
	e.Duration = time.Since(began)
	c.observe(ctx, e)
}

// callSource acknowledges or rejects messages.
func (c *Consumer) callSource(ctx context.Context, how func(context.Context, []Delivery) error, ds []Delivery) error {
	if len(ds) == 0 {
		return nil
	}
	ctx, cancel := c.call(ctx)
	defer cancel()
	return how(ctx, ds)
}

// withoutDeadLetter records and acknowledges the messages of a *[DeadLetterError], and returns any other error.
func (c *Consumer) withoutDeadLetter(ctx context.Context, err error) error {
	failed, is := errors.AsType[*DeadLetterError](err)
	if !is {
		return err
	}
	for _, d := range failed.Deliveries {
		id := d.key()
		c.config.Log.Error("intake: message is no dead letter", "source", c.config.Name, "id", clip(id), "error", failed.Err)
		for n := 1; ; n++ {
			cctx, cancel := c.call(ctx)
			err := c.sql.RecordDeadLetterError(cctx, c.config.DB, c.config.Name, id, failed.Err.Error())
			cancel()
			if err == nil {
				break
			}
			if c.wait(ctx, n, err); ctx.Err() != nil {
				return err
			}
		}
		c.observe(ctx, DeadLetterFailed{Source: c.config.Name, ID: clip(id), Err: failed.Err})
	}
	return c.callSource(ctx, c.config.Source.Ack, failed.Deliveries)
}
