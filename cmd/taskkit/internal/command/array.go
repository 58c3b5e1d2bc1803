package command

import (
	"encoding/json"
	"fmt"
	"io"

	"taskkit.dev/cmd/taskkit/internal/screen"
)

// array writes values while they are read: as a JSON array, or each on a line.
type array struct {
	out       io.Writer
	lines     bool
	separator string // before the next value
}

func newArray(out io.Writer, format string) *array {
	if format == ndjsonFormat {
		return &array{out: out, lines: true}
	}
	return &array{out: out, separator: "[\n"}
}

func (w *array) add(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if w.lines {
		_, err = fmt.Fprintf(w.out, "%s\n", screen.Escape(text))
		return err
	}
	_, err = fmt.Fprintf(w.out, "%s%s", w.separator, screen.Escape(text))
	w.separator = ",\n"
	return err
}

// end writes what is left.
func (w *array) end() (err error) {
	switch w.separator {
	case "":
	case "[\n":
		_, err = fmt.Fprintln(w.out, "[]")
	default:
		_, err = fmt.Fprintln(w.out, "\n]")
	}
	return err
}
