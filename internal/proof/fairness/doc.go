// Package fairness measures, with worker processes, how long the small tasks of one owner take while the large tasks
// of another owner have all slots, and how well a running task keeps to its rate.
//
// It has tests only. The everyday form checks the order alone: the small tasks end while the large one goes on. A rate
// is measured over a minute, in the long form only; every day TestRate of package engine does so with a simulated clock, and
// TestLaterMaxRateHolds of package taskkit shows on both databases that a batch keeps to it.
package fairness
