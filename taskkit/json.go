package taskkit

import "taskkit.dev/taskkit/taskjson"

// MaxJSON is the largest size of a spec, a state and a result as JSON, in bytes.
const MaxJSON = taskjson.MaxSize

// JSONError says what is wrong with the JSON of a spec, state or result, and where,
// as a JSON pointer. Use [errors.As] to find it.
type JSONError = taskjson.Error
