package taskotel

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// most is how many series an instrument may have: the SDK drops what exceeds 2,000.
const most = 1500

// The values of the labels of each instrument, multiplied, are few. No instrument has more than two, but for the one with a single series.
func TestCardinality(t *testing.T) {
	t.Parallel()
	for _, i := range instruments {
		series := 1
		for _, l := range i.labels {
			series *= l.most
		}
		if series > most {
			t.Errorf("%s can have %d series, want at most %d", i.name, series, most)
		}
		if len(i.labels) > 2 && series > 1 {
			t.Errorf("%s has %d attributes, want at most 2", i.name, len(i.labels))
		}
		if strings.HasSuffix(i.name, "count") {
			t.Errorf("%s ends in count, which is a part of histograms", i.name)
		}
	}
}

// prometheus is the name of an instrument in Prometheus.
func (i instrument) prometheus() string {
	name := strings.ReplaceAll(i.name, ".", "_")
	if i.unit == "s" {
		name += "_seconds"
	}
	if i.form == counter {
		name += "_total"
	}
	return name
}

// The documentation lists each instrument, with its form and its labels as Prometheus has them.
func TestInstrumentsAreDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range instruments {
		var labels []string
		for _, l := range i.labels {
			key := strings.TrimPrefix(string(l.key), "taskkit.")
			labels = append(labels, key)
		}
		row := fmt.Sprintf("| `%s` | %s | %s |", i.prometheus(), [...]string{"gauge", "counter", "histogram"}[i.form], strings.Join(labels, ", "))
		row = strings.ReplaceAll(row, "|  |", "| |")
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/telemetry.md has no row that begins with %s", row)
		}
	}
	if n, want := strings.Count(string(page), "\n| `taskkit_"), len(instruments); n != want {
		t.Errorf("docs/telemetry.md lists %d metrics, want %d", n, want)
	}
}
