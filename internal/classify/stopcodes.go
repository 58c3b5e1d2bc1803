package classify

import "taskkit.dev/internal/lifecycle"

// Codes that the runtime itself gives to a failed batch or task. They go to
// clients, and alerts depend on them.
const (
	CodeBatchTimeout  = "batch_timeout"                    // the batch took longer than Config.BatchTimeout
	CodeBatchTooLarge = "batch_too_large"                  // a statement exceeds a limit of the database even for one item
	CodeChildFailed   = "child_failed"                     // a child of the task failed
	CodeCrashLoop     = "crash_loop"                       // the task was running each time that its workers died
	CodeDatabase      = "database"                         // a database error that is not marked
	CodeDeadline      = string(lifecycle.DeadlineExceeded) // the task had not ended by its deadline
	CodeDeferred      = "deferred"                         // an item that was deferred without a code of its own
	CodeError         = "error"                            // any other error
	CodeGoexit        = "goexit"                           // the executor ended its goroutine
	CodeInterrupted   = "interrupted"                      // the worker shut down
	CodeInvalid       = "invalid"                          // JSON that does not fit its type, or a broken rule
	CodeItemFailed    = "item_failed"                      // an item that failed without a code of its own
	CodeLost          = "lost"                             // another worker has the task
	CodeMaxChanges    = "max_changes"                      // a preview would change more rows than it may
	CodeMisuse        = "misuse"                           // the executor did what none may, such as ending its transaction
	CodeNoProgress    = "no_progress"                      // the executor returns More without doing anything
	CodePanic         = "panic"                            // the executor panicked
	CodePolicy        = "policy"                           // a policy of the task has failed it
	CodePoison        = "poison"                           // the item killed its worker each time, and was skipped
	CodeRevision      = "revision"                         // the kind has a new revision since the preview that the task applies
	CodeSkipped       = "skipped"                          // an item skipped without a code of its own, or by an operator's retry
	// CodeSpoiledTransaction: a statement of the batch failed, and the executor
	// continued as if it had not.
	CodeSpoiledTransaction = "spoiled_transaction"
	CodeStartedTooLate     = string(lifecycle.StartedTooLate) // the task had no checkpoint by its latest start
	CodeTargets            = "targets"                        // the frozen targets of the task cannot be read
	CodeTimeLimit          = string(lifecycle.TimeExceeded)   // the task had not ended within its time limit
	CodeUndecodable        = "undecodable"                    // this worker cannot decode the spec or the checkpoint
)
