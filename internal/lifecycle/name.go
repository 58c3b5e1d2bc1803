package lifecycle

import "regexp"

// Names are stored with every task and appear in metrics, logs and shells, so
// they need no quoting anywhere.
var (
	kindName  = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)
	queueName = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,62}$`)
	tableName = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_$]{0,62}\.)?[A-Za-z_][A-Za-z0-9_$]{0,62}$`)
)

// The rules that ValidKind, ValidQueue and ValidTable check, as the end of a sentence that
// begins with "use".
const (
	KindRule  = "lower case letters, digits and underscores, a letter first, 63 at most"
	QueueRule = "lower case letters, digits, underscores, dots and hyphens, a letter or digit first, 63 at most"
	TableRule = "the name of a table as the database has it, or schema.table, each of letters, digits, underscores and $, no digit or $ first, 63 at most"
)

// ValidKind reports whether a kind may have this name.
func ValidKind(name string) bool { return kindName.MatchString(name) }

// ValidQueue reports whether a queue may have this name.
func ValidQueue(name string) bool { return queueName.MatchString(name) }

// ValidTable reports whether a kind may name this table as one that its tasks write.
func ValidTable(name string) bool { return tableName.MatchString(name) }
