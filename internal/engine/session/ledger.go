package session

import (
	"fmt"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// ledger returns what a batch adds to the ledger of its task: the items of which it
// recorded that they succeeded. In a kind with a list of targets, the success of elements which
// Take has returned follows from their positions.
//
// An error means that the list is too long. A smaller batch may succeed.
func (c *current) ledger(step *Step, succeeded []string) (store.Ledger, error) {
	if !c.kind.Ledger || len(succeeded) == 0 || c.kind.DecodeTargets != nil && step.tookElements() {
		return store.Ledger{}, nil
	}
	before := c.progress
	l := store.Ledger{Keys: succeeded, Replaces: before.Failed > 0 || before.Skipped > 0}
	if size := l.Size(); size > store.MaxLedger {
		text := fmt.Sprintf("the batch recorded %d items with b.Succeed, whose keys have %d bytes, and the ledger takes at most %d of a batch: keep to b.Limit",
			len(succeeded), size, store.MaxLedger)
		return store.Ledger{}, &classifiedError{text: text, class: classify.Classification{
			Class: lifecycle.Permanent, Code: classify.CodeBatchTooLarge, TooLarge: true, Detail: text,
		}}
	}
	return l, nil
}

// tookElements reports whether Take has returned elements of a list.
func (s *Step) tookElements() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to > s.from
}
