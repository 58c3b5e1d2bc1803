// Package executors holds the tasks that the benchmarks run, written as a user
// would write them.
package executors

//go:generate go run taskkit.dev/cmd/taskgen -o ../gen ./...
