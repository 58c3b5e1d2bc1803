// Package errclass decides what an error means for a task: whether the batch is
// tried again, when, and what a client may be told.
//
// It asks errors structurally and imports no driver.
package errclass
