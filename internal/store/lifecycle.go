package store

import (
	"fmt"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/itemkey"
	"taskkit.dev/internal/lifecycle"
)

// Lifecycle returns the part of the write that the rules of the lifecycle use,
// with its texts as they are stored.
func (w *Write) Lifecycle() lifecycle.Write {
	return lifecycle.Write{
		Fence: w.Fence, Seq: w.Seq, To: w.To,
		Checkpoint: w.Checkpoint, Revision: w.Revision, State: w.State, Progress: w.Progress, Secrets: w.Secrets,
		Attempts: w.Attempts, Delay: w.Delay, At: w.At, Reason: classify.Clean(w.Reason), Desc: classify.Clean(w.StatusDetail), Partial: w.Partial,
	}
}

// SkippedItem is the failed item that a retry skips, without ID and time. The
// position counts from 1.
func SkippedItem(position int64) Item {
	return Item{
		Key: itemkey.Encode(fmt.Sprintf("position %d", position)), Outcome: ItemFailed, Position: position,
		Code: classify.CodeSkipped, Detail: "skipped by a retry that an operator requested",
	}
}
