//go:build !linux

package cluster

// inMemory returns a directory whose files are in memory: none.
func inMemory() string { return "" }
