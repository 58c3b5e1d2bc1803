package intake

import (
	"context"
	"errors"
	"math/rand/v2"
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
// one statement.
const (
	pruneEvery = 10 * time.Minute
	prunePage  = 1000
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
	pruned := make(chan struct{})
	pctx, stop := context.WithCancel(ctx)
	go func() {
		defer close(pruned)
		c.prune(pctx)
	}()
	defer func() {
		stop()
		<-pruned
	}()
	for n := 1; ctx.Err() == nil; {
		ds, err := c.config.Source.Receive(ctx, c.config.BatchSize)
		if err == nil && len(ds) == 0 {
			err = errors.New("the source returned neither messages nor an error")
		}
		switch {
		case ctx.Err() != nil:
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
	d := c.config.Retry << min(n-1, 20)
	if d <= 0 || d > retryMax {
		d = retryMax
	}
	d += rand.N(d/4 + 1)
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

// prune removes rows older than Config.Remember, until ctx ends.
func (c *Consumer) prune(ctx context.Context) {
	t := time.NewTimer(rand.N(pruneEvery))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if err := c.pruneOnce(ctx); err != nil && ctx.Err() == nil {
			c.config.Log.Warn("intake: cannot remove old messages", "source", c.config.Name, "error", err)
		}
		t.Reset(pruneEvery)
	}
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
