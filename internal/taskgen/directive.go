package taskgen

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"strconv"
	"strings"
)

// prefix begins every directive.
const prefix = "//taskkit:"

// nameRule is what taskkit demands of kinds and queues.
var nameRule = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)

const nameRemedy = "use lower case letters, digits and underscores, a letter first, 63 at most"

// directive is one //taskkit:executor line.
type directive struct {
	pos      token.Pos
	kind     string
	batch    int
	queue    string
	aliases  []string
	reserved []string
	retired  bool
}

// problem is a diagnostic whose position is still in a token.FileSet.
type problem struct {
	pos             token.Pos
	message, remedy string
}

// directiveOf returns the directive in a doc comment, if any.
func directiveOf(doc *ast.CommentGroup) (d *directive, problems []problem) {
	if doc == nil {
		return nil, nil
	}
	for _, c := range doc.List {
		rest, ok := strings.CutPrefix(c.Text, prefix)
		if !ok {
			continue
		}
		verb, rest, _ := strings.Cut(rest, " ")
		switch {
		case verb == "open" && strings.TrimSpace(rest) == "": // for the type's constants; see enum
		case verb != "executor":
			problems = append(problems, problem{
				c.Pos(), fmt.Sprintf("unknown directive %s%s", prefix, verb),
				"there are " + prefix + "executor, and " + prefix + "open for a type whose constants are not all its values",
			})
		case d != nil:
			problems = append(problems, problem{
				c.Pos(), "a second " + prefix + "executor directive",
				"an executor has one kind; give a former name as alias=NAME",
			})
		default:
			d = &directive{pos: c.Pos()}
			problems = append(problems, d.parse(strings.Fields(rest))...)
		}
	}
	return d, problems
}

// parse reads NAME [batch=N] [queue=Q] [alias=OLD]... [reserved=OLD]... [retired].
func (d *directive) parse(words []string) (problems []problem) {
	refuse := func(remedy, format string, args ...any) {
		problems = append(problems, problem{d.pos, fmt.Sprintf(format, args...), remedy})
	}
	if len(words) == 0 || strings.Contains(words[0], "=") {
		refuse("write "+prefix+"executor NAME", "the directive names no kind")
	} else {
		d.kind, words = words[0], words[1:]
		if !nameRule.MatchString(d.kind) {
			refuse(nameRemedy, "kind %q is not a name", d.kind)
		}
	}
	for _, w := range words {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "batch":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				refuse("write a number of items, as in batch=500", "batch %q is not a positive number", value)
			}
			d.batch = n
		case "queue":
			if !nameRule.MatchString(value) {
				refuse(nameRemedy, "queue %q is not a name", value)
			}
			d.queue = value
		case "alias":
			if !nameRule.MatchString(value) {
				refuse(nameRemedy, "alias %q is not a name", value)
			}
			d.aliases = append(d.aliases, value)
		case "reserved":
			if !nameRule.MatchString(value) {
				refuse(nameRemedy, "reserved %q is not a name", value)
			}
			d.reserved = append(d.reserved, value)
		case "retired":
			if w != "retired" {
				refuse("write retired alone", "option %q", w)
			}
			d.retired = true
		default:
			refuse("there are batch=N, queue=NAME, alias=NAME, reserved=NAME and retired", "unknown option %q", w)
		}
	}
	return problems
}

// strayDirectives returns a problem for every directive that is not in one of
// the doc comments seen.
func strayDirectives(f *ast.File, seen map[*ast.CommentGroup]bool) (problems []problem) {
	for _, group := range f.Comments {
		if seen[group] {
			continue
		}
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, prefix) {
				problems = append(problems, problem{
					c.Pos(), "a directive that belongs to no type",
					"put it into the doc comment of the executor's type, with no empty line between",
				})
			}
		}
	}
	return problems
}
