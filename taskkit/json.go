package taskkit

import (
	"fmt"

	"taskkit.dev/taskkit/taskjson"
)

// MaxJSON is the size limit of a spec, a state and a result, in bytes.
const MaxJSON = 4 << 20

// checkJSON holds data to the one rule for both databases, which is stricter
// than either: one value of valid UTF-8, no duplicate names, no NUL, no lone
// surrogates, at most MaxJSON bytes and taskjson.MaxDepth levels. The error is a
// [*SizeError] or wraps a [*JSONError].
func checkJSON(data []byte) error {
	if len(data) > MaxJSON {
		return &SizeError{Size: len(data), Limit: MaxJSON}
	}
	if err := taskjson.Check(data); err != nil {
		return fmt.Errorf("not storable as JSON: %w", err)
	}
	return nil
}
