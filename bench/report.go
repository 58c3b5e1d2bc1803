package main

import (
	"fmt"
	"math"
	"strings"
)

// figure writes a number with three significant digits.
func figure(v float64) string {
	if math.Abs(v) >= 1000 {
		digits := fmt.Sprintf("%.0f", v)
		for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
			digits = digits[:i] + "," + digits[i:]
		}
		return digits
	}
	switch {
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// table writes an outcome in Markdown: a row for each side, two columns for each
// metric, and below it the goals.
func (o outcome) table() string {
	var b strings.Builder
	columns := 1
	fmt.Fprintf(&b, "**%s**\n\n|  |", o.title)
	for _, m := range o.metrics {
		fmt.Fprintf(&b, " %s |", m.name)
		columns++
		if !m.info {
			b.WriteString(" taskkit is better by |")
			columns++
		}
	}
	b.WriteString("\n|" + strings.Repeat("---|", columns) + "\n")
	for _, s := range o.sides {
		fmt.Fprintf(&b, "| %s |", s.name)
		for _, m := range o.metrics {
			if !o.has(s.name, m.name) {
				b.WriteString("  |")
				if !m.info {
					b.WriteString("  |")
				}
				continue
			}
			median, least, most := o.spread(s.name, m.name)
			fmt.Fprintf(&b, " %s [%s–%s] |", figure(median), figure(least), figure(most))
			switch {
			case m.info:
			case s.name == us || !o.has(us, m.name):
				b.WriteString("  |")
			default:
				fmt.Fprintf(&b, " %s |", figure(o.times(s.name, m)))
			}
		}
		b.WriteString("\n")
	}
	if len(o.goals)+len(o.goalsOf) > 0 {
		b.WriteString("\n| to reach | measured |  |\n|---|---|---|\n")
	}
	line := func(what string, have float64, ok bool) {
		word := "**not reached**"
		if ok {
			word = "reached"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", what, figure(have), word)
	}
	for _, g := range o.goals {
		line(o.reached(g))
	}
	for _, g := range o.goalsOf {
		line(o.reachedBySide(g))
	}
	return b.String()
}
