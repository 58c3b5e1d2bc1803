package command

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"taskkit.dev/internal/csvcell"
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
	text, err := readInput(in, s.runFlags.csv)
	if err != nil {
		return err
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if t.Item != nil && t.Item.Type == specform.Group {
		s.values[t.Name] = []string{string(text)}
		s.lineOf = map[int]int{}
		return nil
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.FieldsPerRecord = -1
	column := 0
	s.lineOf = make(map[int]int)
	s.values[t.Name] = []string{}
	for first := true; ; first = false {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return usage("read %s: %v", s.runFlags.csv, err)
		}
		if first {
			if i := targetColumn(row, t); i >= 0 {
				column = i
				continue
			}
			if len(row) > 1 {
				return usage("%s has %d columns, and none is named item or %s: name the column of the targets in its first line", s.runFlags.csv, len(row), lastName(t))
			}
		}
		line, _ := r.FieldPos(0)
		if column >= len(row) {
			return usage("%s, line %d: the column of the targets is missing", s.runFlags.csv, line)
		}
		s.lineOf[len(s.values[t.Name])] = line
		s.values[t.Name] = append(s.values[t.Name], csvcell.Read(row[column]))
	}
	if len(s.values[t.Name]) == 0 {
		return usage("%s lists no targets", s.runFlags.csv)
	}
	return nil
}

// targetColumn returns the column of a first line that names the targets, or -1.
func targetColumn(row []string, t *specform.Field) int {
	for _, name := range []string{"item", lastName(t), t.Name} {
		if i := slices.IndexFunc(row, func(cell string) bool { return strings.EqualFold(strings.TrimSpace(cell), name) }); i >= 0 {
			return i
		}
	}
	return -1
}

// lastName is the name of a field without those of the groups that it is in.
func lastName(f *specform.Field) string { return f.Name[strings.LastIndex(f.Name, ".")+1:] }
