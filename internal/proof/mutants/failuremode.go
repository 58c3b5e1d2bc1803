package mutants

// A FailureMode is one of the thirty ways in which users have seen other queues
// fail.
type FailureMode struct {
	Number int
	Cause  string
	// NotCovered is the part of it for which there is no mutant, and why; "" when
	// the mutants cover all of it.
	NotCovered string
}

// FailureModes returns the thirty. The header of each patch repeats the number
// and the cause.
func FailureModes() []FailureMode {
	return []FailureMode{
		{1, "reaping brings a finished or re-claimed job back", ""},
		{2, "a late finish counts twice", "limits kept by a counter that can drift: there is no such counter, a worker counts the sessions in its slots"},
		{3, "a name is used as a fence", ""},
		{4, "a missed heartbeat does not stop the worker", ""},
		{5, "stuck in running for hours", ""},
		{6, "orphans that no reaper finds", ""},
		{7, "recovery itself loses work", ""},
		{8, "a deploy strands or discards work", ""},
		{9, "the payload has changed and old rows fail", ""},
		{10, "a shutdown hangs or leaves rows running", ""},
		{11, "migrations lock the table", "migrating a full table: only one migration has been released, and it creates the tables"},
		{12, "a poison task restarts all workers", ""},
		{13, "a storm of retries after a stall", ""},
		{14, "a stop or a pause never takes effect", ""},
		{15, "progress is skipped or repeated", ""},
		{16, "races for a unique key", ""},
		{17, "LISTEN dies silently", ""},
		{18, "NOTIFY stops the whole database", ""},
		{19, "a connection pooler, or another mode of the driver", ""},
		{20, "bloat, and vacuum held up", ""},
		{21, "slow claims on a large table", ""},
		{22, "a stalled call stops a loop", ""},
		{23, "COMMIT returned an error and had committed", ""},
		{24, "clocks that differ", ""},
		{25, "SQLite: database is locked", ""},
		{26, "bytes that the database refuses", ""},
		{27, "large bulk submissions", ""},
		{28, "one transaction with ent", ""},
		{29, "fairness", "turns between tenants: tasks are claimed by priority and age"},
		{30, "memory", "leaks over hours: the soak test of internal/proof/chaos looks for those"},
	}
}
