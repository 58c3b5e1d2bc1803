package cronline

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// maxLength bounds an expression in bytes.
const maxLength = 200

// The shortest and the longest interval of "@every".
const (
	shortest = time.Minute
	longest  = 366 * 24 * time.Hour
)

// SyntaxError is an invalid expression, and the reason.
type SyntaxError struct {
	Expr    string
	Problem string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("read the cron expression %q: %s", e.Expr, e.Problem)
}

// Line is a cron expression that has been read. The zero value never fires.
type Line struct {
	minute, hour, dom, month, dow uint64 // a bit for each value; Sunday is 0
	// anyDom and anyDow: the field has a star. A day must match both fields if one of them has
	// a star, and either of them if none has.
	anyDom, anyDow bool
	every          time.Duration // not 0: "@every", and the fields are unused
}

// Interval returns the interval of "@every", and 0 for other lines.
func (l Line) Interval() time.Duration { return l.every }

// EveryHour reports whether the line fires in every hour of a day on which it fires.
func (l Line) EveryHour() bool { return l.hour == span(hours.min, hours.max) }

// field is one of the five fields of an expression.
type field struct {
	name     string
	min, max int
	hashMax  int // the largest value for which H may stand
	names    []string
}

var (
	minutes  = field{name: "minute", max: 59, hashMax: 59}
	hours    = field{name: "hour", max: 23, hashMax: 23}
	days     = field{name: "day of month", min: 1, max: 31, hashMax: 28} // every month has it
	months   = field{name: "month", min: 1, max: 12, hashMax: 12, names: []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}}
	weekdays = field{name: "day of week", max: 7, hashMax: 6, names: []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}
	fields   = []*field{&minutes, &hours, &days, &months, &weekdays}
)

// shorthand are the expressions with a name.
var shorthand = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
	"@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

// Parse reads an expression of five fields, one of the names such as @daily, or
// "@every 90m". The key decides for which values H stands. An error is a *[SyntaxError].
func Parse(expr, key string) (Line, error) {
	l, err := parse(expr, key)
	if err != nil {
		return Line{}, &SyntaxError{Expr: shorten(expr), Problem: err.Error()}
	}
	return l, nil
}

func parse(expr, key string) (l Line, err error) {
	switch {
	case len(expr) > maxLength:
		return l, fmt.Errorf("it has %d bytes, more than %d", len(expr), maxLength)
	case strings.ContainsFunc(expr, func(r rune) bool { return r < ' ' && r != '\t' || r > '~' }):
		return l, errors.New("it has a character that is not printable ASCII")
	}
	words := strings.Fields(expr)
	switch {
	case len(words) == 0:
		return l, errors.New("it is empty: write five fields, such as 0 2 * * *")
	case strings.HasPrefix(strings.ToUpper(words[0]), "TZ=") || strings.HasPrefix(strings.ToUpper(words[0]), "CRON_TZ="):
		return l, errors.New("it names a time zone: the zone is a field of the schedule")
	case words[0] == "@every":
		return parseEvery(words[1:])
	case strings.HasPrefix(words[0], "@"):
		full, ok := shorthand[words[0]]
		if !ok || len(words) > 1 {
			return l, errors.New("there is no such name: use @yearly, @monthly, @weekly, @daily, @hourly, or @every with a duration")
		}
		words = strings.Fields(full)
	}
	if len(words) != len(fields) {
		return l, fmt.Errorf("it has %d fields: write five, which are minute, hour, day of month, month and day of week", len(words))
	}
	var set [5]uint64
	for i, f := range fields {
		if set[i], err = f.parse(words[i], hash(key, f.name)); err != nil {
			return Line{}, fmt.Errorf("the field %s is %q: %w", f.name, words[i], err)
		}
	}
	const sunday = 1 << 7
	if set[4]&sunday != 0 { // 0 and 7 are Sunday
		set[4] = set[4]&^sunday | 1
	}
	l = Line{minute: set[0], hour: set[1], dom: set[2], month: set[3], dow: set[4]}
	l.anyDom, l.anyDow = strings.IndexByte("*?", words[2][0]) >= 0, strings.IndexByte("*?", words[4][0]) >= 0
	return l, nil
}

// parseEvery reads what follows "@every".
func parseEvery(words []string) (Line, error) {
	if len(words) != 1 {
		return Line{}, errors.New("after @every comes one duration, such as 90m")
	}
	d, err := time.ParseDuration(words[0])
	switch {
	case err != nil:
		return Line{}, fmt.Errorf("%q is not a duration: write it such as 90m or 36h", words[0])
	case d < shortest || d > longest || d%time.Minute != 0:
		return Line{}, fmt.Errorf("the interval %v is not a number of whole minutes from %v to %v", d, shortest, longest)
	}
	return Line{every: d}, nil
}

