package intake

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store/sqlbase"
	"taskkit.dev/taskkit"
)

// Consumer takes in the messages of one source. Several consumers, in one process or in many,
// may share a queue.
type Consumer struct {
	config Config
	sql    sqlbase.Statements // since Run began
	most   int                // messages in one transaction, at present
	counts counters

	pending atomic.Bool                        // there may be messages to be taken in anew
	stop    atomic.Pointer[context.CancelFunc] // ends the present Receive
}

// New returns a consumer. It uses neither the database nor the broker. All mistakes in the
// configuration are returned at once, each a *[taskkit.OptionError].
func New(c Config) (*Consumer, error) {
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	return &Consumer{config: c, most: c.BatchSize}, nil
}

// pruneEvery is how often a consumer removes old rows of messages, and prunePage how many in
// one statement. redriveEvery is how often it looks for messages that are to be taken in anew.
const (
	pruneEvery   = 10 * time.Minute
	prunePage    = 1000
	redriveEvery = 20 * time.Second
)

// Run takes messages in until ctx ends, then acknowledges those whose transaction it has begun,
// closes the source and returns nil. It returns an error only if it cannot begin: a
// *[taskkit.ConnectError] or a *[taskkit.SchemaError]. After that it survives failures of the
// database and of the broker. It may be called once.
func (c *Consumer) Run(ctx context.Context) error {
	defer func() {
		if err := c.config.Source.Close(); err != nil {
			c.config.Log.Warn("intake: cannot close the source", "source", c.config.Name, "error", err)
		}
	}()
	if err := c.prepare(ctx); ctx.Err() != nil {
		return nil
	} else if err != nil {
		return err
	}
	c.pending.Store(true)
	kept := make(chan struct{})
	kctx, stop := context.WithCancel(ctx)
	go func() {
		defer close(kept)
		c.keep(kctx)
	}()
	defer func() {
		stop()
		<-kept
	}()
	for n := 1; ctx.Err() == nil; {
		rctx, stop := context.WithCancel(ctx)
		if c.stop.Store(&stop); c.pending.Load() {
			stop()
			if err := c.takeInAnew(ctx); err != nil {
				c.wait(ctx, n, err)
				n++
			} else {
				n = 1
			}
			continue
		}
		ds, err := c.config.Source.Receive(rctx, c.config.BatchSize)
		interrupted := rctx.Err() != nil
		stop()
		if is[*DeadLetterError](err) {
			if err = c.withoutDeadLetter(ctx, err); err == nil {
				continue
			}
		}
		if err == nil && len(ds) == 0 {
			err = errors.New("the source returned neither messages nor an error")
		}
		switch {
		case interrupted: // an error occurs again
		case err != nil:
			c.wait(ctx, n, err)
			n++
		default:
			n = 1
		}
		if len(ds) > 0 {
			c.takeIn(ctx, ds)
		}
	}
	return nil
}

// prepare detects the database, and checks that the tables exist.
func (c *Consumer) prepare(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.CallTimeout)
	defer cancel()
	if err := taskkit.CheckSchema(ctx, c.config.DB, c.config.Schema); err != nil {
		return err
	}
	d, err := dialect.Detect(ctx, c.config.DB)
	if err != nil {
		return &taskkit.ConnectError{Err: err}
	}
	c.sql = sqlbase.NewStatements(d, c.config.Schema)
	return nil
}

// wait reports an error that may pass, and pauses before the next try.
func (c *Consumer) wait(ctx context.Context, n int, err error) {
	c.waitAtMost(ctx, n, err, retryMax+retryMax/4)
}

// waitAtMost is wait with a longest pause.
func (c *Consumer) waitAtMost(ctx context.Context, n int, err error, most time.Duration) {
	d := c.config.Retry << min(n-1, 20)
	if d <= 0 || d > retryMax {
		d = retryMax
	}
	d = min(d+rand.N(d/4+1), most)
	c.counts.waits.Add(1)
	c.config.Log.Warn("intake: waiting", "source", c.config.Name, "try", n, "retry_in", d, "error", err)
	c.observe(ctx, Waiting{Source: c.config.Name, Try: n, RetryIn: d, Err: err})
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (c *Consumer) observe(ctx context.Context, e Event) {
	if c.config.Observe != nil {
		c.config.Observe(ctx, e)
	}
}

// keep removes rows older than Config.Remember and looks for messages that are to be taken in anew, until ctx ends.
func (c *Consumer) keep(ctx context.Context) {
	prune := time.NewTimer(rand.N(pruneEvery))
	defer prune.Stop()
	redrive := time.NewTimer(rand.N(redriveEvery))
	defer redrive.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-redrive.C:
			err = c.redriven(ctx)
			redrive.Reset(redriveEvery)
		case <-prune.C:
			err = c.pruneOnce(ctx)
			prune.Reset(pruneEvery)
		}
		if err != nil && ctx.Err() == nil {
			c.config.Log.Warn("intake: cannot remove old messages or find redriven ones", "source", c.config.Name, "error", err)
		}
	}
}

// redriven interrupts Receive if there are messages to be taken in anew.
func (c *Consumer) redriven(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.CallTimeout)
	defer cancel()
	found, err := c.sql.RedrivenMessages(ctx, c.config.DB, c.config.Name, 1)
	if err != nil || len(found) == 0 {
		return err
	}
	c.pending.Store(true)
	if stop := c.stop.Load(); stop != nil {
		(*stop)()
	}
	return nil
}

// keptReceipt is the receipt of a message that comes from its row.
type keptReceipt struct{}

// takeInAnew takes in messages that [Redrive] has given back.
func (c *Consumer) takeInAnew(ctx context.Context) error {
	cctx, cancel := c.call(ctx)
	defer cancel()
	found, err := c.sql.RedrivenMessages(cctx, c.config.DB, c.config.Name, c.config.BatchSize)
	if err != nil {
		return c.explained(ctx, err)
	}
	c.pending.Store(len(found) == c.config.BatchSize)
	ds := make([]Delivery, len(found))
	for i, m := range found {
		ds[i].Receipt = keptReceipt{}
		if ds[i].Message, err = whole(m.Message, m.Body, m.Headers); err != nil {
			return err
		}
	}
	if len(ds) > 0 {
		c.takeIn(ctx, ds)
	}
	return nil
}

func (c *Consumer) pruneOnce(ctx context.Context) error {
	for n := prunePage; n == prunePage; {
		cctx, cancel := context.WithTimeout(ctx, c.config.CallTimeout)
		var err error
		n, err = c.sql.PruneMessages(cctx, c.config.DB, c.config.Name, c.config.Remember, prunePage)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// explained returns an error of the database, which is a *[taskkit.SchemaError] if the tables
// are the reason.
func explained(ctx context.Context, db taskkit.ExecQuerier, schema string, err error) error {
	if !classify.UndefinedTable(err) && !classify.UndefinedColumn(err) {
		return err
	}
	if wrong := taskkit.CheckSchema(ctx, db, schema); is[*taskkit.SchemaError](wrong) {
		return wrong
	}
	return err
}
