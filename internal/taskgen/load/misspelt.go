package load

import (
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strings"

	"taskkit.dev/internal/taskgen/model"
)

// verbs are the directives that there are.
var verbs = []string{"executor", "allow", "open"}

// words are the options of the directive of an executor, as they are written.
var words = []string{
	"batch=N", "max=N", "queue=NAME", "targets=FIELD", "poison=skip", "defer=DURATION,DURATION", "parallel=N", "stopafter=LIMIT", "strategy=NAME", "policies=NAME", "lateststart=DURATION", "timelimit=DURATION", "touches=TABLE,TABLE", "notify=TARGET:EVENT",
	"preview", "ledger", "children", "alias=NAME", "reserved=NAME", "retired",
}

// optionRemedy says what to write in place of an option that there is not.
func optionRemedy(key string) string {
	if near := nearest(key, words); near != "" {
		return "did you mean " + near + "?"
	}
	return "the options are " + strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// verbRemedy says what to write in place of a directive that there is not.
func verbRemedy(verb string) string {
	if near := nearest(verb, verbs); near != "" {
		return "did you mean " + model.Prefix + near + "?"
	}
	return "there are " + model.Prefix + "executor, " + model.Prefix + "allow for an exception to the rules of evolution, and " +
		model.Prefix + "open for a type whose constants are not all its values"
}

// nearest returns the one of several words that was probably meant, or "": the one that begins
// as it, or that it begins with, or that differs in two letters at most.
func nearest(word string, known []string) string {
	word = strings.ToLower(strings.Trim(word, "-_"))
	best, distance := "", 3
	for _, k := range known {
		name, _, _ := strings.Cut(k, "=")
		d := edits(word, name)
		if d > 1 && len(name) < 5 {
			d = 3 // of max and at too much differs
		}
		if len(word) > 2 && (strings.HasPrefix(name, word) || strings.HasPrefix(word, name)) {
			d = min(d, 2)
		}
		if d < distance {
			best, distance = k, d
		}
	}
	return best
}

// edits returns how many letters must be added, removed or replaced to make one word of another.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := before
			if a[i] != b[j] {
				replaced++
			}
			before = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// almost finds a comment that was probably meant as a directive: with a space, as a block, or in
// capitals.
var almost = regexp.MustCompile(`(?i)^(?://|/\*)[ \t+]*taskkit:[ \t]*([a-z]+)\b`)

// almostDirectives returns a problem for each line of a doc comment of a type that is no
// directive only by its form.
func almostDirectives(doc *ast.CommentGroup) (problems []problem) {
	if doc == nil {
		return nil
	}
	for _, c := range doc.List {
		m := almost.FindStringSubmatch(c.Text)
		if m == nil || !slices.Contains(verbs, strings.ToLower(m[1])) || strings.HasPrefix(c.Text, model.Prefix+strings.ToLower(m[1])) {
			continue
		}
		problems = append(problems, problem{
			c.Pos(), fmt.Sprintf("%q is a comment and no directive", m[0]), "write " + model.Prefix + strings.ToLower(m[1]) + ", in small letters and without a space",
		})
	}
	return problems
}

// spaced finds options with spaces around the sign, as in batch = 5, or a comma behind, and a
// comment. It returns the other words.
func spaced(all []option) (rest []option, problems []problem) {
	if i := slices.IndexFunc(all, func(o option) bool { return strings.HasPrefix(o.word, "//") || o.word == "#" }); i >= 0 {
		problems = append(problems, problem{all[i].pos, "there is a comment in the directive", "write it in a line of its own"})
		all = all[:i]
	}
	if i := slices.IndexFunc(all, func(o option) bool { return strings.HasSuffix(o.word, ",") }); i >= 0 {
		problems = append(problems, problem{all[i].pos, fmt.Sprintf("there is a comma behind %s", strings.TrimSuffix(all[i].word, ",")), "separate the options by spaces"})
		all = slices.Clone(all)
		for i := range all {
			all[i].word = strings.TrimSuffix(all[i].word, ",")
		}
	}
	for i := 0; i < len(all); i++ {
		o, n := all[i], 0
		text := o.word
		after := func(k int) string {
			if i+k < len(all) {
				return all[i+k].word
			}
			return ""
		}
		switch sign := after(1); {
		case sign == "=" && !strings.Contains(text, "="):
			text, n = text+"="+after(2), 2
		case strings.HasPrefix(sign, "=") && !strings.Contains(text, "="):
			text, n = text+sign, 1
		case strings.HasSuffix(text, "=") && len(text) > 1 && sign != "" && nearest(sign, words) == "" && !strings.Contains(sign, "="):
			text, n = text+sign, 1
		}
		if n == 0 {
			rest = append(rest, o)
			continue
		}
		problems = append(problems, problem{o.pos, "there is a space beside the sign of option " + strings.TrimSuffix(o.word, "="), "write " + text})
		i += n
	}
	return rest, problems
}
