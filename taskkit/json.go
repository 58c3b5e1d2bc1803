package taskkit

import (
	"fmt"

	"taskkit.dev/taskkit/taskjson"
)

// MaxJSON is the size limit of a spec, a state and a result, in bytes.
const MaxJSON = taskjson.MaxSize

// checkJSON holds data to the one rule for both databases, which is stricter
// than either: one value of valid UTF-8, no duplicate names, no NUL, no lone
// surrogates, at most MaxJSON bytes and taskjson.MaxDepth levels. The error wraps
// a [*JSONError].
func checkJSON(data []byte) error {
	err := checkSize(data)
	if err == nil {
		err = taskjson.Check(data)
	}
	if err != nil {
		return fmt.Errorf("not storable as JSON: %w", err)
	}
	return nil
}

// checkSize refuses what is too large, and says what else there is.
func checkSize(data []byte) error {
	if len(data) <= MaxJSON {
		return nil
	}
	return &JSONError{Problem: taskjson.TooLarge, Detail: fmt.Sprintf(
		"%d bytes, more than %d: name the targets by a query, or submit several tasks", len(data), MaxJSON)}
}
