// Package tasksearch parses searches for tasks, such as
//
//	kind:send_email status:failed code:smtp_refused
//
// A search is filters of the form name:value, which must all hold. Values of kind and status are lists, separated by commas.
// A value with spaces is quoted. A word without a colon is the id of a task, its last characters, or @last. The word all alone
// selects everything, which an empty search does not where it selects what to change. The command line and the dashboard
// have the same searches.
package tasksearch

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

// Query is a parsed search. The zero Query is the empty search.
type Query struct {
	// All is set by the word all.
	All bool

	words           []word
	filter          taskkit.Filter
	tasks           []string
	parent, follows string
}

// word is a filter, or with the name "" the id of a task.
type word struct{ name, value string }

// Error reports a word of a search that selects nothing.
type Error struct {
	Word    string // as it was written
	Problem string // what is wrong with it, and what is allowed
}

func (e *Error) Error() string { return fmt.Sprintf("search for %q: %s", e.Word, e.Problem) }

// Names returns the names of all filters, in the order in which help lists them.
func Names() []string {
	names := make([]string, len(filters))
	for i, f := range filters {
		names[i] = f.name
	}
	return names
}

// Statuses returns the values of the filter status.
func Statuses() []string {
	names := make([]string, len(statuses))
	for i, s := range statuses {
		names[i] = s.name
	}
	return names
}

// a filter is a name and what its value means.
type filter struct {
	name string
	many bool // values of repeated filters add up
	set  func(q *Query, value string) error
}

var filters = []filter{
	{"kind", true, func(q *Query, v string) error { return list(v, &q.filter.Kinds) }},
	{"status", true, setStatus},
	{"owner", false, setOwner},
	{"queue", false, func(q *Query, v string) error { q.filter.Queue = v; return nil }},
	{"code", false, func(q *Query, v string) error { q.filter.Code = v; return nil }},
	{"reference", false, func(q *Query, v string) error { q.filter.Reference = v; return nil }},
	{"unique-key", false, func(q *Query, v string) error { q.filter.UniqueKey = v; return nil }},
	{"parent", false, func(q *Query, v string) error { q.parent = v; return checkID(v) }},
	{"follows", false, func(q *Query, v string) error { q.follows = v; return checkID(v) }},
	{"older-than", false, setAge},
	{"is", true, setIs},
}

// statuses are the values of the filter status. They include the words of the dashboard for several statuses.
var statuses = []struct {
	name string
	is   []taskkit.Status
}{
	{"queued", []taskkit.Status{taskkit.StatusQueued}},
	{"scheduling", []taskkit.Status{taskkit.StatusScheduling}},
	{"executing", []taskkit.Status{taskkit.StatusExecuting}},
	{"completed", []taskkit.Status{taskkit.StatusCompleted}},
	{"error", []taskkit.Status{taskkit.StatusError}},
	{"failure", []taskkit.Status{taskkit.StatusFailure}},
	{"failed", []taskkit.Status{taskkit.StatusError, taskkit.StatusFailure}},
	{"ended", []taskkit.Status{taskkit.StatusCompleted, taskkit.StatusError, taskkit.StatusFailure}},
}

// unindexed are properties of tasks by which a search would have to read all of them.
var unindexed = []string{"worker", "reason", "priority", "spec", "state", "result", "item", "cause", "detail", "run-as", "by", "revision"}

// Parse parses a search. It returns an *[Error] for a word that selects nothing.
func Parse(text string) (*Query, error) {
	words, err := split(text)
	if err != nil {
		return nil, err
	}
	q := new(Query)
	for _, w := range words {
		if err := q.add(w); err != nil {
			return nil, &Error{Word: w.String(), Problem: err.Error()}
		}
	}
	if q.All && len(q.words) > 0 {
		return nil, &Error{Word: "all", Problem: "it selects every task: leave it out, or leave out the filters"}
	}
	return q, nil
}

func (q *Query) add(w word) error {
	if w.name == "" {
		if w.value == "all" {
			q.All = true
			return nil
		}
		if err := checkID(w.value); err != nil {
			return fmt.Errorf("it is neither the id of a task nor a filter: use name:value with %s", allowed(Names()))
		}
		if !slices.Contains(q.words, w) {
			q.words, q.tasks = append(q.words, w), append(q.tasks, w.value)
		}
		return nil
	}
	i := slices.IndexFunc(filters, func(f filter) bool { return f.name == w.name })
	switch {
	case i < 0 && slices.Contains(unindexed, w.name):
		return fmt.Errorf("no index has %s, so the search would read every task: use %s", w.name, allowed(Names()))
	case i < 0:
		return fmt.Errorf("there is no filter %s: use %s", w.name, allowed(Names()))
	case w.value == "":
		return fmt.Errorf("the value is missing: give one, or leave %s out", w.name)
	case !filters[i].many && slices.ContainsFunc(q.words, func(other word) bool { return other.name == w.name }):
		return fmt.Errorf("%s is given twice, and no task has both: give one", w.name)
	}
	if err := filters[i].set(q, w.value); err != nil {
		return err
	}
	q.words = append(q.words, w)
	return nil
}

// Empty reports whether the search selects by nothing, and has not the word all.
func (q *Query) Empty() bool { return !q.All && len(q.words) == 0 }

