package simulation

import (
	"context"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// firesAnyVersion fires a schedule whatever has become of it since it was read.
type firesAnyVersion struct{ *memstore.Store }

func (s firesAnyVersion) FireSchedule(ctx context.Context, f store.ScheduleFire) (bool, error) {
	now, err := s.Schedule(ctx, f.Name)
	if err != nil {
		return false, nil //nolint:nilerr // there is none
	}
	f.ID, f.Version = now.ID, now.Version
	return s.Store.FireSchedule(ctx, f)
}

func (s firesAnyVersion) FireSchedules(ctx context.Context, fires []store.ScheduleFire) ([]bool, error) {
	fired := make([]bool, len(fires))
	for i := range fires {
		var err error
		if fired[i], err = s.FireSchedule(ctx, fires[i]); err != nil {
			return nil, err
		}
	}
	return fired, nil
}

// claimsPaused claims tasks of paused queues too.
type claimsPaused struct{ *memstore.Store }

func (s claimsPaused) Claim(ctx context.Context, c store.Claim) (got store.ClaimResult, err error) {
	queues, err := s.PausedQueues(ctx)
	if err != nil {
		return got, err
	}
	set := func(paused bool) error {
		for _, q := range queues {
			if q.Paused {
				if err := s.PauseQueue(ctx, store.QueueChange{Queue: q.Queue, Paused: paused}); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := set(false); err != nil {
		return got, err
	}
	if got, err = s.Store.Claim(ctx, c); err != nil {
		return got, err
	}
	return got, set(true)
}
