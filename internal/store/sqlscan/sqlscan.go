// Package sqlscan finds out what the statements of a text do, without parsing
// more of them than their first words: whether one would end the transaction
// that it runs in, whether it can be prepared once, whether it only reads.
package sqlscan

import (
	"errors"
	"fmt"
	"strings"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
)

// errTxControl is the reason for which a statement is refused that would end the
// batch's transaction or begin another.
var errTxControl = errors.New("the batch's transaction belongs to the runtime: return an error to give it up, or use a savepoint")

// RejectTxControl refuses a text with a statement that ends a transaction or begins one.
// After it an executor's writes would be committed without its checkpoint. A
// text may hold several statements: both drivers execute all of them. The error names
// the statement by its first words, and no new try can mend it.
//
// What a backslash means in a string of PostgreSQL depends on the setting
// standard_conforming_strings, which a session can change. So a text with a backslash
// is refused if either reading finds such a statement.
func RejectTxControl(d dialect.Name, query string) error {
	s := scanner{text: query, postgres: d == dialect.Postgres}
	err := s.rejectTxControl()
	if err == nil && s.postgres && strings.Contains(query, `\`) {
		s = scanner{text: query, postgres: true, backslashes: true}
		err = s.rejectTxControl()
	}
	return err
}

func (s *scanner) rejectTxControl() error {
	for head, ok := s.statement(); ok; head, ok = s.statement() {
		if head.endsTransaction() {
			return &classify.MarkedError{
				Class: lifecycle.Permanent, Code: classify.CodeMisuse,
				Err: fmt.Errorf("run %s on b.Tx: %w", head, errTxControl),
			}
		}
	}
	return nil
}

// endsTransaction reports whether a statement ends a transaction or begins one.
func (h head) endsTransaction() bool {
	switch h[0] {
	case "COMMIT", "END", "ABORT", "BEGIN", "START":
		return true
	case "ROLLBACK":
		to := h[1]
		if to == "TRANSACTION" || to == "WORK" {
			to = h[2]
		}
		return to != "TO"
	case "PREPARE":
		return h[1] == "TRANSACTION"
	default:
		return false
	}
}

// IsRollbackTo reports whether a text is one statement that rolls back to a
// savepoint.
func IsRollbackTo(d dialect.Name, query string) bool {
	s := scanner{text: query, postgres: d == dialect.Postgres}
	first, ok := s.statement()
	if !ok || first[0] != "ROLLBACK" || first.endsTransaction() {
		return false
	}
	_, more := s.statement()
	return !more
}

// IsRepeatable reports whether a text of SQLite's is one statement that does the same
// each time it runs, though it is compiled once.
func IsRepeatable(d dialect.Name, query string) bool {
	s := scanner{text: query, postgres: d == dialect.Postgres}
	first, _ := s.statement()
	switch first[0] {
	case "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "SAVEPOINT", "RELEASE", "ROLLBACK":
	default:
		return false
	}
	_, more := s.statement()
	return !more
}

// IsSelect reports whether a text is one SELECT and nothing else, so that it can
// have written nothing when it is interrupted.
func IsSelect(d dialect.Name, query string) bool {
	s := scanner{text: query, postgres: d == dialect.Postgres}
	first, ok := s.statement()
	if !ok || first[0] != "SELECT" {
		return false
	}
	_, more := s.statement()
	return !more
}
