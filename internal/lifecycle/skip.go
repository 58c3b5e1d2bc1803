package lifecycle

// CanSkip reports whether an operator's retry can skip the element that
// taskkit.Take returns next: there is one, and the task may keep its position by
// Take. One that has made checkpoints without Take does not.
func (r Row) CanSkip() bool {
	p := r.Progress
	return p.Taken > 0 && p.Taken < p.Total || p.Taken == 0 && r.Seq == 0
}

// SkipItem returns the row after that element was skipped. It counts as failed.
func (r Row) SkipItem() Row {
	r.Progress.Taken++
	r.Progress.Failed++
	return r
}
