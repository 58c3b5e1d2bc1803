// Figures writes the counts of a proof into the documentation:
//
//	go run ./internal/prove/cmd/figures
//
// It reads what `make prove` has left in docs/proof, and what the museum shows,
// and puts both between the markers in docs/reliability.md. With -check it writes
// nothing, and fails when the page is not as it would be.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"taskkit.dev/internal/museum"
	"taskkit.dev/internal/prove"
	"taskkit.dev/internal/prove/plan"
)

func main() {
	from := flag.String("from", "docs/proof", "directory of the counts")
	page := flag.String("page", "docs/reliability.md", "the page with the markers")
	check := flag.Bool("check", false, "write nothing, and fail when the page is stale")
	flag.Parse()
	if err := run(*from, *page, *check); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func run(from, page string, check bool) error {
	counts, err := prove.Read(from)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	was := string(text)
	now, err := between(was, "figures", figures(counts))
	if err == nil {
		now, err = between(now, "museum", exhibits(counts))
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", page, err)
	case now == was:
		return nil
	case check:
		return fmt.Errorf("%s does not show what is in %s and in the museum: run make figures", page, from)
	}
	return os.WriteFile(page, []byte(now), 0o600)
}

// between puts text between the two markers of a name.
func between(page, name, text string) (string, error) {
	begin, end := "<!-- "+name+": begin -->\n", "<!-- "+name+": end -->\n"
	before, rest, ok := strings.Cut(page, begin)
	if !ok {
		return "", errors.New("there is no line " + strings.TrimSpace(begin))
	}
	_, after, ok := strings.Cut(rest, end)
	if !ok {
		return "", errors.New("there is no line " + strings.TrimSpace(end))
	}
	return before + begin + "\n" + text + "\n" + end + after, nil
}

// figures is a table of all that was counted, in the order of the plan.
func figures(counts map[string]prove.Counts) string {
	var b strings.Builder
	b.WriteString("| step | what | counted | violations | when |\n| --- | --- | --- | --- | --- |\n")
	for _, s := range plan.Steps() {
		for i, name := range s.Records {
			what := s.Proves
			if i > 0 {
				what = ""
			}
			c, ok := counts[name]
			if !ok {
				fmt.Fprintf(&b, "| %s | %s | not run yet | | |\n", name, what)
				continue
			}
			violations := fmt.Sprint(c.Counts["violations"])
			delete(c.Counts, "violations")
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", name, what, cell(c.Line()), violations, c.Date.Format("2006-01-02"))
		}
	}
	return b.String()
}

// exhibits is a table of what the museum shows. The time is that of the last
// proof, with the build of the patched tree.
func exhibits(counts map[string]prove.Counts) string {
	tried := make(map[string]map[string]any)
	list, _ := counts["museum"].Counts["exhibits"].([]any)
	for _, e := range list {
		if row, ok := e.(map[string]any); ok {
			tried[fmt.Sprint(row["patch"])] = row
		}
	}
	var b strings.Builder
	b.WriteString("| complaint | the fault, built in | found by | in |\n| --- | --- | --- | --- |\n")
	for _, c := range museum.Complaints() {
		what := fmt.Sprintf("%d. %s", c.Number, c.Cause)
		for _, e := range museum.Exhibits() {
			if e.Complaint != c.Number {
				continue
			}
			seconds := ""
			if s, ok := tried[e.File()]["seconds"].(float64); ok {
				seconds = fmt.Sprintf("%.1f s", s)
			}
			var tests []string
			for _, t := range e.Tests {
				tests = append(tests, "`"+t+"`")
			}
			fmt.Fprintf(&b, "| %s | [%s](../internal/museum/%s) | %s in %s | %s |\n", what, cell(e.Fault), e.File(), strings.Join(tests, ", "), e.Package, seconds)
			what = ""
		}
		if c.Beyond != "" {
			fmt.Fprintf(&b, "| %s | not shown: %s | | |\n", what, cell(c.Beyond))
		}
	}
	return b.String()
}

// cell is a text in a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
