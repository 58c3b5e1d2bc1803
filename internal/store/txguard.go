package store

import (
	"errors"
	"strings"
)

// errNotYours is what an executor gets that would end the batch's transaction.
var errNotYours = errors.New("the batch's transaction belongs to the runtime: return an error to give it up, or use a savepoint")

// ownsEnd refuses the statements that end a transaction or begin one. After
// them an executor's writes would be committed without its checkpoint.
func ownsEnd(query string) error {
	word, rest := firstWord(query)
	switch word {
	case "COMMIT", "END", "ABORT", "BEGIN", "START":
		return errNotYours
	case "ROLLBACK":
		next, rest := firstWord(rest)
		if next == "TRANSACTION" || next == "WORK" {
			next, _ = firstWord(rest)
		}
		if next != "TO" {
			return errNotYours
		}
	case "PREPARE":
		if next, _ := firstWord(rest); next == "TRANSACTION" {
			return errNotYours
		}
	}
	return nil
}

// firstWord returns the first word of a statement in upper case, and what
// follows it. Comments before it are skipped.
func firstWord(query string) (word, rest string) {
	for {
		query = strings.TrimLeft(query, " \t\r\n;")
		switch {
		case strings.HasPrefix(query, "--"):
			_, query, _ = strings.Cut(query, "\n")
		case strings.HasPrefix(query, "/*"):
			_, query, _ = strings.Cut(query, "*/")
		default:
			n := strings.IndexFunc(query, func(r rune) bool {
				return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_'
			})
			if n < 0 {
				n = len(query)
			}
			return strings.ToUpper(query[:n]), query[n:]
		}
	}
}
