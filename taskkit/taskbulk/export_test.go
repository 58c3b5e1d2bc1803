package taskbulk

// SetSearched sets how many tasks are read of all tasks, in place of 1,000,000.
func (r *Request) SetSearched(n int64) { r.searched = n }
