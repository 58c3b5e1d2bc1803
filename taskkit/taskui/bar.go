package taskui

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"taskkit.dev/taskkit"
)

// bar is a picture of a progress: what is done, failed and skipped, of a total.
type bar struct {
	Parts []barPart
	Text  string // the same for people who do not see the picture
	Known bool   // the total is known
}

// barPart is a rectangle, in thousandths of the width.
type barPart struct {
	Class    string
	From, To int64
}

// Width is the width of the rectangle.
func (p barPart) Width() int64 { return p.To - p.From }

// newBar returns the picture of a progress. Each outcome that there is has at least one thousandth.
func newBar(p taskkit.Progress) bar {
	const width = 1000
	b := bar{Text: progressText(p), Known: p.Total > 0}
	total := max(p.Total, p.Processed())
	if total <= 0 {
		return b
	}
	from := int64(0)
	for _, part := range []struct {
		class string
		n     int64
	}{{"part-done", p.Done}, {"part-failed", p.Failed}, {"part-skipped", p.Skipped}} {
		if part.n <= 0 {
			continue
		}
		share := int64(math.Round(float64(part.n) / float64(total) * width))
		to := min(from+max(share, 4), width)
		b.Parts = append(b.Parts, barPart{part.class, from, to})
		from = to
	}
	if p.Total < 0 { // how much is left is not known: the picture is of what was processed
		b.Text += ", of an unknown total"
	}
	return b
}

// sparkline is a picture of how the rate of a task has changed.
type sparkline struct {
	Points string // x and y of each measurement
	Text   string // the same for people who do not see the picture
}

const sparkWidth, sparkHeight = 120, 24 // the viewBox in part_bits.html

// newSparkline returns the picture of rates, the oldest first; nil for fewer than two. The lowest edge is zero.
func newSparkline(rates []float64) *sparkline {
	if len(rates) < 2 {
		return nil
	}
	highest := slices.Max(rates)
	if highest <= 0 {
		return nil
	}
	points := make([]string, len(rates))
	for i, r := range rates {
		x := float64(i) * sparkWidth / float64(len(rates)-1)
		points[i] = fmt.Sprintf("%.1f,%.1f", x, sparkHeight-r/highest*sparkHeight)
	}
	return &sparkline{
		Points: strings.Join(points, " "),
		Text:   fmt.Sprintf("The last %d measured rates, the newest %s: between %s and %s", len(rates), rate(rates[len(rates)-1]), rate(slices.Min(rates)), rate(highest)),
	}
}

// progressText returns a progress in words.
func progressText(p taskkit.Progress) string {
	var out strings.Builder
	switch {
	case p.Total > 0:
		fmt.Fprintf(&out, "%s of %s items", count(p.Processed()), count(p.Total))
		if p.Processed() <= p.Total {
			fmt.Fprintf(&out, ", %s", percent(p.Processed(), p.Total))
		}
	case p.Processed() == 0:
		return "no items yet"
	default:
		fmt.Fprintf(&out, "%s items", count(p.Processed()))
	}
	if p.Failed > 0 {
		fmt.Fprintf(&out, ", %s failed", count(p.Failed))
	}
	if p.Skipped > 0 {
		fmt.Fprintf(&out, ", %s skipped", count(p.Skipped))
	}
	return out.String()
}
