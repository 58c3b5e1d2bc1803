package command

import (
	"fmt"
	"time"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
)

// showSamples is how many samples of a preview are shown; -o json shows all.
const showSamples = 10

// showPreview prints the report of a preview.
func (a *App) showPreview(r *taskkit.PreviewReport) {
	fmt.Fprintf(a.out, "\n%s\n", a.out.Bold("Preview: nothing of this has been written"))
	switch {
	case r.Expected == 0 && !r.Status.Ended():
		fmt.Fprintln(a.out, "it has not run yet, so how long the real task takes is not known")
	case r.Status != taskkit.StatusCompleted || r.Partial:
		fmt.Fprintf(a.out, "it is not complete; what it has previewed so far will take the real task about %s\n", r.Expected.Round(time.Millisecond))
	default:
		fmt.Fprintf(a.out, "the real task will take about %s\n", r.Expected.Round(time.Millisecond))
	}
	var rows [][]string
	for _, c := range r.Changes {
		rows = append(rows, []string{c.Table, c.Verb, screen.Count(c.Rows)})
	}
	if r.OtherChanges > 0 {
		rows = append(rows, []string{"(other statements)", "", screen.Count(r.OtherChanges)})
	}
	if len(rows) > 0 {
		a.out.Table([]string{"table", "verb", "rows"}, rows, 2)
	}
	if len(r.Notes) > 0 {
		rows = nil
		for _, n := range r.Notes {
			rows = append(rows, []string{screen.Short(n.Note, 60), screen.Count(n.Items)})
		}
		if r.OtherNotes > 0 {
			rows = append(rows, []string{"(other notes)", screen.Count(r.OtherNotes)})
		}
		a.section("Notes", len(r.Notes), -1)
		a.out.Table([]string{"note", "items"}, rows, 1)
	}
	if n := min(len(r.Samples), showSamples); n > 0 {
		rows = nil
		for i := range r.Samples[:n] {
			s := &r.Samples[i]
			rows = append(rows, []string{screen.Short(s.Text(), 60), screen.Short(s.Note, 60), string(s.Outcome)})
		}
		a.section("Samples", n, showSamples)
		a.out.Table([]string{"item", "note", "outcome"}, rows)
	}
}
