package museum

// Exhibits returns what the museum shows, by the number of the complaint.
func Exhibits() []Exhibit {
	return []Exhibit{
		{
			Complaint: 1, Name: "reap-by-id", Package: "internal/store",
			Fault: "the reaper reads who is orphaned, and releases them later by id alone",
			Tests: []string{"TestReapMeetsClaim/postgres", "TestReapMeetsClaim/sqlite"},
		},
		{
			Complaint: 1, Name: "batch-without-lock", Package: "internal/store",
			Fault: "a batch looks at its task and locks nothing, so that a takeover passes it",
			Tests: []string{"TestConformance/postgres/BatchKeepsTakeoverAway"},
		},
		{
			Complaint: 2, Name: "end-twice-postgres", Package: "internal/store",
			Fault: "a write that comes a second time is made a second time (PostgreSQL)",
			Tests: []string{"TestConformance/postgres/ApplyGuards"},
		},
		{
			Complaint: 2, Name: "end-twice-sqlite", Package: "internal/store",
			Fault: "a write that comes a second time is made a second time (SQLite)",
			Tests: []string{"TestConformance/sqlite/ApplyGuards"},
		},
		{
			Complaint: 3, Name: "no-fence-postgres", Package: "internal/store",
			Fault: "whoever knows a task's id may write to it: the fence is not looked at (PostgreSQL)",
			Tests: []string{"TestConformance/postgres/BatchLost", "TestConformance/postgres/ApplyGuards"},
		},
		{
			Complaint: 3, Name: "no-fence-sqlite", Package: "internal/store",
			Fault: "whoever knows a task's id may write to it: the fence is not looked at (SQLite)",
			Tests: []string{"TestConformance/sqlite/BatchLost", "TestConformance/sqlite/ApplyGuards"},
		},
		{
			Complaint: 3, Name: "name-as-identity", Package: "taskkit",
			Fault: "a worker is known by its name, which the next one has too",
			Tests: []string{"TestRestartUnderOneName/postgres", "TestRestartUnderOneName/sqlite"},
		},
		{
			Complaint: 4, Name: "heartbeat-only-logged", Package: "taskkit",
			Fault: "a worker that cannot renew its heartbeat, or was declared dead, logs that and goes on",
			Tests: []string{"TestStoppedWorkerCommitsNothing/postgres", "TestStoppedWorkerCommitsNothing/sqlite"},
		},
		{
			Complaint: 5, Name: "waits-for-the-deaf", Package: "taskkit",
			Fault: "a session waits for an executor that ignores its context, however long",
			Tests: []string{"TestWorkerLeavesDeafExecutorBehind/postgres", "TestWorkerLeavesDeafExecutorBehind/sqlite"},
		},
		{
			Complaint: 5, Name: "one-page", Package: "internal/store",
			Fault: "the reaper takes one page of orphans and leaves the rest",
			Tests: []string{"TestConformance/postgres/ReapGoesOn", "TestConformance/sqlite/ReapGoesOn"},
		},
		{
			Complaint: 5, Name: "stopped-in-a-transaction", Package: "internal/store",
			Fault: "nothing ends the transaction of a worker that is stopped inside it, and its task stays locked",
			Tests: []string{"TestStoppedInsideABatch"},
		},
		{
			Complaint: 6, Name: "orphans-by-join", Package: "internal/store",
			Fault: "orphans are found by the row of their dead process: without one they are never found",
			Tests: []string{"TestConformance/postgres/ReapIsTotal", "TestConformance/sqlite/ReapIsTotal"},
		},
		{
			Complaint: 6, Name: "claim-without-an-answer", Package: "internal/simulation",
			Fault: "a claim whose answer is lost leaves its tasks with a worker that does not know of them",
			Tests: []string{"TestNative"},
		},
		{
			Complaint: 7, Name: "recovery-once", Package: "internal/simulation",
			Fault: "recovery ends with its first error, and nobody recovers any more",
			Tests: []string{"TestNative"},
		},
		{
			Complaint: 8, Name: "claims-the-unknown", Package: "internal/store",
			Fault: "a worker takes tasks of kinds and revisions that it does not know",
			Tests: []string{"TestConformance/postgres/ClaimWhatIsKnown", "TestConformance/sqlite/ClaimWhatIsKnown"},
		},
		{
			Complaint: 9, Name: "any-change-of-type", Package: "internal/taskgen",
			Fault: "a stored field may change its type, and old rows do not decode",
			Tests: []string{"TestEvolution"},
		},
		{
			Complaint: 10, Name: "leaving-costs-an-attempt", Package: "internal/store",
			Fault: "a worker that leaves in good order spends an attempt of each task it held",
			Tests: []string{"TestConformance/postgres/LeaveReleases", "TestConformance/sqlite/LeaveReleases"},
		},
		{
			Complaint: 10, Name: "leaves-without-a-word", Package: "taskkit",
			Fault: "a worker that is asked to end neither gives its tasks back nor signs off",
			Tests: []string{"TestRollingRestart/postgres", "TestRollingRestart/sqlite"},
		},
		{
			Complaint: 11, Name: "migrators-collide", Package: "internal/migrate",
			Fault: "of two programs that migrate at once, one fails",
			Tests: []string{"TestMigrateAtOnce/postgres"}, // on SQLite they seldom meet
		},
		{
			Complaint: 12, Name: "attempts-at-failure", Package: "internal/store",
			Fault: "an attempt is counted when it fails, so that one that kills its worker never is",
			Tests: []string{"TestConformance/postgres/ClaimSetsAndClears", "TestConformance/sqlite/ClaimSetsAndClears"},
		},
		{
			Complaint: 12, Name: "takes-the-others-along", Package: "taskkit",
			Fault: "who is in the hands of a worker that a task kills ends with it",
			Tests: []string{"TestPoisonSparesTheOthers/postgres", "TestPoisonSparesTheOthers/sqlite"},
		},
		{
			Complaint: 12, Name: "crash-loop-without-end", Package: "taskkit",
			Fault: "a task that kills every worker is claimed for ever",
			Tests: []string{"TestWorkerCrashLoop/postgres", "TestWorkerCrashLoop/sqlite"},
		},
		{
			Complaint: 13, Name: "no-jitter", Package: "internal/backoff",
			Fault: "all that failed at once is tried again at once",
			Tests: []string{"TestDelaysAreSpread"},
		},
		{
			Complaint: 14, Name: "stop-waits-for-nobody", Package: "taskkit",
			Fault: "a stop of a task that no worker would ever take waits for a worker",
			Tests: []string{"TestClientRequestsWithoutWorker/postgres", "TestClientRequestsWithoutWorker/sqlite"},
		},
		{
			Complaint: 14, Name: "stop-not-told", Package: "taskkit",
			Fault: "a running task does not hear of a stop",
			Tests: []string{"TestClientRunningTask/postgres", "TestClientRunningTask/sqlite"},
		},
		{
			Complaint: 14, Name: "stop-waits-for-a-slot", Package: "taskkit",
			Fault: "a waiting task that is to end waits for a slot, behind the queue",
			Tests: []string{"TestStopDoesNotWaitForASlot/postgres", "TestStopDoesNotWaitForASlot/sqlite"},
		},
		{
			Complaint: 15, Name: "checkpoint-apart-postgres", Package: "internal/store",
			Fault: "the checkpoint is not in the transaction of the work (PostgreSQL)",
			Tests: []string{"TestUnknownCommitThatFailed/postgres"},
		},
		{
			Complaint: 15, Name: "checkpoint-apart-sqlite", Package: "internal/store",
			Fault: "the work is committed, and then the checkpoint (SQLite)",
			Tests: []string{"TestConformance/sqlite/BatchGuardAtCommit"},
		},
		{
			Complaint: 16, Name: "unique-by-looking", Package: "internal/store",
			Fault: "a unique key is kept by looking first: no index holds it",
			Tests: []string{"TestConformance/postgres/InsertDuplicate", "TestConformance/sqlite/InsertDuplicate"},
		},
		{
			Complaint: 17, Name: "believes-in-silence", Package: "internal/store",
			Fault: "a listener believes in the silence of its connection",
			Tests: []string{"TestListenerFallsSilent"},
		},
		{
			Complaint: 18, Name: "a-hint-each", Package: "taskkit",
			Fault: "every submission carries a notification",
			Tests: []string{"TestHintsAreFew"},
		},
		{
			Complaint: 19, Name: "json-as-bytes", Package: "taskkit",
			Fault: "JSON travels as bytes, which some modes of the driver send as bytea",
			Tests: []string{"TestConnections/simple_protocol", "TestConnections/PgBouncer"},
		},
		{
			Complaint: 20, Name: "heartbeat-in-an-index", Package: "internal/store",
			Fault: "the time of the last heartbeat is in an index, which every heartbeat bloats",
			Tests: []string{"TestWhatChangesOftenIsInNoIndex/postgres", "TestWhatChangesOftenIsInNoIndex/sqlite"},
		},
		{
			Complaint: 21, Name: "claim-in-one-order", Package: "internal/store",
			Fault: "a claim asks for all ranks and queues at once and sorts what it finds",
			Tests: []string{"TestPlansWithStaleStatistics"},
		},
		{
			Complaint: 21, Name: "claim-reads-the-future", Package: "internal/store",
			Fault: "a claim reads all that waits, the tasks of tomorrow too",
			Tests: []string{"TestPlansWithStaleStatistics"},
		},
		{
			Complaint: 21, Name: "write-reads-the-table", Package: "internal/store",
			Fault: "a write of many tasks compares their status, which the planner knows from old statistics",
			Tests: []string{"TestPlansWithStaleStatistics"},
		},
		{
			Complaint: 22, Name: "heartbeat-without-deadline", Package: "internal/engine",
			Fault: "a heartbeat waits for its answer for ever, and nobody sees the lease run out",
			Tests: []string{"TestStalledCalls/Beat"},
		},
		{
			Complaint: 23, Name: "commit-error-is-no", Package: "internal/store",
			Fault: "an error from COMMIT is taken for a no by the store",
			Tests: []string{"TestUnknownCommitThatFailed/postgres", "TestUnknownCommitThatFailed/sqlite"},
		},
		{
			Complaint: 23, Name: "commit-error-is-yes", Package: "internal/simulation",
			Fault: "the worker takes an error from COMMIT for a yes",
			Tests: []string{"TestNative"},
		},
		{
			Complaint: 24, Name: "worker-clock", Package: "internal/store",
			Fault: "who is silent for too long is judged by the clock of the one who looks",
			Tests: []string{"TestOneClock/ahead", "TestOneClock/behind"},
		},
		{
			Complaint: 25, Name: "begins-as-a-reader", Package: "internal/store",
			Fault: "a write transaction begins as a reader and asks for the lock later, which cannot be waited for",
			Tests: []string{"TestSQLiteWritersWait"},
		},
		{
			Complaint: 26, Name: "text-as-it-comes", Package: "internal/store",
			Fault: "the text of an error is stored as it comes, with NUL bytes and all",
			Tests: []string{"TestConformance/postgres/ApplyTexts", "TestConformance/sqlite/ApplyTexts"},
		},
		{
			Complaint: 27, Name: "one-statement", Package: "internal/store",
			Fault: "many tasks are stored by one statement, however many parameters it has",
			Tests: []string{"TestConformance/postgres/InsertMany", "TestConformance/sqlite/InsertMany"},
		},
		{
			Complaint: 28, Name: "ent-ends-the-batch", Package: "taskkit",
			Fault: "a client of ent inside a batch can end its transaction",
			Tests: []string{"TestEntDriver"},
		},
		{
			Complaint: 29, Name: "no-quantum", Package: "taskkit",
			Fault: "a long task keeps its slot while others wait",
			Tests: []string{"TestWorkerQuantum/postgres", "TestWorkerQuantum/sqlite"},
		},
		{
			Complaint: 30, Name: "all-specs-in-memory", Package: "internal/store",
			Fault: "a claim brings every spec along, however large",
			Tests: []string{"TestConformance/postgres/ClaimSpecSize", "TestConformance/sqlite/ClaimSpecSize"},
		},
	}
}
