package museum

import (
	"fmt"
	"strings"
)

// An Exhibit is a fault of another queue, and what finds it here.
type Exhibit struct {
	Complaint int    // the number of the complaint
	Name      string // of the patch, after the number
	Fault     string // what the patch makes of the engine
	Package   string // of the tests, from the root of the module
	Tests     []string
}

// File is the name of the exhibit's patch.
func (e Exhibit) File() string { return fmt.Sprintf("%02d-%s.patch", e.Complaint, e.Name) }

// A Complaint is one of the thirty, in a few words.
type Complaint struct {
	Number int
	Cause  string
	// Beyond is what of it this engine cannot suffer from, or does not do, so
	// that there is nothing to take away; "" when the exhibits are all of it.
	Beyond string
}

// Complaints returns the thirty.
func Complaints() []Complaint {
	return []Complaint{
		{1, "a rescue brings a finished or re-claimed job back", ""},
		{2, "a late finish counts twice", "limits by a counter that could go wrong: there is none, a worker's slots are counted by what runs in them"},
		{3, "a name is taken for a fence", ""},
		{4, "a missed heartbeat does not stop the worker", ""},
		{5, "stuck in running for hours", ""},
		{6, "orphans that no reaper sees", ""},
		{7, "recovery itself loses work", ""},
		{8, "a deploy strands or discards work", ""},
		{9, "the payload has changed, old rows fail", ""},
		{10, "a shutdown hangs, or leaves rows running", ""},
		{11, "migrations lock the table", "a migration of a full table: only one has been released, and it makes the tables"},
		{12, "a poisonous task reboots the fleet", ""},
		{13, "a storm of retries after a stall", ""},
		{14, "a stop or a pause never ends", ""},
		{15, "progress is skipped or repeated", ""},
		{16, "races for a unique key", ""},
		{17, "LISTEN dies and says nothing", ""},
		{18, "NOTIFY stops the whole database", ""},
		{19, "a pooler between, another mode of the driver", ""},
		{20, "bloat, and vacuum held up", ""},
		{21, "slow claims on a large table", ""},
		{22, "a stalled call stops a loop", ""},
		{23, "COMMIT said error and had committed", ""},
		{24, "clocks that differ", ""},
		{25, "SQLite: database is locked", ""},
		{26, "bytes that the database refuses", ""},
		{27, "huge bulk", ""},
		{28, "one transaction with ent", ""},
		{29, "fairness", "turns between tenants: tasks are taken by priority and age"},
		{30, "memory", "leaks over hours: the long load of internal/fleet looks for those"},
	}
}

// Pattern is what go test's -run needs for these tests and no others, if they
// differ in one element at most: TestA/x and TestA/y.
func Pattern(tests []string) string {
	var levels [][]string
	for _, test := range tests {
		for i, part := range strings.Split(test, "/") {
			if i == len(levels) {
				levels = append(levels, nil)
			}
			levels[i] = append(levels[i], part)
		}
	}
	out := make([]string, len(levels))
	for i, parts := range levels {
		out[i] = "^(" + strings.Join(parts, "|") + ")$"
	}
	return strings.Join(out, "/")
}
