package memstore

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/workflow"
)

// The few forms of SQL that this store reads: what an executor of the
// simulation writes, and what the conformance suite does past the store.
var (
	insertForm = regexp.MustCompile(`(?i)^\s*INSERT INTO (\w+) \(([\w, ]+)\) VALUES \(([^()]*)\)\s*$`)
	createForm = regexp.MustCompile(`(?i)^CREATE TABLE (\w+) `)
	updateForm = regexp.MustCompile(`^UPDATE (\w+) SET (.*?)(?: WHERE (.*))?$`)
	deleteForm = regexp.MustCompile(`^DELETE FROM (\w+)(?: WHERE (.*))?$`)
	countForm  = regexp.MustCompile(`^SELECT count\(\*\) FROM (\w+)(?: WHERE (.*))?$`)
	clockForm  = regexp.MustCompile(`^clock_timestamp\(\) \+ interval '(-?\d+) seconds'$`)
)

// insertion reads an INSERT of one row.
func insertion(query string, args []any) (table string, values []any, err error) {
	m := insertForm.FindStringSubmatch(query)
	if m == nil {
		return "", nil, &Error{"42601", "the store in memory cannot read " + query}
	}
	for v := range strings.SplitSeq(m[3], ",") {
		value, err := literal(strings.TrimSpace(v), args)
		if err != nil {
			return "", nil, err
		}
		values = append(values, value)
	}
	return m[1], values, nil
}

// literal is the value of a parameter, a text, a number or a truth.
func literal(s string, args []any) (any, error) {
	switch {
	case strings.HasPrefix(s, "$"):
		n, err := strconv.Atoi(s[1:])
		if err != nil || n < 1 || n > len(args) {
			return nil, &Error{"42P02", "there is no parameter " + s}
		}
		return args[n-1], nil
	case len(s) >= 2 && s[0] == '\'' && s[len(s)-1] == '\'':
		return s[1 : len(s)-1], nil
	case s == "true" || s == "false":
		return s == "true", nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return nil, &Error{"42601", "the store in memory cannot read the value " + s}
	}
	return n, nil
}

// CreateTable makes a table for executors to write into.
func (s *Store) CreateTable(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables[name] = true
}

// Exec executes a statement past the rules of the runtime, as a test does with
// a database: CREATE TABLE, and UPDATE and DELETE of tasks and processes by
// equality. The guards of transitions do not apply.
func (s *Store) Exec(ctx context.Context, query string, args ...any) error {
	if m := createForm.FindStringSubmatch(query); m != nil {
		s.CreateTable(m[1])
		return nil
	}
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if m := deleteForm.FindStringSubmatch(query); m != nil {
		return s.each(m[1], m[2], args, func(r *row, p *store.Process) error {
			if r != nil {
				s.remove(s.commit(), "Exec", r)
				return nil
			}
			delete(s.procs, p.ID)
			return nil
		})
	}
	m := updateForm.FindStringSubmatch(query)
	if m == nil {
		return &Error{"42601", "the store in memory cannot read " + query}
	}
	return s.each(m[1], m[3], args, func(r *row, p *store.Process) error {
		if r != nil {
			before := r.Task
			defer func() {
				after := r.Task
				s.log = append(s.log, Change{Commit: s.commit(), At: s.now(), By: "Exec", Before: &before, After: &after})
			}()
		}
		for set := range strings.SplitSeq(m[2], ", ") {
			column, text, _ := strings.Cut(set, " = ")
			var value any
			if c := clockForm.FindStringSubmatch(text); c != nil {
				n, _ := strconv.Atoi(c[1])
				value = s.now().Add(time.Duration(n) * time.Second)
			} else {
				var err error
				if value, err = literal(text, args); err != nil {
					return err
				}
			}
			if err := assign(r, p, column, value); err != nil {
				return err
			}
		}
		return nil
	})
}

// assign sets a column.
func assign(r *row, p *store.Process, column string, value any) error {
	switch v := value.(type) {
	case time.Time:
		switch {
		case r != nil && column == "not_before":
			r.NotBefore = v
			return nil
		case p != nil && column == "last_heartbeat_date":
			p.Heartbeat = v
			return nil
		case p != nil && column == "ended_date":
			p.Ended = &v
			return nil
		}
	case bool:
		if r != nil && column == "stalled" {
			r.Stalled = v
			return nil
		}
	case int64:
		switch {
		case r != nil && column == "codec_revision":
			r.Revision = int(v)
			return nil
		case r != nil && column == "fence":
			r.Fence = v
			return nil
		case r != nil && column == "attempts":
			r.Attempts = int(v)
			return nil
		}
	case string:
		switch {
		case r != nil && column == "control":
			r.Control = workflow.Control(v)
			return nil
		case r != nil && column == "queue":
			r.Queue = v
			return nil
		}
	}
	return &Error{"42703", "the store in memory cannot set " + column}
}

// each calls f for every row of a table that meets a condition.
func (s *Store) each(table, where string, args []any, f func(*row, *store.Process) error) error {
	switch table {
	case "taskkit_queued_task":
		for _, id := range append([]uuid.UUID(nil), s.order...) {
			r := s.tasks[id]
			ok, err := meets(where, args, func(column string) string { return taskColumn(r, column) })
			if err == nil && ok {
				err = f(r, nil)
			}
			if err != nil {
				return err
			}
		}
	case "taskkit_task_process":
		for _, p := range s.procs {
			ok, err := meets(where, args, func(string) string { return p.ID })
			if err == nil && ok {
				err = f(nil, p)
			}
			if err != nil {
				return err
			}
		}
	default:
		return &Error{"42P01", "relation " + table + " cannot be reached"}
	}
	return nil
}

// taskColumn is the text of a column of a task.
func taskColumn(r *row, column string) string {
	switch column {
	case "id":
		return r.ID.String()
	case "fence":
		return fmt.Sprint(r.Fence)
	case "workflow_status":
		return string(r.Status)
	}
	return "no such column"
}

// meets reports whether a row meets a condition of equalities.
func meets(where string, args []any, column func(string) string) (bool, error) {
	if where == "" {
		return true, nil
	}
	for term := range strings.SplitSeq(where, " AND ") {
		name, text, _ := strings.Cut(term, " = ")
		want, err := literal(text, args)
		if err != nil {
			return false, err
		}
		if column(name) != fmt.Sprint(want) {
			return false, nil
		}
	}
	return true, nil
}

// Count answers SELECT count(*) of a table.
func (s *Store) Count(ctx context.Context, query string, args ...any) (n int, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	m := countForm.FindStringSubmatch(query)
	if m == nil {
		return 0, &Error{"42601", "the store in memory cannot read " + query}
	}
	switch table := m[1]; table {
	case "taskkit_task_event":
		for _, e := range s.events {
			if m[2] == "" || e.task.String() == fmt.Sprint(args[0]) {
				n++
			}
		}
	case "taskkit_task_failure":
		for _, fs := range s.failures {
			n += len(fs)
		}
	case "taskkit_task_attempt":
		for _, as := range s.attempts {
			n += len(as)
		}
	case "taskkit_task_result":
		for _, r := range s.results {
			if m[2] == "" || r.fetched {
				n++
			}
		}
	case "taskkit_queued_task", "taskkit_task_process":
		err = s.each(table, m[2], args, func(*row, *store.Process) error { n++; return nil })
	default:
		for _, r := range s.rows {
			if r.Table == table {
				n++
			}
		}
	}
	return n, err
}
