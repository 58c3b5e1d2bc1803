package dbstore_test

import (
	"regexp"
	"strings"
	"testing"
)

// width is how long a line may be that is made of a longer one.
const width = 110

// clauses are the words that begin a line of a statement that came in one.
var clauses = regexp.MustCompile(` (FROM|WHERE|ORDER BY|GROUP BY|LIMIT|UNION ALL|VALUES|SET|RETURNING|ON CONFLICT) `)

// wrapped makes a statement readable without changing its meaning: one without line
// breaks gets one before each clause, and long lines are broken after a comma or
// before AND, outside of strings.
func wrapped(query string) string {
	query = strings.TrimSpace(query)
	if !strings.Contains(query, "\n") && len(query) > width {
		query = clauses.ReplaceAllString(query, "\n$1 ")
	}
	var lines []string
	for line := range strings.SplitSeq(query, "\n") {
		line = strings.TrimRight(line, " \t")
		if line == "" {
			continue
		}
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		for len(line) > width {
			at := breakAt(line, len(indent)+4)
			if at < 0 {
				break
			}
			lines = append(lines, strings.TrimRight(line[:at], " "))
			line = indent + "    " + strings.TrimLeft(line[at:], " ")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// breakAt returns where to break a line: the last place before its width, or the
// first, and -1 when there is none.
func breakAt(line string, from int) int {
	at, quoted := -1, false
	for i := range len(line) {
		if line[i] == '\'' {
			quoted = !quoted
		}
		if quoted || i <= from {
			continue
		}
		if i > width && at >= 0 {
			break
		}
		switch {
		case strings.HasPrefix(line[i:], " AND "):
			at = i
		case line[i] == ',' && i+1 < len(line) && line[i+1] == ' ':
			at = i + 1
		}
	}
	return at
}

func TestLayOut(t *testing.T) {
	t.Parallel()
	long := "SELECT 'a, b', " + strings.Repeat("c, ", 40) + "d FROM t WHERE x"
	got := wrapped(long)
	for line := range strings.SplitSeq(got, "\n") {
		if len(line) > width {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
	if words := strings.Fields(got); strings.Join(words, " ") != strings.Join(strings.Fields(long), " ") {
		t.Errorf("the statement was changed:\n%s", got)
	}
	if !strings.Contains(got, "\nFROM t") {
		t.Errorf("FROM does not begin a line:\n%s", got)
	}
}
