// Package limitkills runs tasks with limits by key on four worker processes, which are killed again and again, and
// checks that no more tasks with a key have executed at once than its limit. What has executed when is what the
// executors have written themselves, in the transactions of their batches.
package limitkills
