//go:build !race

package simulation_test

// watched reports whether the race detector watches these tests.
const watched = false
