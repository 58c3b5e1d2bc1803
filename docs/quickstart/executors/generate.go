// Package executors holds the application's bulk actions, one package each.
package executors

//go:generate go tool taskgen -o ../gen ./...
