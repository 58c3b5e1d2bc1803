package lifecycle

// Skippable returns the position, from 1, of the element that an operator's retry
// skips: the one that taskkit.Take returns next. It returns 0 if there is none, or if
// the task has made checkpoints without Take. nextDeferred is the position of the first
// deferred item after the task's position, or 0; Take returns it next in a later round.
func (r Row) Skippable(nextDeferred int64) int64 {
	switch p := r.Progress; {
	case p.Round > 0:
		return nextDeferred
	case p.Position > 0 && p.Position < p.Total, p.Position == 0 && r.Seq == 0:
		return p.Position + 1
	}
	return 0
}

// SkipItem returns the row after the element at this position, from 1, was skipped. It
// counts as failed.
func (r Row) SkipItem(position int64) Row {
	r.Progress.Position = position
	r.Progress.Failed++
	return r
}
