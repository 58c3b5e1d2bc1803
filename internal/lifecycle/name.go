package lifecycle

import "regexp"

// Names are stored with every task and appear in metrics, logs and shells, so
// they need no quoting anywhere.
var (
	kindName  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)
	queueName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,62}$`)
)

// The rules that ValidKind and ValidQueue check, as the end of a sentence that
// begins with "use".
const (
	KindRule  = "lower case letters, digits and underscores, a letter first, 63 at most"
	QueueRule = "lower case letters, digits, underscores, dots and hyphens, a letter or digit first, 63 at most"
)

// ValidKind reports whether a kind may have this name.
func ValidKind(name string) bool { return kindName.MatchString(name) }

// ValidQueue reports whether a queue may have this name.
func ValidQueue(name string) bool { return queueName.MatchString(name) }
