// Package store is the runtime's and the client's way to the database, and the
// only importer of ent.
//
// # What holds here
//
//   - The database's clock decides. No time of this process is compared with a
//     time of the database.
//   - Every statement that changes a task names the status and the fence that
//     it found; a statement that finds others changes nothing.
//   - A batch's transaction begins by locking the task's row FOR KEY SHARE,
//     which lets heartbeats and requests pass and keeps a takeover away, and
//     ends with the write that advances checkpoint_seq.
//   - All that a holder writes to its task is a [Write], applied by one piece
//     of SQL whether it travels alone inside a batch's transaction or with
//     others in a group commit.
//   - Reading (tasks, failures, events) goes through ent; the statements of the
//     runtime are written by hand, since ent has no row locks with ordering, no
//     unnest, and no UPDATE from a list.
//
// SQL that both databases read alike is written once, with $n parameters; the
// rest stands in postgres_*.go and sqlite_*.go under the same names.
package store
