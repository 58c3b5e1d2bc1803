package oracle

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// keyed names tasks by a key of their kind.
type keyed struct{ kind, key string }

// The columns of keys.
const (
	uniqueKey      = "unique_key"
	idempotencyKey = "idempotency_key"
)

// readCalls resolves the calls of the logs.
func (c *checker) readCalls(ctx context.Context) error {
	if len(c.calls) == 0 {
		return nil
	}
	born, err := c.inserted(ctx, idempotencyKey)
	if err != nil {
		return err
	}
	c.resolveCalls(born)
	return nil
}

// resolveCalls finds out which task a logged Submit is about, so that its set is
// known, and which tasks the logs name. It takes the tasks that were inserted
// with each idempotency key.
func (c *checker) resolveCalls(born map[keyed][]string) {
	for i := range c.calls {
		s := &c.calls[i]
		if s.task == "" && s.op == opSubmit && s.key != "" {
			if ids := born[keyed{s.kind, s.key}]; len(ids) > 0 {
				s.task = ids[0]
			}
		}
		if s.task == "" {
			continue
		}
		s.task = strings.ToLower(s.task)
		c.ends[s.task] = ""
		if s.op == opSubmit && len(s.set) > 0 && s.outcome != OutcomeDuplicate && len(c.logged[s.task]) == 0 {
			c.logged[s.task] = s.set
		}
	}
}

// inserted returns the tasks that were ever inserted with each key.
func (c *checker) inserted(ctx context.Context, column string) (map[keyed][]string, error) {
	born := make(map[keyed][]string)
	err := c.each(ctx, "SELECT kind, "+column+", task FROM {s}oracle_history WHERE op = 'INSERT' AND "+column+" <> '' ORDER BY id", nil,
		func(rows *sql.Rows) error {
			var (
				k  keyed
				id string
			)
			err := rows.Scan(&k.kind, &k.key, &id)
			born[k] = append(born[k], id)
			return err
		})
	return born, err
}

// compareCalls compares the logs with the database.
func (c *checker) compareCalls(ctx context.Context) error {
	if len(c.calls) == 0 {
		return nil
	}
	byIdempotency, err := c.inserted(ctx, idempotencyKey)
	if err != nil {
		return err
	}
	byUnique, err := c.inserted(ctx, uniqueKey)
	if err != nil {
		return err
	}
	c.checkCalls(byIdempotency, byUnique)
	return nil
}

// checkCalls checks I2 (what was acknowledged exists once, what was not exists
// once or not at all), I8 for requests (an acknowledged one was recorded), I13
// for refusals, and I22 for how long workers took to leave. It takes the tasks
// that were inserted with each key.
func (c *checker) checkCalls(byIdempotency, byUnique map[keyed][]string) {
	submits := make(map[keyed][]*call)
	asked := make(map[string]map[string]int64)
	for i := range c.calls {
		s := &c.calls[i]
		switch s.op {
		case opSubmit:
			c.countSubmit(s)
			if s.key != "" {
				k := keyed{s.kind, s.key}
				submits[k] = append(submits[k], s)
			}
			if s.outcome == OutcomeOK && c.ends[s.task] == "" {
				c.found("I2", s.task, "%s was told that it was submitted, and it was never there", s.file)
			}
			if s.outcome == OutcomeDuplicate && len(byUnique[keyed{s.kind, s.unique}])+len(byIdempotency[keyed{s.kind, s.key}]) == 0 {
				c.found("I13", "", "%s was told that a %s task with key %q or %q exists, and none ever did", s.file, s.kind, s.unique, s.key)
			}
		case opDrain:
			if s.outcome == OutcomeOK && c.opts.Grace > 0 && s.ended-s.began > c.opts.Grace.Microseconds() {
				c.found("I22", "", "the worker of %s took %v to leave, at most %v is allowed", s.file, micros(s.ended-s.began), c.opts.Grace)
			}
		default:
			c.report.Counts.Asked++
			if s.outcome == OutcomeOK {
				if asked[s.task] == nil {
					asked[s.task] = make(map[string]int64)
				}
				asked[s.task][s.op]++
			}
		}
	}
	for id, actions := range asked {
		for action, n := range actions {
			if have := c.events[id][action]; have < n {
				c.found("I8", id, "%d requests to %s were acknowledged, and %d were recorded", n, action, have)
			}
		}
	}
	for k, of := range submits {
		c.checkKey(k, of, byIdempotency[k])
	}
}

func (c *checker) countSubmit(s *call) {
	n := &c.report.Counts
	n.Submits++
	switch s.outcome {
	case OutcomeOK:
		n.Acknowledged++
	case OutcomeDuplicate:
		n.Duplicates++
	case OutcomeUnknown:
		n.Unknown++
	}
}

// checkKey checks I2 for all Submits with one idempotency key.
func (c *checker) checkKey(k keyed, of []*call, tasks []string) {
	said := func(outcome string) bool {
		return slices.ContainsFunc(of, func(s *call) bool { return s.outcome == outcome })
	}
	switch {
	case len(tasks) > 1 && (c.history == nil || !c.history.Resubmits):
		c.found("I2", tasks[0], "%d tasks of kind %s were submitted with the key %q", len(tasks), k.kind, k.key)
	case len(tasks) == 0 && said(OutcomeOK):
		c.found("I2", "", "a %s task with the key %q was acknowledged, and none was ever there", k.kind, k.key)
	case len(tasks) == 1 && !said(OutcomeOK) && !said(OutcomeUnknown) && !said(OutcomeDuplicate):
		c.found("I2", tasks[0], "%s was told that nothing was submitted with the key %q, and it was", of[0].file, k.key)
	}
	for _, s := range of {
		if s.outcome == OutcomeOK && len(tasks) == 1 && s.task != tasks[0] {
			c.found("I2", tasks[0], "%s was told that the key %q names %s", s.file, k.key, s.task)
		}
	}
}
