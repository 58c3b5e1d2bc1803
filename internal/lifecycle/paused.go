package lifecycle

import (
	"fmt"
	"strings"
)

// The words of package taskcause for paused tasks, as they are counted: of those that wait for approval, and of all others.
const (
	CausePaused   = "paused"
	CauseApproval = "approval"
)

// PauseKey is, in SQL, [CauseApproval] or [CausePaused] of a paused task with [ChildKey] for a child, and NULL of another task; alias is the
// alias of the table with a point, or "". The index taskkit_paused has this expression, word for word.
func PauseKey(alias string) string {
	return strings.ReplaceAll(fmt.Sprintf("CASE WHEN {q}control = 'PAUSE' THEN CASE WHEN substr({q}control_reason, 1, %d) = '%s' THEN '%s' ELSE '%s' END ||"+
		" CASE WHEN {q}parent_id IS NULL THEN '' ELSE '%s' END END", len(ReasonApproval), ReasonApproval, CauseApproval, CausePaused, ChildKey), "{q}", alias)
}
