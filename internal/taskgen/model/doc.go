// Package model has the generator's plain values: executors, the types that they
// store, validate rules, revisions and diagnostics. It also checks the executors
// against each other and their rules against validator. It imports neither go/types
// nor the file system.
package model
