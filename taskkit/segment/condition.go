package segment

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxName is the largest number of characters of a name.
const maxName = 100

// Predicate returns the segment of the rows for which a condition is true, such as
//
//	segment.Predicate("minors", "birth_date > $1 AND NOT archived", segment.Instant(day))
//
// The condition is SQL for both databases, and the arguments are its parameters $1, $2 and so on,
// each used at least once. It depends on the row and the arguments alone: not on the present
// time, for instance. Arguments have the SQL that boundaries have: a number is a bigint on
// PostgreSQL, and a time on SQLite is a text that is to be compared with < and >=. The
// condition may have quoted texts, but neither comments, semicolons nor backslashes.
//
// The condition is written in code, and never built from what a user has entered: a
// parenthesis more would be enough to select other rows. Values of a user are arguments.
//
// [Predicates] makes a plan of such segments, and no other division accepts them. The condition
// of a segment that was read from JSON is for people: whoever can write a task could have written
// it. [Predicates.Find] returns the segment with the condition of the code.
//
// The name is for people, and 1 to 100 characters long.
func Predicate(name, condition string, args ...Value) Segment {
	f := filter{name: name, condition: condition, problem: predicateProblem(name, condition, args)}
	if f.problem == "" && len(args) > 0 {
		list := make([]wireValue, len(args))
		for i, v := range args {
			list[i] = wireValue{v.typ, v.text}
		}
		text, err := json.Marshal(list)
		if err != nil {
			f.problem = err.Error()
		}
		f.args = string(text)
	}
	return Segment{form: predicate, filter: f}
}

// filter is the content of a segment of the form predicate.
type filter struct {
	name, condition string
	args            string // JSON of the values, so that segments can be compared
	problem         string // why it cannot be used
	stored          bool   // read from JSON: the condition is not executed
}

// wireValue is the JSON of an argument.
type wireValue struct {
	Type  Type   `json:"type"`
	Value string `json:"value"`
}

func (f filter) values() []Value {
	if f.args == "" {
		return nil
	}
	var list []wireValue
	_ = json.Unmarshal([]byte(f.args), &list) // Predicate has written it
	values := make([]Value, len(list))
	for i, v := range list {
		values[i] = parseValue(v.Type, v.Value)
	}
	return values
}

// String describes the rows for people: the condition with its arguments, if it is short.
func (f filter) String() string {
	args := f.values()
	pieces, problem := parseCondition(f.condition, len(args))
	if f.problem != "" || problem != "" {
		return f.name
	}
	var b strings.Builder
	for _, p := range pieces {
		if p.arg == 0 {
			b.WriteString(p.sql)
		} else {
			b.WriteString(args[p.arg-1].String())
		}
	}
	if b.Len() > maxName {
		return f.name
	}
	return f.name + ": " + b.String()
}

func predicateProblem(name, condition string, args []Value) string {
	switch n := utf8.RuneCountInString(name); {
	case strings.TrimSpace(name) != name || n == 0 || n > maxName:
		return fmt.Sprintf("the name %q of a predicate must have 1 to %d characters, without white space at its ends", name, maxName)
	case textProblem(name) != "":
		return textProblem(name)
	}
	for i, v := range args {
		p := v.problem
		if v.typ == "" {
			p = "the value is missing"
		}
		if p != "" {
			return fmt.Sprintf("the argument $%d of the predicate %q: %s", i+1, name, p)
		}
	}
	if _, p := parseCondition(condition, len(args)); p != "" {
		return fmt.Sprintf("the condition of the predicate %q %s", name, p)
	}
	return ""
}

// A piece of a condition is SQL, or the argument of a number from 1.
type piece struct {
	sql string
	arg int
}

// parseCondition divides a condition at its parameters. The problem is empty if the condition
// is one operand once it is in parentheses, and uses all arguments.
func parseCondition(text string, args int) (pieces []piece, problem string) {
	switch {
	case strings.TrimSpace(text) == "":
		return nil, "is empty"
	case textProblem(text) != "":
		return nil, "is invalid: " + textProblem(text)
	case strings.Contains(text, `\`):
		return nil, "has a backslash, which the databases read differently: make the text an argument"
	}
	start, depth, used := 0, 0, make([]bool, args)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\'', '"':
			length := strings.IndexByte(text[i+1:], c)
			if length < 0 {
				return nil, "has a " + string(c) + " that is not closed"
			}
			i += 1 + length
		case '(':
			depth++
		case ')':
			if depth--; depth < 0 {
				return nil, "closes a parenthesis that it has not opened"
			}
		case ';':
			return nil, "has a semicolon: it must be one condition"
		case '-', '/':
			if strings.HasPrefix(text[i:], "--") || strings.HasPrefix(text[i:], "/*") {
				return nil, "has a comment, which could hide what follows: remove it"
			}
		case '$':
			end := i + 1
			for end < len(text) && '0' <= text[end] && text[end] <= '9' {
				end++
			}
			n, err := strconv.Atoi(text[i+1 : end])
			if err != nil || n < 1 || n > args {
				return nil, fmt.Sprintf("has the parameter %s, and there are %d arguments: their parameters are $1, $2 and so on", text[i:end], args)
			}
			used[n-1] = true
			pieces = append(pieces, piece{sql: text[start:i]}, piece{arg: n})
			start, i = end, end-1
		}
	}
	if depth > 0 {
		return nil, "has a parenthesis that is not closed"
	}
	for i, u := range used {
		if !u {
			return nil, fmt.Sprintf("does not use the argument $%d", i+1)
		}
	}
	return append(pieces, piece{sql: text[start:]}), ""
}
