package lifecycle_test

import (
	"os"
	"regexp"
	"testing"

	"taskkit.dev/internal/lifecycle"
)

// The documentation's diagram is the table.
func TestDiagram(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/state-machine.md")
	if err != nil {
		t.Fatal(err)
	}
	type arrow struct{ from, to, why string }
	drawn := make(map[arrow]bool)
	for _, m := range regexp.MustCompile(`(?m)^    ([A-Z]+) --> ([A-Z]+): (.*)$`).FindAllStringSubmatch(string(page), -1) {
		drawn[arrow{m[1], m[2], m[3]}] = true
	}
	for _, e := range lifecycle.Edges() {
		a := arrow{string(e.From), string(e.To), e.Why}
		if !drawn[a] {
			t.Errorf("the diagram lacks %s --> %s: %s", a.from, a.to, a.why)
		}
		delete(drawn, a)
	}
	for a := range drawn {
		t.Errorf("the diagram has %s --> %s: %s, which is no edge", a.from, a.to, a.why)
	}
}

// A terminal status is left only by an operator's retry, and a task in flight
// has been claimed.
func TestEdges(t *testing.T) {
	t.Parallel()
	for _, e := range lifecycle.Edges() {
		if e.From.Terminal() && e.To != lifecycle.Queued {
			t.Errorf("%s leads to %s", e.From, e.To)
		}
		if e.Claimed != (e.From == lifecycle.Queued && e.To == lifecycle.Scheduling) {
			t.Errorf("%s to %s: claimed is %v", e.From, e.To, e.Claimed)
		}
		if got, ok := lifecycle.Find(e.From, e.To); !ok || got != e {
			t.Errorf("%s to %s is not found", e.From, e.To)
		}
	}
	if _, ok := lifecycle.Find(lifecycle.Completed, lifecycle.Queued); ok {
		t.Error("a completed task may be queued again")
	}
}
