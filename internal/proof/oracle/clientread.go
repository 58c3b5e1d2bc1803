package oracle

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// call is a call as the logs tell it.
type call struct {
	file    string
	op      string
	kind    string
	key     string
	unique  string
	set     []Range
	task    string
	outcome string
	err     string
	began   int64 // by the client's clock
	ended   int64 // 0 without an outcome
}

// readLogs reads all logs of a directory. A call without an outcome is unknown.
// The last line of a log may be torn; a torn line elsewhere is an error, for
// then the disk has not kept what it promised.
func readLogs(dir string) (calls []call, files int64, err error) {
	if dir == "" {
		return nil, 0, nil
	}
	names, err := filepath.Glob(filepath.Join(dir, "*"+logSuffix))
	if err != nil {
		return nil, 0, fmt.Errorf("oracle: look for client logs: %w", err)
	}
	slices.Sort(names)
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, 0, fmt.Errorf("oracle: read a client log: %w", err)
		}
		found, err := parseLog(filepath.Base(name), content)
		if err != nil {
			return nil, 0, err
		}
		calls = append(calls, found...)
	}
	return calls, int64(len(names)), nil
}

// parseLog reads one log.
func parseLog(name string, content []byte) ([]call, error) {
	var calls []call
	at := make(map[int64]int)
	// What follows the last line break is torn, or empty.
	end := bytes.LastIndexByte(content, '\n') + 1
	number := 0
	for line := range bytes.Lines(content[:end]) {
		number++
		problem := func(err error) error { return fmt.Errorf("oracle: client log %s, line %d: %w", name, number, err) }
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, problem(err)
		}
		if e.Op != "" {
			at[e.Call] = len(calls)
			calls = append(calls, call{
				file: name, op: e.Op, kind: e.Kind, key: e.Key, unique: e.Unique,
				set: e.Set, task: e.Task, outcome: OutcomeUnknown, began: e.At,
			})
			continue
		}
		i, ok := at[e.Call]
		if !ok {
			return nil, problem(fmt.Errorf("an outcome of call %d, which has not begun or has ended before", e.Call))
		}
		delete(at, e.Call)
		c := &calls[i]
		switch e.Outcome {
		case OutcomeOK, OutcomeDuplicate, OutcomeRefused, OutcomeUnknown:
			c.outcome, c.err, c.ended = e.Outcome, e.Error, e.At
		default:
			return nil, problem(errors.New("no outcome that a log can hold: " + e.Outcome))
		}
		if e.Task != "" {
			c.task = e.Task
		}
	}
	return calls, nil
}
