package workflow

// Control is what an operator has asked of a task. A request is a column, never
// only a signal: it is seen at the next batch border at the latest.
type Control string

// The requests. A COMPLETED task whose control is Stop was stopped, and what it
// did is partial.
const (
	None   Control = ""
	Stop   Control = "STOP"
	Pause  Control = "PAUSE"
	Delete Control = "DELETE"
)

// Controls returns all values of the control column.
func Controls() []Control { return []Control{None, Stop, Pause, Delete} }
