// Package store is the contract between the runtime, the client and the database,
// and the insertion of new tasks. Package dbstore opens a store; packages
// postgres and sqlite implement it, and sqlbase is what those two share.
//
// # Rules
//
//   - The database's clock decides. No time of this process is compared with a
//     time of the database.
//   - Every statement that changes a task names the status and the fence that it
//     expects; when the row has others it changes nothing.
//   - A batch's transaction begins by locking the task's row FOR KEY SHARE, which
//     permits heartbeats and requests and prevents a takeover, and ends with the
//     write that advances checkpoint_seq.
//   - All that a holder writes to its task is a [Write], applied by the same
//     statement whether it is alone in a batch's transaction or with others in a
//     group commit.
//   - Reading (tasks, failures, events) goes through ent. The statements of the
//     runtime are written by hand, since ent has no ordered row locks, no unnest,
//     and no UPDATE from a list.
//
// A statement that is the same on both databases is written once, in sqlbase,
// with $n parameters; the others are in postgres and sqlite under the same names.
package store
