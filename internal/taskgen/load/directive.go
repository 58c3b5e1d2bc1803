package load

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/taskgen/model"
	"taskkit.dev/taskkit/notice"
)

// directive is one //taskkit:executor line.
type directive struct {
	pos        token.Pos
	kind       string
	batch, max int // 0 is not given
	skipPoison bool
	poisonPos  token.Pos
	// deferDelays are whole seconds; nil is not given.
	deferDelays []time.Duration
	preview     bool
	previewPos  token.Pos
	children    bool
	touches     []string
	ledger      bool
	ledgerPos   token.Pos
	stopAfter   string
	strategy    namedValue
	policies    namedValue
	notify      string        // as it is written
	latestStart time.Duration // whole seconds; 0 is not given, and so is timeLimit
	timeLimit   time.Duration
	queue       string
	targets     string // the path of a list of the spec by JSON names: targets.people
	targetsPos  token.Pos
	parallel    int // 0 is not given
	parallelPos token.Pos
	aliases     []string
	reserved    []string
	retired     bool
	allowed     []allowed
}

// allowed is one //taskkit:allow line.
type allowed struct {
	pos                token.Pos
	path, rule, reason string
	from               int
}

// maxItems bounds batch=N and max=N. A larger number is a typing error.
const maxItems = 1_000_000

// maxParallel bounds parallel=N. A larger number is a typing error.
const maxParallel = 10_000

// maxDelay bounds the durations of a directive. A longer one is a typing error.
const maxDelay = 365 * 24 * time.Hour

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
	problems = almostDirectives(doc)
	var exceptions []allowed
	for _, c := range doc.List {
		rest, ok := strings.CutPrefix(c.Text, model.Prefix)
		if !ok {
			continue
		}
		verb, rest, _ := strings.Cut(rest, " ")
		switch {
		case verb == "open" && strings.TrimSpace(rest) == "": // for the type's constants; see enum
		case verb == "allow":
			a, ok := allowedOf(c.Pos(), strings.Fields(rest))
			if !ok {
				problems = append(problems, problem{c.Pos(), "the exception is not complete", "write " + model.Prefix + "allow spec.FIELD RULE from=REVISION REASON"})
			}
			exceptions = append(exceptions, a)
		case verb != "executor":
			problems = append(problems, problem{c.Pos(), fmt.Sprintf("unknown directive %s%s", model.Prefix, verb), verbRemedy(verb)})
		case d != nil:
			problems = append(problems, problem{
				c.Pos(), "a second " + model.Prefix + "executor directive",
				"an executor has one kind; give a former name as alias=NAME",
			})
		default:
			d = &directive{pos: c.Pos()}
			problems = append(problems, d.parse(options(c))...)
		}
	}
	if d != nil {
		d.allowed = exceptions
	} else if len(exceptions) > 0 {
		problems = append(problems, problem{exceptions[0].pos, "an exception without " + model.Prefix + "executor", "put it below the directive of the executor whose spec it is about"})
	}
	return d, problems
}

// allowedOf reads PATH RULE from=REVISION REASON.
func allowedOf(pos token.Pos, words []string) (a allowed, ok bool) {
	if len(words) < 4 {
		return a, false
	}
	from, has := strings.CutPrefix(words[2], "from=")
	n, err := strconv.Atoi(from)
	return allowed{pos: pos, path: words[0], rule: words[1], from: n, reason: strings.Join(words[3:], " ")}, has && err == nil && n > 0
}

// option is one word of a directive.
type option struct {
	pos  token.Pos
	word string
}

// options returns the words after the verb of a directive.
func options(c *ast.Comment) (all []option) {
	for _, at := range wordRule.FindAllStringIndex(c.Text, -1)[1:] {
		all = append(all, option{c.Pos() + token.Pos(at[0]), c.Text[at[0]:at[1]]})
	}
	return all
}

var wordRule = regexp.MustCompile(`\S+`)

