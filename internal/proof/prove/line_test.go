package prove_test

import (
	"testing"

	"taskkit.dev/internal/proof/prove"
)

func TestLine(t *testing.T) {
	t.Parallel()
	c := prove.Counts{Counts: map[string]any{
		"seeds": 1234567.0, "rate": 12.25, "list": []any{1}, "nothing": nil, "kind": "x", "parts": map[string]any{"a": 1.0, "b": -1000.0}, "empty": map[string]any{},
	}}
	const want = "kind x, parts (a 1, b -1,000), rate 12.25, seeds 1,234,567"
	if got := c.Line(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for v, want := range map[float64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", 0.5: "0.50", 1234.25: "1,234.25"} {
		if got := prove.Number(v); got != want {
			t.Errorf("%v is written %s, want %s", v, got, want)
		}
	}
}
