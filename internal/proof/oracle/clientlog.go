package oracle

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Log is what one client process writes down: each call before it is made, and
// its outcome. Every line is on the disk before the method returns, so what the
// log says outlives whatever becomes of the process. It is safe for concurrent
// use.
type Log struct {
	mu   sync.Mutex
	file *os.File
	last int64
}

// logSuffix is how the files of a log directory end.
const logSuffix = ".oracle.jsonl"

// OpenLog begins a log in a directory. The name is for people; each log has a
// file of its own, also when a process of the same name begins again.
func OpenLog(dir, name string) (*Log, error) {
	f, err := os.CreateTemp(dir, filepath.Base(name)+"-*"+logSuffix)
	if err != nil {
		return nil, fmt.Errorf("oracle: begin a client log: %w", err)
	}
	d, err := os.Open(dir)
	if err == nil {
		err = d.Sync()
		_ = d.Close()
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("oracle: make the client log %s last: %w", f.Name(), err)
	}
	return &Log{file: f}, nil
}

// Close ends the log.
func (l *Log) Close() error { return l.file.Close() }

// The outcomes of a call.
const (
	OutcomeOK        = "ok"        // acknowledged
	OutcomeDuplicate = "duplicate" // refused because the key is taken
	OutcomeRefused   = "refused"   // nothing happened, and the client knows it
	OutcomeUnknown   = "unknown"   // an error that may hide a success
)

// The operations that are no operator's action.
const (
	opSubmit = "submit"
	opDrain  = "drain"
)

// entry is one line: a call begun (Op is set) or its outcome.
type entry struct {
	Call    int64   `json:"call"`
	At      int64   `json:"at"` // the client's clock, microseconds since 1970
	Op      string  `json:"op,omitempty"`
	Kind    string  `json:"kind,omitempty"`
	Key     string  `json:"key,omitempty"`    // idempotency key
	Unique  string  `json:"unique,omitempty"` // unique key
	Set     []Range `json:"set,omitempty"`
	Task    string  `json:"task,omitempty"`
	Outcome string  `json:"outcome,omitempty"`
	Error   string  `json:"error,omitempty"`
}

// write appends a line and waits until it is on the disk.
func (l *Log) write(e entry) error {
	e.At = time.Now().UnixMicro()
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("oracle: a line of %s: %w", l.file.Name(), err)
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("oracle: write %s: %w", l.file.Name(), err)
	}
	if err := l.file.Sync(); err != nil {
		return fmt.Errorf("oracle: make %s last: %w", l.file.Name(), err)
	}
	return nil
}

// Call is a call under way. Exactly one of its methods ends it; a call that
// none has ended counts as unknown.
type Call struct {
	log  *Log
	call int64
}

func (l *Log) begin(e entry) (*Call, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last++
	e.Call = l.last
	if err := l.write(e); err != nil {
		return nil, err
	}
	return &Call{l, e.Call}, nil
}

// Submission is what a client is about to submit. The key is the task's
// idempotency key, by which it is found when the outcome is unknown; a
// submission without one is only checked once it is acknowledged.
type Submission struct {
	Kind      string
	Key       string
	UniqueKey string
	Set       []Range
}

// Submit notes that a task is about to be submitted.
func (l *Log) Submit(s Submission) (*Call, error) {
	return l.begin(entry{Op: opSubmit, Kind: s.Kind, Key: s.Key, Unique: s.UniqueKey, Set: s.Set})
}

// Control notes that something is about to be asked of a task: stop, pause,
// resume, retry or delete.
func (l *Log) Control(action, task string) (*Call, error) {
	return l.begin(entry{Op: action, Task: task})
}

// Drain notes that a worker is about to be told to leave. Its end is noted with
// OK when the process has gone.
func (l *Log) Drain() (*Call, error) { return l.begin(entry{Op: opDrain}) }

// OK notes that the call was acknowledged; of a Submit, with the task's id.
func (c *Call) OK(task string) error { return c.end(entry{Outcome: OutcomeOK, Task: task}) }

// Duplicate notes that a Submit was refused because another task has the key.
func (c *Call) Duplicate() error { return c.end(entry{Outcome: OutcomeDuplicate}) }

// Refused notes an error after which nothing can have happened.
func (c *Call) Refused(err error) error {
	return c.end(entry{Outcome: OutcomeRefused, Error: err.Error()})
}

// Unknown notes an error after which the call may have taken effect: every one
// of which the client cannot say better.
func (c *Call) Unknown(err error) error {
	return c.end(entry{Outcome: OutcomeUnknown, Error: err.Error()})
}

func (c *Call) end(e entry) error {
	e.Call = c.call
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	return c.log.write(e)
}
