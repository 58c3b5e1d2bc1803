package taskkit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxJSON is the size limit of a spec, a state and a result, in bytes.
const MaxJSON = 4 << 20

// maxDepth is how deep a spec, a state or a result may be nested.
const maxDepth = 100

// errNUL: neither database can be trusted with a NUL in text.
var errNUL = errors.New(`a string holds the NUL character (\u0000)`)

// checkJSON holds data to the one rule for both databases, which is stricter
// than either: one value of valid UTF-8, no duplicate names, no NUL, no lone
// surrogates, at most MaxJSON bytes and maxDepth levels.
func checkJSON(data []byte) error {
	if len(data) > MaxJSON {
		return &SizeError{Size: len(data), Limit: MaxJSON}
	}
	// Inside valid JSON a NUL can only be written like this; the same bytes may
	// also be an escaped backslash and four zeros.
	suspect := bytes.Contains(data, []byte(`\u0000`))
	d := jsontext.NewDecoder(bytes.NewBuffer(data))
	for {
		tok, err := d.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("not storable as JSON: %w", err)
		}
		if d.StackDepth() > maxDepth {
			return fmt.Errorf("not storable as JSON: nested deeper than %d at %s", maxDepth, d.StackPointer())
		}
		if suspect && tok.Kind() == '"' && strings.ContainsRune(tok.String(), 0) {
			return fmt.Errorf("not storable as JSON: %w at %s", errNUL, d.StackPointer())
		}
	}
}
