package lifecycle

// Control is the request that stands on a task. It is a column, never only a
// signal: the worker sees it at the next batch boundary at the latest.
type Control string

// The requests. None stands on a task that has ended.
const (
	None   Control = ""
	Stop   Control = "STOP"
	Pause  Control = "PAUSE"
	Delete Control = "DELETE"
)

// Controls returns all values of the control column.
func Controls() []Control { return []Control{None, Stop, Pause, Delete} }

// Ends reports whether the request ends the task.
func (c Control) Ends() bool { return c == Stop || c == Delete }
