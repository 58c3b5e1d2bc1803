package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/hibiken/asynq"
)

// asynqPeer measures asynq on a Redis without persistence, which loses acknowledged
// tasks when the server ends. It shows the scale, and is not an equal.
type asynqPeer struct {
	opt       asynq.RedisClientOpt
	client    *asynq.Client
	inspector *asynq.Inspector
	slots     int
}

// openAsynq returns an opener of asynq with a number of slots, or its default.
func openAsynq(slots int) opener {
	return func(_ context.Context, h *host, s setup) (peer, error) {
		if s.insert || s.pooler || s.template != "" || h.redis == nil {
			return nil, errNotOffered
		}
		opt := asynq.RedisClientOpt{Addr: h.redis.addr, PoolSize: maxConns}
		return &asynqPeer{opt, asynq.NewClient(opt), asynq.NewInspector(opt), slots}, nil
	}
}

func (p *asynqPeer) fill(ctx context.Context, n int) error {
	for range n {
		if err := p.submit(ctx, 0); err != nil {
			return err
		}
	}
	return nil
}

func (p *asynqPeer) submit(ctx context.Context, stamp int64) error {
	_, err := p.client.EnqueueContext(ctx, asynq.NewTask("tiny", strconv.AppendInt(nil, stamp, 10)))
	return err
}

func (p *asynqPeer) submitMany(context.Context, int) error { return errNotOffered }

func (p *asynqPeer) submitTx(context.Context, int64) error { return errNotOffered }

func (p *asynqPeer) work(_ context.Context, ran func(int64)) (func() error, error) {
	s := asynq.NewServer(p.opt, asynq.Config{Concurrency: p.slots, LogLevel: asynq.FatalLevel})
	err := s.Start(asynq.HandlerFunc(func(_ context.Context, t *asynq.Task) error {
		stamp, err := strconv.ParseInt(string(t.Payload()), 10, 64)
		if err != nil {
			return fmt.Errorf("read the stamp of a task: %w", err)
		}
		ran(stamp)
		return nil
	}))
	if err != nil {
		return nil, fmt.Errorf("start asynq: %w", err)
	}
	return func() error { s.Shutdown(); return nil }, nil
}

func (p *asynqPeer) done(context.Context) (bool, error) {
	q, err := p.inspector.GetQueueInfo("default")
	if err != nil {
		return false, fmt.Errorf("ask asynq for its queue: %w", err)
	}
	return q.Size == 0, nil
}

func (p *asynqPeer) quiesce(context.Context) error { return nil }

func (p *asynqPeer) close() error {
	_, err := p.inspector.DeleteAllPendingTasks("default")
	if errors.Is(err, asynq.ErrQueueNotFound) {
		err = nil
	}
	return errors.Join(err, p.client.Close(), p.inspector.Close())
}
