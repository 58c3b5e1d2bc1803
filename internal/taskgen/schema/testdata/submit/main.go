// Command submit reads documents, each a JSON string on a line of its own, and
// decodes and submits them as a server does. For each it prints a JSON string on a
// line: why the document was refused, or nothing when it was about to be stored.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"taskkit.dev/taskkit"

	"example.test/gen/ruledtask"
)

// errStored is what the database answers: the task was about to be stored.
var errStored = errors.New("stored")

type database struct{}

func (database) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return nil, errStored
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var doc string
		err := in.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return
		}
		refused := ""
		if err == nil {
			refused, err = submit(doc)
		}
		if err == nil {
			err = out.Encode(refused)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", doc, err)
			os.Exit(1)
		}
	}
}

// submit decodes and submits a document and returns why it was refused.
func submit(doc string) (refused string, err error) {
	codec, _, _ := ruledtask.Kind.Codecs()
	var spec ruledtask.Spec
	if err := codec.Decode([]byte(doc), &spec); err != nil {
		return err.Error(), nil
	}
	_, err = taskkit.Submit(context.Background(), database{}, ruledtask.Kind, spec, taskkit.System())
	var invalid *taskkit.SpecError
	switch {
	case errors.Is(err, errStored):
		return "", nil
	case errors.As(err, &invalid):
		return err.Error(), nil
	default:
		return "", fmt.Errorf("neither stored nor refused: %w", err)
	}
}
