package session

import (
	"slices"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// KindReceiver is implemented by executors of package tasktest. Registering one
// hands it the bound kind, so that tests can run it without a registry's types.
type KindReceiver interface{ ReceiveKind(k *Kind) }

// NewStandaloneStep returns a step that belongs to no worker, for unit tests of
// executors. It calls no methods of the store but Begin, Dialect and Schema. The progress
// is as of the last checkpoint.
func NewStandaloneStep(t Task, s store.Runtime, env Env, committed lifecycle.Progress) *Step {
	env.Tx = newLazyTx(s, store.Lease{ID: t.ID}, store.TxTimeouts{})
	return newStep(t, env, committed)
}

// Recorded returns what the step would write if it ended now.
func (s *Step) Recorded() (lifecycle.Progress, []store.Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.progress(), slices.Clone(s.outcomes.items)
}
