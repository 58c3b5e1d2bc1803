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

// IsPaused is the condition of the index taskkit_paused on a task, in SQL, word for word; alias is the alias of the table with a point, or "". It
// is short, since each INSERT prepares it, and an expression, so that a planner takes the index for no other statement about paused tasks. A
// planner assumes that nearly all tasks meet it: with control = 'PAUSE' it assumes few, and reads and sorts all of them for a page.
func IsPaused(alias string) string {
	return strings.ReplaceAll("CASE WHEN {q}control = 'PAUSE' THEN {q}control END IS NOT NULL", "{q}", alias)
}

// PauseKey is the first column of the index, in SQL, word for word: [CauseApproval] or [CausePaused], with [ChildKey] for a child.
func PauseKey(alias string) string {
	return strings.ReplaceAll(fmt.Sprintf("CASE WHEN substr({q}control_reason, 1, %d) = '%s' THEN '%s' ELSE '%s' END ||"+
		" CASE WHEN {q}parent_id IS NULL THEN '' ELSE '%s' END", len(ReasonApproval), ReasonApproval, CauseApproval, CausePaused, ChildKey), "{q}", alias)
}
