package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"taskkit.dev/internal/specform"
)

// readInput reads a file, or the standard input for "-".
func readInput(in io.Reader, file string) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(in)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, usage("%v", err)
	}
	return text, nil
}

// readTargets reads the list of targets from --csv.
func (s *start) readTargets(in io.Reader) error {
	t := s.form.Targets
	if t == nil {
		return usage("the kind %s has no list of targets that --csv could fill: use --file", s.kind)
	}
	if len(s.values[t.Name]) > 0 {
		return usage("--%s and --csv both list the targets: leave one out", s.flagOf[t.Name])
	}
	file := s.runFlags.csv
	text, err := readInput(in, file)
	if err != nil {
		return err
	}
	table, err := s.form.ReadCSV(t, bytes.NewReader(text), specform.CSVOptions{})
	if wrong, ok := errors.AsType[*specform.FileError](err); ok {
		return usage("%s: %s", file, wrong.Problem)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	if len(table.Problems) > 0 {
		var lines []string
		for _, p := range table.Problems {
			lines = append(lines, fmt.Sprintf("%s, line %d: %s %s", file, p.Line, p.Column, p.Text))
		}
		if table.More > 0 {
			lines = append(lines, fmt.Sprintf("and %d more", table.More))
		}
		return usage("the list of targets is refused, and nothing was started\n%s", strings.Join(lines, "\n"))
	}
	if table.Rows == 0 {
		return usage("%s lists no targets", file)
	}
	s.values[t.Name] = []string{table.Text}
	return nil
}
