package lifecycle

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

const (
	limitKeyMax = 200 // bytes
	limitMost   = math.MaxInt32
)

// ReservedLimit begins the keys of the runtime's own limits.
const ReservedLimit = "taskkit."

// LimitProblem returns what is wrong with a concurrency limit of a key, or "".
func LimitProblem(key string, atMost int) string {
	switch {
	case key == "":
		return "the key is empty"
	case len(key) > limitKeyMax:
		return fmt.Sprintf("the key %q... has %d bytes, more than %d", strings.ToValidUTF8(key[:60], ""), len(key), limitKeyMax)
	case !utf8.ValidString(key) || strings.ContainsRune(key, 0):
		return "the key contains a NUL byte or invalid UTF-8"
	case strings.HasPrefix(key, ReservedLimit):
		return fmt.Sprintf("the key %q begins as those of taskkit itself do", key)
	case atMost < 1:
		return fmt.Sprintf("at most %d with the key %q: at least 1 task must be able to execute; to hold tasks, pause them", atMost, key)
	case atMost > limitMost:
		return fmt.Sprintf("at most %d with the key %q: use a number up to %d", atMost, key, limitMost)
	}
	return ""
}