// parse reads NAME followed by options.
func (d *directive) parse(words []option) (problems []problem) {
	refuse := func(pos token.Pos, remedy, format string, args ...any) {
		problems = append(problems, problem{pos, fmt.Sprintf(format, args...), remedy})
	}
	words, wrong := spaced(words)
	problems = append(problems, wrong...)
	if len(words) == 0 || strings.Contains(words[0].word, "=") {
		refuse(d.pos, "write "+model.Prefix+"executor NAME", "the directive has no name of a kind")
	} else {
		d.kind = words[0].word
		if !lifecycle.ValidKind(d.kind) {
			refuse(words[0].pos, "use "+lifecycle.KindRule, "kind %q is not a valid name", d.kind)
		}
		words = words[1:]
	}
	number := func(o option, key, value string) int {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxItems {
			refuse(o.pos, fmt.Sprintf("write a number of items from 1 to %d, as in %s=500", maxItems, key), "%s=%s is not a valid number of items", key, value)
			return 0
		}
		return n
	}
	name := func(o option, key, value string) string {
		if !lifecycle.ValidKind(value) {
			refuse(o.pos, "use "+lifecycle.KindRule, "%s %q is not a valid name", key, value)
		}
		return value
	}
	duration := func(o option, key, value, remedy string) time.Duration {
		d, err := time.ParseDuration(value)
		if err != nil || d < time.Second || d%time.Second != 0 || d > maxDelay {
			refuse(o.pos, remedy, "%s=%s is not a duration of whole seconds, at least one second and at most 8760h", key, value)
			return 0
		}
		return d
	}
	given := map[string]bool{}
	for _, o := range words {
		key, value, _ := strings.Cut(o.word, "=")
		if given[key] && key != "alias" && key != "reserved" {
			refuse(o.pos, "give it once", "option %s is given twice", key)
		}
		given[key] = true
		switch key {
		case "batch":
			d.batch = number(o, key, value)
		case "max":
			d.max = number(o, key, value)
		case "queue":
			d.queue = value
			if !lifecycle.ValidQueue(value) {
				refuse(o.pos, "use "+lifecycle.QueueRule, "queue %q is not a valid name", value)
			}
		case "targets":
			d.targets, d.targetsPos = value, o.pos
			if value == "" {
				refuse(o.pos, "write targets=FIELD with the JSON name of the list, or its path as in targets=to.people", "targets= names no field of the spec")
			}
		case "parallel":
			d.parallelPos = o.pos
			n, err := strconv.Atoi(value)
			if err != nil || n < 2 || n > maxParallel {
				refuse(o.pos, "write how many ranges of its targets a task executes at once, as in parallel=8", "parallel=%s is not a number from 2 to %d", value, maxParallel)
			}
			d.parallel = n
		case "poison":
			d.skipPoison, d.poisonPos = value == "skip", o.pos
			if !d.skipPoison {
				refuse(o.pos, "write poison=skip, or omit the option: then the task ends in ERROR", "poison=%s is not a valid value", value)
			}
		case "stopafter":
			d.stopAfter = value
			if _, err := lifecycle.ParseStopPolicy(value); err != nil {
				refuse(o.pos, "write stopafter= and "+lifecycle.StopPolicyRule, "stopafter=%s is not a valid limit of failed items", value)
			}
		case "strategy", "policies":
			if !token.IsIdentifier(value) {
				refuse(o.pos, "write "+key+"=Name with a variable or a function of the package of the executor", "%s=%s is not the name of a declaration", key, value)
				value = ""
			}
			if key == "strategy" {
				d.strategy = namedValue{o.pos, value}
			} else {
				d.policies = namedValue{o.pos, value}
			}
		case "notify":
			d.notify = value
			if _, err := notice.Parse(value); err != nil && value != notice.None {
				refuse(o.pos, "write "+notice.Rule, "notify=%s: %v", value, err)
			}
		case "lateststart":
			d.latestStart = duration(o, key, value, "write how long after its submission a task may begin at the latest, as in lateststart=30m")
		case "timelimit":
			d.timeLimit = duration(o, key, value, "write how long after its first start a task must have ended, as in timelimit=2h")
		case "defer":
			d.deferDelays = nil
			for word := range strings.SplitSeq(value, ",") {
				delay, err := time.ParseDuration(word)
				if err != nil || delay < time.Second || delay%time.Second != 0 || delay > maxDelay {
					refuse(o.pos, "write how long to wait before each further try of deferred items, as in defer=30m,6h", "defer=%s: %q is not a duration of whole seconds, at least one second and at most 8760h", value, word)
					break
				}
				d.deferDelays = append(d.deferDelays, delay)
			}
		case "touches":
			d.touches = nil
			for table := range strings.SplitSeq(value, ",") {
				switch {
				case !lifecycle.ValidTable(table):
					refuse(o.pos, "write the tables that a batch writes, as in touches=people,enrolments; use "+lifecycle.TableRule, "touches=%s: %q is not a valid name of a table", value, table)
				case slices.Contains(d.touches, table):
					refuse(o.pos, "name it once", "touches=%s names the table %s twice", value, table)
				}
				d.touches = append(d.touches, table)
			}
		case "alias":
			d.aliases = append(d.aliases, name(o, key, value))
		case "reserved":
			d.reserved = append(d.reserved, name(o, key, value))
		case "retired", "preview", "ledger", "children":
			switch key {
			case "retired":
				d.retired = true
			case "preview":
				d.preview, d.previewPos = true, o.pos
			case "children":
				d.children = true
			default:
				d.ledger, d.ledgerPos = true, o.pos
			}
			if o.word != key {
				refuse(o.pos, "write "+key+" without a value", "option %q takes no value", o.word)
			}
		default:
			refuse(o.pos, optionRemedy(key), "unknown option %q", o.word)
		}
	}
	if d.max > 0 && d.batch > d.max {
		refuse(d.pos, "raise max or lower batch", "max=%d is below batch=%d, the size of the first batch", d.max, d.batch)
	}
	return problems
}

// misplacedDirectives returns a problem for every directive that is not in one of
// the doc comments seen. Groups are the doc comments of several types.
func misplacedDirectives(f *ast.File, seen, groups map[*ast.CommentGroup]bool) (problems []problem) {
	for _, group := range f.Comments {
		if seen[group] {
			continue
		}
		for _, c := range group.List {
			switch {
			case !strings.HasPrefix(c.Text, model.Prefix):
			case groups[group]:
				problems = append(problems, problem{
					c.Pos(), "the directive is above a group of types, and it is for one",
					"put it between the parentheses, directly above the executor's type",
				})
			default:
				problems = append(problems, problem{
					c.Pos(), "the directive is not in the doc comment of a type",
					"put it into the doc comment of the executor's type, with no empty line between",
				})
			}
		}
	}
	return problems
}

// directiveBefore reports whether there is a directive between a declaration and the one before it.
func directiveBefore(f *ast.File, decl *ast.GenDecl) bool {
	from := f.Name.End()
	for _, d := range f.Decls {
		if d.End() <= decl.Pos() {
			from = max(from, d.End())
		}
	}
	return slices.ContainsFunc(f.Comments, func(group *ast.CommentGroup) bool {
		return group.Pos() >= from && group.End() <= decl.Pos() && slices.ContainsFunc(group.List, func(c *ast.Comment) bool {
			return strings.HasPrefix(c.Text, model.Prefix)
		})
	})
}