// Filter returns the filter of the search. Resolve returns the task that an id, its last characters or @last name, see
// [taskkit.Client.Resolve]; it is only called for a search with such words, and its error is returned as it is.
func (q *Query) Filter(resolve func(text string) (taskkit.ID, error)) (taskkit.Filter, error) {
	f := q.filter
	f.Kinds, f.Statuses = slices.Clone(f.Kinds), slices.Clone(f.Statuses)
	for _, text := range q.tasks {
		id, err := resolve(text)
		if err != nil {
			return taskkit.Filter{}, err
		}
		f.IDs = append(f.IDs, id)
	}
	for _, named := range []struct {
		text string
		to   *taskkit.ID
	}{{q.parent, &f.Parent}, {q.follows, &f.Follows}} {
		if named.text == "" {
			continue
		}
		var err error
		if *named.to, err = resolve(named.text); err != nil {
			return taskkit.Filter{}, err
		}
	}
	return f, nil
}

// Values returns the values of a filter, nil if the search has not got it.
func (q *Query) Values(name string) (values []string) {
	for _, w := range q.words {
		if w.name == name {
			values = append(values, strings.Split(w.value, ",")...)
		}
	}
	return values
}

// With returns the text of the search with another value of a filter; "" leaves the filter out.
func (q *Query) With(name, value string) string {
	other := Query{words: slices.DeleteFunc(slices.Clone(q.words), func(w word) bool { return w.name == name })}
	if value != "" {
		other.words = append(other.words, word{name, value})
	}
	return other.String()
}

// String returns the text of the search. [Parse] makes the same search of it.
func (q *Query) String() string {
	if q.All {
		return "all"
	}
	words := make([]string, len(q.words))
	for i, w := range q.words {
		words[i] = w.String()
	}
	return strings.Join(words, " ")
}

func (w word) String() string {
	value := w.value
	if strings.ContainsFunc(value, isSpace) || strings.ContainsAny(value, `"\`) {
		value = `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
	}
	if w.name == "" {
		return value
	}
	return w.name + ":" + value
}

func isSpace(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }

// split splits a search into words. Quotes are removed; a backslash within quotes takes the next character as it is.
func split(text string) (words []word, err error) {
	rest := strings.TrimLeftFunc(text, isSpace)
	for rest != "" {
		var value strings.Builder
		name, named, quoted, end := "", false, false, len(rest)
		for i := 0; i < len(rest); i++ {
			c := rest[i]
			switch {
			case quoted && c == '\\' && i+1 < len(rest):
				i++
				value.WriteByte(rest[i])
			case c == '"':
				quoted = !quoted
			case !quoted && isSpace(rune(c)):
				end = i
			case !quoted && !named && c == ':':
				name, named = strings.ToLower(value.String()), true
				value.Reset()
			default:
				value.WriteByte(c)
			}
			if end == i {
				break
			}
		}
		switch {
		case quoted:
			return nil, &Error{Word: rest, Problem: `a quote is not closed: end the value with "`}
		case named && name == "":
			return nil, &Error{Word: rest[:end], Problem: "there is no name before the colon: use " + allowed(Names())}
		}
		words = append(words, word{name, value.String()})
		rest = strings.TrimLeftFunc(rest[end:], isSpace)
	}
	return words, nil
}

func allowed(names []string) string {
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// list adds the values of a list to others.
func list(text string, to *[]string) error {
	for value := range strings.SplitSeq(text, ",") {
		if value == "" {
			return fmt.Errorf("a value of the list is empty")
		}
		if !slices.Contains(*to, value) {
			*to = append(*to, value)
		}
	}
	return nil
}

// AddStatus adds the statuses that a value of the filter status selects to others.
func AddStatus(value string, to *[]taskkit.Status) error {
	i := slices.Index(Statuses(), strings.ToLower(value))
	if i < 0 {
		return fmt.Errorf("there is no status %s: use %s", value, allowed(Statuses()))
	}
	for _, s := range statuses[i].is {
		if !slices.Contains(*to, s) {
			*to = append(*to, s)
		}
	}
	return nil
}

func setStatus(q *Query, text string) error {
	for value := range strings.SplitSeq(text, ",") {
		if err := AddStatus(value, &q.filter.Statuses); err != nil {
			return err
		}
	}
	return nil
}

func setOwner(q *Query, text string) (err error) {
	if text == "system" {
		q.filter.Owner = taskkit.SystemOwner
		return nil
	}
	if q.filter.Owner, err = uuid.Parse(text); err != nil || q.filter.Owner == uuid.Nil {
		return fmt.Errorf("an owner is a UUID, or system")
	}
	return nil
}

func setIs(q *Query, text string) error {
	switch text {
	case "running":
		q.filter.Running = true
	case "paused":
		q.filter.Paused = true
	case "approval":
		q.filter.Approval = true
	case "preview":
		q.filter.Previews = true
	case "child":
		q.filter.Children = true
	default:
		return fmt.Errorf("there is no property %s: use running, paused, approval (waiting for one), preview or child (children too, such as buckets)", text)
	}
	return nil
}

func setAge(q *Query, text string) (err error) {
	const day = 24 * time.Hour
	if number, ok := strings.CutSuffix(text, "d"); ok {
		var days int
		days, err = strconv.Atoi(number)
		if q.filter.EndedFor = time.Duration(days) * day; days > 100_000 {
			q.filter.EndedFor = 0
		}
	} else {
		q.filter.EndedFor, err = time.ParseDuration(text)
	}
	if err != nil || q.filter.EndedFor <= 0 {
		return fmt.Errorf("an age is a positive duration like 14d or 36h: the time since a task ended")
	}
	return nil
}

// idForm matches what names a task.
var idForm = regexp.MustCompile(`^(@last|[0-9a-fA-F-]{4,36})$`)

func checkID(text string) error {
	if !idForm.MatchString(text) {
		return fmt.Errorf("a task is its id, the last 4 or more characters of it, or @last")
	}
	return nil
}
