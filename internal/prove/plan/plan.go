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
	// Least is how long it takes in any case: with a smaller budget it is left
	// out.
	Least time.Duration
	// Records are the names under which the tests record their counts.
	Records []string
	// Proves says what is looked for, for the documentation.
	Proves string
}

// Steps returns the plan. A step that searches everything, as the model does,
// takes as long as it takes. None is run beside another: some measure times.
func Steps() []Step {
	return []Step{
		{
			Name: "model", Package: "internal/model", Run: "^Test", Share: 8, Records: []string{"model", "model-variants"},
			Proves: "every state of the protocol, and every broken variant refuted",
		},
		{
			Name: "simulation", Package: "internal/simulation", Run: "^TestNative$", Share: 21, Records: []string{"simulation"},
			Proves: "the engine on a simulated machine, a seed each",
		},
		{
			Name: "chaos", Package: "internal/oracle", Run: "^TestKilledAndStoppedWorkersBreakNothing$", Share: 8, Records: []string{"chaos-postgres", "chaos-sqlite"},
			Proves: "worker processes killed and stopped at random",
		},
		{
			Name: "ordinals", Package: "internal/ordinals", Run: "^TestLong$", Share: 18, Records: []string{
				"ordinals-singles-postgres", "ordinals-singles-sqlite", "ordinals-commits-postgres",
				"ordinals-commits-sqlite", "ordinals-pairs-postgres", "ordinals-pairs-sqlite",
			},
			Proves: "a fault at every message and every call, then pairs of faults",
		},
		{
			Name: "properties", Package: "internal/properties", Run: "^TestProperties$", Share: 4, Records: []string{"properties-postgres", "properties-sqlite"},
			Proves: "calls of the public API, drawn at random, against a small model of it",
		},
		{
			Name: "misbehaviour", Package: "internal/misbehaviour", Run: "^TestDeeds$", Share: 3, Records: []string{"misbehaviour-postgres", "misbehaviour-sqlite"},
			Proves: "executors that do what none should, beside healthy ones",
		},
		{
			Name: "takeover", Package: "internal/fleet", Run: "^TestTakeover$", Share: 9, Least: time.Minute, Records: []string{"takeover-postgres", "takeover-sqlite"},
			Proves: "how long it takes until another has the task of a worker that was killed",
		},
		{
			Name: "requests", Package: "internal/fleet", Run: "^TestRequestsTakeEffect$", Share: 4, Least: 30 * time.Second, Records: []string{"requests-postgres", "requests-sqlite"},
			Proves: "how long a stop, a pause and a delete take, whatever has become of the worker",
		},
		{
			Name: "sieges", Package: "internal/fleet", Run: "^TestSieges$", Share: 8, Least: time.Minute, Records: []string{"sieges"},
			Proves: "whatever happens to workers, network, server, pooler and disk: work goes on, and nothing is lost or done twice",
		},
		{
			Name: "soak", Package: "internal/fleet", Run: "^TestSoak$", Share: 2, Records: []string{"soak-postgres", "soak-sqlite"},
			Proves: "memory and connections under load",
		},
		{
			Name: "museum", Package: "internal/museum", Run: "^TestEveryPatchIsKilled$", Share: 15, Records: []string{"museum"},
			Proves: "the faults of other queues, built in and found",
		},
	}
}

// Budget is a step's share of the whole time.
func (s Step) Budget(whole time.Duration) time.Duration {
	return (whole * time.Duration(s.Share) / 100).Round(time.Second)
}
