package lifecycle

// Position is where a read-back found a task.
type Position struct {
	Exists     bool
	Fence, Seq int64
	Status     Status
}

// Proof is what a read-back proves about a write whose outcome was unknown.
type Proof int

// The proofs.
const (
	NotYet   Proof = iota // it has not happened, and may still happen
	Happened              // it has happened
	Lost                  // the task lease is gone: the write can never happen, or no longer matters
)

// ReadBack returns what the position of a task proves about a write of its
// holder. While the row has the fence of the write, only the holder can
// have changed checkpoint_seq or the status, except to take the task away.
func ReadBack(w Write, p Position) Proof {
	switch {
	case !p.Exists:
		// A row is removed by an end while a delete stands, or by a delete
		// after the end.
		if w.To.Terminal() {
			return Happened
		}
		return Lost
	case p.Fence != w.Fence:
		return Lost
	case w.Checkpoint && p.Seq == w.Seq+1 && p.Status.InFlight() && !w.To.InFlight():
		// The checkpoint is from an earlier execution of the batch, whose commit was late.
		return Lost
	case w.Checkpoint && p.Seq == w.Seq+1:
		return Happened
	case !w.Checkpoint && p.Seq == w.Seq && p.Status == w.To:
		return Happened
	case p.Seq == w.Seq && p.Status.InFlight():
		return NotYet
	}
	return Lost
}

// Leased reports whether the holder of a task under a fence still has it. Its
// checkpoint_seq may be higher than the holder's: a commit that seemed to
// have failed was late. That checkpoint is the holder's own.
func (p Position) Leased(fence int64) bool {
	return p.Exists && p.Fence == fence && p.Status.InFlight()
}
