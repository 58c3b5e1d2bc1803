package prove

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Line returns the counts on one line, "changes 12,345, seeds 67"; lists are
// left out. What is counted in parts is in parentheses.
func (c Counts) Line() string { return line(c.Counts) }

func line(counts map[string]any) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(counts)) {
		switch v := counts[k].(type) {
		case map[string]any:
			if inner := line(v); inner != "" {
				parts = append(parts, k+" ("+inner+")")
			}
		case []any, nil:
		case float64:
			parts = append(parts, k+" "+Number(v))
		default:
			parts = append(parts, fmt.Sprintf("%s %v", k, v))
		}
	}
	return strings.Join(parts, ", ")
}

// Number writes a number with thousands apart, and with two digits behind the
// point if it is not whole.
func Number(v float64) string {
	s := fmt.Sprintf("%.0f", math.Abs(v))
	rest := ""
	if v != math.Trunc(v) {
		s, rest, _ = strings.Cut(fmt.Sprintf("%.2f", math.Abs(v)), ".")
		rest = "." + rest
	}
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	if v < 0 {
		s = "-" + s
	}
	return s + rest
}
