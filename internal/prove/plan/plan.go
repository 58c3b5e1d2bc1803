// Package plan is the list of the long forms that `make prove` runs: what they
// are, in which order, and which share of the time each gets.
package plan

import "time"

// A Step is one run of go test in its long form.
type Step struct {
	Name    string // of the layer, for people
	Package string // from the root of the module
	Run     string // for -run
	// Share of the whole time, in percent. Those of all steps are 100.
	Share int
	// Records are the names under which the tests record their counts.
	Records []string
	// Proves says what is looked for, for the documentation.
	Proves string
}

// Steps returns the plan. A step that searches everything, as the model does,
// takes as long as it takes.
func Steps() []Step {
	return []Step{
		{
			Name: "model", Package: "internal/model", Run: "^Test", Share: 10, Records: []string{"model", "model-variants"},
			Proves: "every state of the protocol, and every broken variant refuted",
		},
		{
			Name: "simulation", Package: "internal/simulation", Run: "^TestNative$", Share: 25, Records: []string{"simulation"},
			Proves: "the engine on a simulated machine, a seed each",
		},
		{
			Name: "chaos", Package: "internal/oracle", Run: "^TestKilledAndStoppedWorkersBreakNothing$", Share: 15, Records: []string{"chaos-postgres", "chaos-sqlite"},
			Proves: "worker processes killed and stopped at random",
		},
		{
			Name: "ordinals", Package: "internal/ordinals", Run: "^TestLong$", Share: 25, Records: []string{"ordinals"},
			Proves: "a fault at every message and every call, then pairs of faults",
		},
		{
			Name: "museum", Package: "internal/museum", Run: "^TestEveryPatchIsKilled$", Share: 25, Records: []string{"museum"},
			Proves: "the faults of other queues, built in and found",
		},
	}
}

// Budget is a step's share of the whole time.
func (s Step) Budget(whole time.Duration) time.Duration {
	return (whole * time.Duration(s.Share) / 100).Round(time.Second)
}