// parse reads a list of ranges.
func (f *field) parse(text string, hash uint64) (set uint64, err error) {
	for part := range strings.SplitSeq(text, ",") {
		more, err := f.parsePart(part, hash)
		if err != nil {
			return 0, err
		}
		set |= more
	}
	return set, nil
}

// parsePart reads a value, a range, a star or H, each perhaps with a step.
func (f *field) parsePart(text string, hash uint64) (uint64, error) {
	body, stepText, stepped := strings.Cut(text, "/")
	step := 1
	if stepped {
		var err error
		if step, err = number(stepText); err != nil {
			return 0, fmt.Errorf("the step %w", err)
		}
		if step < 1 || step > f.max {
			return 0, fmt.Errorf("the step %d is not between 1 and %d", step, f.max)
		}
	}
	if body == "*" || body == "?" && (f == &days || f == &weekdays) {
		return every(f.min, f.last(), step), nil
	}
	if rest, ok := strings.CutPrefix(body, "H"); ok {
		return f.parseHash(rest, step, stepped, hash)
	}
	low, high, err := f.parseRange(body)
	if err != nil {
		return 0, err
	}
	if stepped && low == high && !strings.Contains(body, "-") {
		high = max(low, f.last()) // 5/15 is 5-59/15, and 7/2 is Sunday alone
	}
	return every(low, high, step), nil
}

// last is the largest value of a star.
func (f *field) last() int {
	if f == &weekdays {
		return 6
	}
	return f.max
}

// parseRange reads a value, or two with a hyphen.
func (f *field) parseRange(text string) (low, high int, err error) {
	from, to, isRange := strings.Cut(text, "-")
	if low, err = f.value(from); err != nil {
		return 0, 0, err
	}
	if !isRange {
		return low, low, nil
	}
	if high, err = f.value(to); err != nil {
		return 0, 0, err
	}
	if low > high {
		return 0, 0, fmt.Errorf("the range %s ends before it begins: write it as two, such as 22-23,0-2", text)
	}
	return low, high, nil
}

// parseHash reads what follows an H: nothing, or a range in parentheses.
func (f *field) parseHash(rest string, step int, stepped bool, hash uint64) (uint64, error) {
	low, high := f.min, f.hashMax
	if rest != "" {
		inner, ok := strings.CutPrefix(rest, "(")
		if inner, ok = cutSuffix(inner, ")", ok); !ok {
			return 0, errors.New("after H comes nothing, a range such as (0-29), or a step such as /15")
		}
		var err error
		if low, high, err = f.parseRange(inner); err != nil {
			return 0, err
		}
		if high > f.last() {
			return 0, fmt.Errorf("%d is not between %d and %d", high, f.min, f.last())
		}
	}
	n := uint64(high - low + 1)
	if !stepped {
		return 1 << (low + int(hash%n)), nil
	}
	return every(low+int(hash%min(n, uint64(step))), high, step), nil
}

func cutSuffix(s, suffix string, ok bool) (string, bool) {
	if !ok {
		return s, false
	}
	return strings.CutSuffix(s, suffix)
}

// value reads a number or a name.
func (f *field) value(text string) (int, error) {
	for i, name := range f.names {
		if strings.EqualFold(text, name) {
			return f.min + i, nil
		}
	}
	n, err := number(text)
	switch {
	case err != nil:
		return 0, err
	case n < f.min || n > f.max:
		return 0, fmt.Errorf("%d is not between %d and %d", n, f.min, f.max)
	}
	return n, nil
}

// number reads one or two digits.
func number(text string) (int, error) {
	if text == "" || len(text) > 2 || strings.Trim(text, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a number of one or two digits", text)
	}
	return strconv.Atoi(text)
}

// every is the set of every step-th value.
func every(low, high, step int) (set uint64) {
	for v := low; v <= high; v += step {
		set |= 1 << v
	}
	return set
}

// span is the set of all values from low to high.
func span(low, high int) uint64 { return every(low, high, 1) }

// hash returns a number that is the same for the same key and field in every release: a
// schedule with H must not move. It is FNV-1a with a mixing step at the end.
func hash(key, field string) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range []byte(key + "\x00" + field) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	return h ^ h>>33
}

// first is the smallest value of a set that is at least from; -1: none.
func first(set uint64, from int) int {
	if set = set >> from << from; set == 0 {
		return -1
	}
	return bits.TrailingZeros64(set)
}

// shorten cuts a text for an error.
func shorten(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
