package style_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// What make test runs without the race detector although it starts goroutines, make race runs with it: a change passes
// both before it lands.
func TestGateRunsTestAndRace(t *testing.T) {
	t.Parallel()
	gate, err := os.ReadFile(".ci/run")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"check make test", "check make race"} {
		if !slices.Contains(strings.Split(string(gate), "\n"), line) {
			t.Errorf(".ci/run has no line %q", line)
		}
	}
}
