package simulation_test

import (
	"flag"
	"testing"
	"testing/synctest"

	"taskkit.dev/internal/proof/simulation"
)

var (
	seed   = flag.Uint64("seed", 0, "the seed that TestSeed replays")
	mutant = flag.String("mutant", "", "the name of a mutant, of simulation.Mutants")
)

// simulate runs a seed in a bubble of its own.
func simulate(t *testing.T, seed uint64, o simulation.Options) (r simulation.Report) {
	t.Helper()
	synctest.Test(t, func(*testing.T) { r = simulation.Run(seed, o) })
	return r
}
