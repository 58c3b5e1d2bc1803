package simulation_test

import (
	"encoding/json"
	"flag"
	"os"
	"testing"

	"taskkit.dev/internal/proof/simulation"
)

var (
	seeds  = flag.Uint64("seeds", 1, "how many seeds to run, from -seed")
	traced = flag.Bool("traced", false, "write the trace to standard error")
)

// TestMachine is the program that runs on the simulated machine. It writes a
// report a line.
func TestMachine(t *testing.T) {
	out := json.NewEncoder(os.Stdout)
	for s := *seed; s < *seed+*seeds; s++ {
		o := simulation.Options{Mutant: *mutant}
		if *traced {
			o.Trace = func(line string) { _, _ = os.Stderr.WriteString(line + "\n") }
		}
		r := simulate(t, s, o)
		if err := out.Encode(r); err != nil {
			t.Fatal(err)
		}
	}
}
