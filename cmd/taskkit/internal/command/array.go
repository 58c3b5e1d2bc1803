package command

import (
	"encoding/json"
	"fmt"
	"io"

	"taskkit.dev/cmd/taskkit/internal/screen"
)

// array writes values as a JSON array, each on a line, while they are read.
type array struct {
	out       io.Writer
	separator string // before the next value
}

func newArray(out io.Writer) *array { return &array{out: out, separator: "[\n"} }

func (w *array) add(value any) error {
	text, err := json.Marshal(value)
	if err == nil {
		_, err = fmt.Fprintf(w.out, "%s%s", w.separator, screen.Escape(text))
	}
	w.separator = ",\n"
	return err
}

// end writes what is left.
func (w *array) end() error {
	if w.separator == "[\n" {
		_, err := fmt.Fprintln(w.out, "[]")
		return err
	}
	_, err := fmt.Fprintln(w.out, "\n]")
	return err
}
