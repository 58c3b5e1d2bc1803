// Package executors stands for the bulk actions below it, one package each. It
// holds nothing but the command that generates the code that binds them.
package executors

//go:generate go run taskkit.dev/cmd/taskgen -o ../gen ./...
