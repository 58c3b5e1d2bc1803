package sqlscan

import (
	"strings"

	"taskkit.dev/internal/dialect"
)

// The verbs of an [Effect].
const (
	Insert = "insert" // also REPLACE, and an INSERT that updates on a conflict
	Update = "update"
	Delete = "delete"
	Merge  = "merge"
)

// Effect is what a text changes, as far as its words show. Not in it are the changes
// of triggers, foreign keys and functions.
type Effect struct {
	// Verb and Table belong to the change whose number of rows the database
	// returns; "" if there is none. The table is as written, without quotes; names
	// without quotes are in lower case.
	Verb, Table string
	// Others counts the changes whose number of rows is unknown: those within a
	// WITH, all of a text of several statements, and statements such as TRUNCATE.
	Others int64
	// Savepoints are what the text does to savepoints, in its order.
	Savepoints []SavepointEffect
}

// SavepointEffect is what a statement does to a savepoint.
type SavepointEffect struct {
	Verb string // SAVEPOINT, RELEASE or ROLLBACK
	Name string
}

// EffectOf returns the effect of a text.
func EffectOf(d dialect.Name, query string) (e Effect) {
	s := scanner{text: query, postgres: d == dialect.Postgres}
	for n := 0; ; n++ {
		before := s.text
		first, ok := s.statement()
		if !ok {
			return e
		}
		one := scanner{text: before[:len(before)-len(s.text)], postgres: s.postgres}
		next := one.effect(first)
		if n > 0 {
			for _, several := range []*Effect{&e, &next} {
				if several.Verb != "" {
					several.Verb, several.Table = "", ""
					several.Others++
				}
			}
		}
		e = Effect{
			Verb: e.Verb + next.Verb, Table: e.Table + next.Table, Others: e.Others + next.Others,
			Savepoints: append(e.Savepoints, next.Savepoints...),
		}
	}
}

// changesNothing are the first words of statements that change no rows.
var changesNothing = map[string]bool{
	"SELECT": true, "VALUES": true, "TABLE": true, "SHOW": true, "SET": true, "RESET": true, "EXPLAIN": true,
	"PRAGMA": true, "LOCK": true, "LISTEN": true, "UNLISTEN": true, "NOTIFY": true, "DECLARE": true, "FETCH": true,
	"MOVE": true, "CLOSE": true, "DEALLOCATE": true, "ANALYZE": true, "DISCARD": true, "": true,
}

// effect returns the effect of the one statement of the text, which begins with these
// words.
func (s *scanner) effect(first head) (e Effect) {
	switch {
	case verbOf(first[0]) != "":
		s.word()
		e.Verb, e.Table = verbOf(first[0]), s.table()
	case first[0] == "WITH":
		return s.withEffect()
	case first[0] == "SAVEPOINT", first[0] == "RELEASE", first[0] == "ROLLBACK":
		e.Savepoints = []SavepointEffect{{first[0], s.savepointName()}}
	case !changesNothing[first[0]]:
		e.Others = 1
	}
	return e
}

// withEffect returns the effect of a statement that begins with WITH.
func (s *scanner) withEffect() (e Effect) {
	depth, opened := 0, false // opened: the token before was a bracket
	for {
		t, text := s.word()
		switch verb := verbOf(t); {
		case t == "":
			return e
		case text == "(":
			depth++
		case text == ")":
			depth--
		case verb != "" && depth > 0 && opened:
			e.Others++
		case depth == 0 && (t == "SELECT" || t == "VALUES"):
			return e // a change within would not be allowed
		case verb != "" && depth == 0:
			e.Verb, e.Table = verb, s.table()
			return e
		}
		opened = text == "("
	}
}

// verbOf returns the verb of a word that begins a change, or "".
func verbOf(word string) string {
	switch word {
	case "INSERT", "REPLACE":
		return Insert
	case "UPDATE":
		return Update
	case "DELETE":
		return Delete
	case "MERGE":
		return Merge
	default:
		return ""
	}
}

// table returns the name of the table that follows a verb.
func (s *scanner) table() string {
	for {
		t, text := s.word()
		switch t {
		case "OR": // of SQLite: the next word is what to do on a conflict
			s.word()
		case "INTO", "FROM", "ONLY":
		default:
			names := []string{s.name(t, text)}
			for strings.HasPrefix(s.text, ".") {
				s.word()
				names = append(names, s.name(s.word()))
			}
			return strings.Join(names, ".")
		}
	}
}

// savepointName returns the name of the savepoint of a statement, its last name.
func (s *scanner) savepointName() (name string) {
	for {
		t, text := s.word()
		if t == "" || t == semicolon {
			return name
		}
		name = s.name(t, text)
	}
}

// word returns the next token, as [scanner.token] does, and its text.
func (s *scanner) word() (t, text string) {
	s.blank()
	before := s.text
	t = s.token()
	s.last = t
	return t, before[:len(before)-len(s.text)]
}

// name returns the name that a token is.
func (s *scanner) name(t, text string) string {
	if t != other {
		return strings.ToLower(text)
	}
	if len(text) < 2 {
		return text
	}
	quote := text[:1]
	return strings.ReplaceAll(text[1:len(text)-1], quote+quote, quote)
}
