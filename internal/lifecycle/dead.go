package lifecycle

import "strings"

// Dead reports whether a task with this status is a dead letter: it has ended, and not as it was to.
func (s Status) Dead() bool { return s == Error || s == Failure }

// DeadKey is, in SQL, the status and the kind of a dead letter with [ChildKey] for a child, and NULL of another task; alias is the
// alias of the table with a point, or "". The index taskkit_dead has this expression, word for word.
func DeadKey(alias string) string {
	return strings.ReplaceAll("CASE WHEN {q}workflow_status IN ('ERROR', 'FAILURE') THEN {q}workflow_status || ' ' || {q}execution_component_name ||"+
		" CASE WHEN {q}parent_id IS NULL THEN '' ELSE '"+ChildKey+"' END END", "{q}", alias)
}

// ChildKey ends the [DeadKey] and the [PauseKey] of a child. No kind has a space in its name.
const ChildKey = " child"

// AsListed reports whether a task is still the dead letter that was listed with a fence, so that a
// request on many does not meet one that was retried meanwhile; nil sets no condition.
func AsListed(fence *int64, s Status, now int64) bool {
	return fence == nil || s.Dead() && *fence == now
}
