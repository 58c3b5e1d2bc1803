// Package txchanges counts what the statements of a transaction change, by table and
// verb, for the report of a preview. It reads that from the words of the statements and
// from the numbers of rows that the database returns.
package txchanges

import (
	"database/sql"
	"slices"
	"sync"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store/sqlscan"
)

// Counter counts the changes of a transaction. What a savepoint undoes is not counted.
// It is safe for concurrent use.
type Counter struct {
	dialect dialect.Name

	mu         sync.Mutex
	made       []*Change
	savepoints []openSavepoint
}

// New returns a counter.
func New(d dialect.Name) *Counter { return &Counter{dialect: d} }

// Change is what one statement has changed.
type Change struct {
	Verb, Table string // "": no change whose rows are known
	Rows        int64
	Others      int64 // changes whose rows are unknown
}

// openSavepoint is a savepoint, and how many changes there were before it.
type openSavepoint struct {
	name string
	made int
}

// Executed counts a statement that has succeeded. Without a result the number of its
// rows is unknown.
func (c *Counter) Executed(query string, r sql.Result) {
	e := sqlscan.EffectOf(c.dialect, query)
	made := &Change{Verb: e.Verb, Table: e.Table, Others: e.Others}
	if made.Verb != "" {
		known := false
		if r != nil {
			rows, err := r.RowsAffected()
			made.Rows, known = rows, err == nil
		}
		if !known {
			made = &Change{Others: e.Others + 1}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(made)
	for _, s := range e.Savepoints {
		c.savepoint(s.Verb, s.Name)
	}
}

// Queried counts a query that has succeeded. Each row that it returns is one that it
// has changed, if it changes any: the caller calls read for each. A nil read means
// that rows need not be counted.
func (c *Counter) Queried(query string) (read func()) {
	e := sqlscan.EffectOf(c.dialect, query)
	made := &Change{Verb: e.Verb, Table: e.Table, Others: e.Others}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(made)
	if made.Verb == "" {
		return nil
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		made.Rows++
	}
}

// add adds a change. The caller has locked mu, also for the next.
func (c *Counter) add(made *Change) {
	if made.Verb != "" || made.Others > 0 {
		c.made = append(c.made, made)
	}
}

// savepoint follows what a statement does to a savepoint, by the first word of the
// statement. The names of savepoints may repeat: the last is meant.
func (c *Counter) savepoint(verb, name string) {
	if verb == "SAVEPOINT" {
		c.savepoints = append(c.savepoints, openSavepoint{name, len(c.made)})
		return
	}
	for i, s := range slices.Backward(c.savepoints) {
		if s.name != name {
			continue
		}
		if verb == "ROLLBACK" {
			c.made = c.made[:s.made]
			c.savepoints = c.savepoints[:i+1] // it stays open
		} else {
			c.savepoints = c.savepoints[:i]
		}
		return
	}
}

// Savepoint counts what the runtime does to a savepoint: SAVEPOINT, ROLLBACK or
// RELEASE.
func (c *Counter) Savepoint(verb, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.savepoint(verb, name)
}

// Made returns what has been changed so far, in the order of the statements.
func (c *Counter) Made() []Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	made := make([]Change, len(c.made))
	for i, m := range c.made {
		made[i] = *m
	}
	return made
}
