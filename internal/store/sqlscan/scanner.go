package sqlscan

import "strings"

// head is the first words of a statement, in upper case; those that it does not
// have are "". Four are needed for CREATE OR REPLACE FUNCTION.
type head [4]string

// String returns the words before the first that is none.
func (h head) String() string {
	n := 0
	for n < len(h) && h[n] != "" {
		n++
	}
	return strings.Join(h[:n], " ")
}

// hasBody reports whether statements may stand within this one.
func (h head) hasBody() bool {
	if h[0] != "CREATE" {
		return false
	}
	for _, w := range h[1:] {
		switch w {
		case "TRIGGER", "FUNCTION", "PROCEDURE":
			return true
		}
	}
	return false
}

// scanner finds the statements of a text as the database would. It handles what
// may hide a semicolon or a word: comments, strings, quoted names, and the body
// of a trigger or a function. The two databases differ in each of these.
type scanner struct {
	text     string
	postgres bool
	last     string // token before
	escapes  bool   // it is an escape string of PostgreSQL's
	// backslashes: every string is an escape string, as with standard_conforming_strings
	// off.
	backslashes bool
}

// The tokens that are not words.
const (
	semicolon = ";"
	other     = "?" // a string, a quoted name, a number, an operator
)

// statement returns the head of the next statement that is not empty.
func (s *scanner) statement() (h head, ok bool) {
	var (
		n    int  // tokens so far
		body bool // within BEGIN and END of a trigger or a function
	)
	s.last = ""
	for {
		before := s.last
		t := s.token()
		switch {
		case t == "":
			return h, n > 0
		case t == semicolon && n == 0, t == semicolon && body:
		case t == semicolon:
			return h, true
		case body:
			// Its END follows a semicolon; the END of a CASE never does.
			body = t != "END" || before != semicolon && before != "ATOMIC"
		case t == "BEGIN" && !s.postgres, t == "ATOMIC" && before == "BEGIN":
			body = n > 0 && h.hasBody()
		}
		if n < len(h) && t != semicolon && t != other {
			h[n] = t
		}
		if t != semicolon || n > 0 {
			n++
		}
		s.last = t
	}
}

// token returns the next token: a word in upper case, [semicolon], [other], or
// "" at the end.
func (s *scanner) token() string {
	before, escapes := s.text, s.escapes
	s.blank()
	s.escapes = false
	if s.text == "" {
		return ""
	}
	switch c := s.text[0]; {
	case c == ';':
		s.text = s.text[1:]
		return semicolon
	case c == '\'' || c == '"' || c == '`' && !s.postgres:
		// A string after a line break is part of the one before.
		escapes = escapes && strings.ContainsAny(before[:len(before)-len(s.text)], "\r\n")
		s.escapes = s.postgres && c == '\'' && (s.backslashes || s.last == "E" || escapes)
		s.quoted(c, s.escapes)
		return other
	case c == '[' && !s.postgres:
		s.past("]", 1)
		return other
	case c == '$' && s.postgres:
		s.dollar()
		return other
	case inWord(c) && (c < '0' || c > '9'):
		n := 1
		for n < len(s.text) && (inWord(s.text[n]) || s.text[n] == '$') {
			n++
		}
		w := strings.ToUpper(s.text[:n])
		s.text = s.text[n:]
		return w
	default:
		s.text = s.text[1:]
		return other
	}
}

// blank skips white space, byte order marks and comments.
func (s *scanner) blank() {
	for {
		s.text = strings.TrimLeft(s.text, " \t\r\n\f\v\ufeff")
		switch {
		case strings.HasPrefix(s.text, "--"):
			ends := "\n"
			if s.postgres {
				ends = "\n\r"
			}
			n := strings.IndexAny(s.text, ends)
			if n < 0 {
				n = len(s.text)
			}
			s.text = s.text[n:]
		case strings.HasPrefix(s.text, "/*"):
			s.comment()
		default:
			return
		}
	}
}

// comment skips a comment. Comments of PostgreSQL nest.
func (s *scanner) comment() {
	if !s.postgres {
		s.past("*/", 2)
		return
	}
	depth := 0
	for s.text != "" {
		switch {
		case strings.HasPrefix(s.text, "/*"):
			depth++
			s.text = s.text[2:]
		case strings.HasPrefix(s.text, "*/"):
			depth--
			s.text = s.text[2:]
		default:
			s.text = s.text[1:]
		}
		if depth == 0 {
			return
		}
	}
}

// quoted skips a string or a quoted name. A quote within is doubled, or in an
// escape string after a backslash.
func (s *scanner) quoted(quote byte, escapes bool) {
	for n := 1; n < len(s.text); n++ {
		switch {
		case escapes && s.text[n] == '\\':
			n++
		case s.text[n] != quote:
		case n+1 < len(s.text) && s.text[n+1] == quote:
			n++
		default:
			s.text = s.text[n+1:]
			return
		}
	}
	s.text = ""
}

// dollar skips a string in dollars, or the dollar of a parameter.
func (s *scanner) dollar() {
	n := 1
	for n < len(s.text) && inWord(s.text[n]) {
		n++
	}
	if n == len(s.text) || s.text[n] != '$' || n > 1 && s.text[1] >= '0' && s.text[1] <= '9' {
		s.text = s.text[1:]
		return
	}
	s.past(s.text[:n+1], n+1)
}

// past skips what ends with a mark, from an offset on.
func (s *scanner) past(mark string, from int) {
	n := strings.Index(s.text[from:], mark)
	if n < 0 {
		s.text = ""
		return
	}
	s.text = s.text[from+n+len(mark):]
}

// inWord reports whether a byte may be part of a word.
func inWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c >= 0x80
}
