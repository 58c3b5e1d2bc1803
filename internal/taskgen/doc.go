// Package taskgen generates the code that binds hand-written executors: typed
// calls, registration and marshalling. It runs the pipeline; each step is a
// package of its own that passes plain values to the next:
//
//	load     reads the packages and resolves go/types
//	model    values that are passed on, and the checks across executors
//	lock     compares the model with tasks.lock: revisions, incompatible changes
//	schema   writes JSON Schemas
//	emit     turns the model into files
//
// This package then compares the files with the disk and writes them. Every step
// before that is pure: the same packages give the same bytes and the same
// diagnostics. Only load knows go/types. Two models are never compared with each
// other: lock writes down what a database may hold as facts, one for each field,
// and compares facts.
package taskgen
