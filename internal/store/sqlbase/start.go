package sqlbase

// The first start of a task is stored in first_started_date only once the task is claimed
// again: until then it is execution_started_date, the start under the last claim. It is read
// so by firstStart, and by [taskRow.task], which has a row of its own. So a task
// that ends under its first claim, as nearly all do, writes it once.
const (
	// ResetStart is what a claim sets of both: a start under this claim is still to come.
	ResetStart = "first_started_date = coalesce(first_started_date, execution_started_date), execution_started_date = NULL"
	// firstStart is the first start of the task q.
	firstStart = "coalesce(q.first_started_date, q.execution_started_date)"
)
