package store

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// NotifyChannel returns the name of the PostgreSQL channel on which workers of a
// schema are notified of new tasks.
func NotifyChannel(schema string) string { return "taskkit_" + schema }

// WorkerPresent is the payload of the notification that another worker has presence. All others
// except the probes of listeners means that tasks may have become claimable.
const WorkerPresent = "worker present"

// checkKey refuses a key that one database would refuse and the other would
// truncate. A key is never changed, because a lookup would then miss it.
func checkKey(column, s string) error {
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		return fmt.Errorf("%s %q contains a NUL byte or invalid UTF-8, which cannot be stored", column, s)
	}
	return nil
}
