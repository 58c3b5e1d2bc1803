// Figures writes the counts of a proof into the documentation:
//
//	go run -C internal/proof ./cmd/figures -from ../../docs/proof -page ../../docs/reliability.md
//
// It reads the records of `make prove` in docs/proof and the headers of the
// mutants, and writes two tables between the markers in docs/reliability.md. With
// -check it writes nothing, and fails when the page is not up to date.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"taskkit.dev/internal/proof/mutants"
	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/proof/prove/plan"
)

func main() {
	from := flag.String("from", "../../docs/proof", "directory of the records")
	page := flag.String("page", "../../docs/reliability.md", "the page with the markers")
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
		var table string
		if table, err = mutantTable(counts); err == nil {
			now, err = between(now, "mutants", table)
		}
	}
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", page, err)
	case now == was:
		return nil
	case check:
		return fmt.Errorf("%s is not up to date with %s and the mutants: run make figures", page, from)
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

// mutantTable is a table of the mutants. The time is that of the last proof and
// includes building the patched tree.
func mutantTable(counts map[string]prove.Counts) (string, error) {
	all, err := mutants.All()
	if err != nil {
		return "", err
	}
	tried := make(map[string]map[string]any)
	list, _ := counts["mutants"].Counts["mutants"].([]any)
	for _, e := range list {
		if row, ok := e.(map[string]any); ok {
			tried[fmt.Sprint(row["patch"])] = row
		}
	}
	var b strings.Builder
	b.WriteString("| failure mode | the fault, built in | detected by | in |\n| --- | --- | --- | --- |\n")
	write := func(what string, m mutants.Mutant) {
		seconds := ""
		if s, ok := tried[m.File()]["seconds"].(float64); ok {
			seconds = fmt.Sprintf("%.1f s", s)
		}
		var tests []string
		for _, t := range m.Tests {
			tests = append(tests, "`"+t+"`")
		}
		fmt.Fprintf(&b, "| %s | [%s](../internal/proof/mutants/patches/%s) | %s in %s | %s |\n", what, cell(m.Fault), m.File(), strings.Join(tests, ", "), m.Package, seconds)
	}
	for _, f := range mutants.FailureModes() {
		what := fmt.Sprintf("%d. %s", f.Number, f.Cause)
		for _, m := range all {
			if m.FailureMode == f.Number {
				write(what, m)
				what = ""
			}
		}
		if f.NotCovered != "" {
			fmt.Fprintf(&b, "| %s | no mutant: %s | | |\n", what, cell(f.NotCovered))
		}
	}
	for _, m := range all {
		if m.FailureMode == 0 {
			write(m.Cause, m)
		}
	}
	return b.String(), nil
}

// cell is a text in a table.
func cell(s string) string { return strings.ReplaceAll(s, "|", "\\|") }
