// Package manyitems checks what taskkit promises of items at a size at which nothing
// may be in memory as a whole: 1,000,000 targets in the long form.
//
//   - A frozen set is submitted and run by worker processes of which ten are killed. It
//     is stopped in the middle, continued, and what failed is retried. Each item has one
//     outcome, and the ledger of package oracle and the table of the domain agree.
//   - A task with nothing but failed items: taskkit items writes their file, and taskkit
//     retry-failed takes it back, corrected.
//
// Each is run at two sizes, and the peak of the memory of each process is printed for
// both. It has tests only. The workers and clients are processes of the test binary.
package manyitems
