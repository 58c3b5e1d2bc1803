package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// Each mode measures something on a new file, and a wrong one is refused.
func TestRun(t *testing.T) {
	t.Parallel()
	for mode, metric := range map[string]string{"drain": "tasks/s", "submit": "tasks/s", "submitmany": "tasks/s", "latency": "p50 ms"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			if err := run(t.Context(), []string{mode, "20", filepath.Join(t.TempDir(), "river.db")}, &out); err != nil {
				t.Fatal(err)
			}
			var got map[string]float64
			if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
				t.Fatalf("printed %q: %v", out.String(), err)
			}
			if got[metric] <= 0 {
				t.Errorf("got %v, want %s above 0", got, metric)
			}
		})
	}
	for _, args := range [][]string{nil, {"drain", "0", "x"}, {"drain", "many", "x"}, {"dance", "1", filepath.Join(t.TempDir(), "x.db")}} {
		if err := run(t.Context(), args, &strings.Builder{}); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}
