package taskops

import (
	"context"
	"time"
)

// WorkerInfo is a worker process as recorded in the database.
type WorkerInfo struct {
	ID        string           `json:"id"`
	Version   string           `json:"version"`
	Kinds     map[string][]int `json:"kinds"` // kind to the revisions it reads
	Queues    []string         `json:"queues"`
	Slots     int              `json:"slots"`
	Busy      int              `json:"busy"` // slots with a task that it has claimed
	Draining  bool             `json:"draining"`
	SafeMode  bool             `json:"safe_mode"` // it claims nothing, see Config.SafeMode
	Started   time.Time        `json:"started"`
	Heartbeat time.Time        `json:"heartbeat"`
	Silence   time.Duration    `json:"silence_ns"` // since Heartbeat, by the database's clock
	DeadAfter time.Duration    `json:"dead_after_ns"`
	Alive     bool             `json:"alive"`
	Ended     *time.Time       `json:"ended,omitempty"`
	EndReason string           `json:"end_reason,omitempty"`
	// Present: the worker holds a presence lock, so that others notice at once when it is gone.
	Present bool `json:"present"`
	// FoundAlive is when a worker that had been declared dead turned out to run. Nothing was
	// done twice, but its tasks were taken over without need.
	FoundAlive *time.Time `json:"found_alive,omitempty"`
}

// ElectReader makes a live worker the one that reads figures for monitoring, unless another live worker is, and reports whether it is.
// It is that for this time, and again with each call that returns true. So of all workers one reads, and another one goes on when it has ended.
func (o *Operator) ElectReader(ctx context.Context, worker string, term time.Duration) (bool, error) {
	op, err := o.store(ctx)
	if err != nil {
		return false, err
	}
	elected, err := op.ElectReader(ctx, storable(worker), term)
	if err != nil {
		return false, o.public(ctx, err)
	}
	return elected, nil
}

// Workers returns the live workers and those that ended within the last hour.
func (o *Operator) Workers(ctx context.Context) ([]WorkerInfo, error) {
	op, err := o.store(ctx)
	if err != nil {
		return nil, err
	}
	ps, err := op.Processes(ctx, time.Hour)
	if err != nil {
		return nil, o.public(ctx, err)
	}
	infos := make([]WorkerInfo, len(ps))
	for i, p := range ps {
		infos[i] = WorkerInfo{
			ID: p.ID, Version: p.Version, Kinds: p.Kinds, Queues: p.Queues, Slots: p.Slots,
			Busy: p.Busy, Draining: p.Draining, SafeMode: p.SafeMode, Started: p.Started, Heartbeat: p.Heartbeat, Silence: p.Silence,
			DeadAfter: p.DeadAfter, Alive: p.Alive(), Ended: p.Ended, EndReason: p.EndReason,
			Present: p.Present, FoundAlive: p.FoundAlive,
		}
	}
	return infos, nil
}
