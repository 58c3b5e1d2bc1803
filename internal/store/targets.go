package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/classify"
)

// Bounds of a set of frozen targets.
const (
	// TargetsPerPage is how many targets a page has, except for the last: the
	// target at position n is in page n / TargetsPerPage.
	TargetsPerPage = 1000
	// MaxTargets bounds the number of targets of a task.
	MaxTargets = 10_000_000
	// MaxTargetSize bounds the JSON of a target, in bytes, and with it a page.
	MaxTargetSize = 1024
	// MaxUnorderedTargets is up to how many targets may come in any order, since the
	// hashes of all are then kept in memory to find duplicates.
	MaxUnorderedTargets = 1_000_000
)

// NewTargets are the frozen targets of a new task.
type NewTargets struct {
	// Field is the list of the spec that they stand for, in JSON.
	Field string
	// Keys are the targets as JSON, in their order. Duplicates are left out. An error
	// ends the insert.
	Keys iter.Seq2[[]byte, error] `json:"-"`
	// Distinct: the targets are of another set. Their size and their order are not
	// checked, and duplicates stay.
	Distinct bool
	// Selected are the tasks of which a derived task has failed items; complete once Keys has ended. Their [Options.SelectedBy] is
	// the derived task.
	Selected []uuid.UUID `json:"-"`
	Sampling Sampling

	// Finding: the task finds its targets when it starts, see [Found]. There are no Keys.
	Finding bool
}

// Plan is the spec of a task, and what the task has beside its row.
type Plan struct {
	Spec    json.RawMessage // nil: null in the database
	Frozen  *FrozenTargets  // nil: none
	Options Options
	Report  json.RawMessage // a [Report]; nil: none
	// Versioned is the version of the task; nil: it has none.
	Versioned *Versioned
	// Traceparent is what the task has of that name, for traces.
	Traceparent string
	// Now is the database's clock when it was read. FirstStarted is the first start of the
	// task; zero: it has none.
	Now, FirstStarted time.Time
}

// FrozenTargets describes the frozen targets of a task.
type FrozenTargets struct {
	Field string // see [NewTargets]
	// Total is how many there are, or with Finding how many the task has found so far.
	Total   int64
	Finding bool // the set is not complete
}

// AreParts reports whether they are the segments of buckets, which no field of the spec stands for. It is false for nil.
func (f *FrozenTargets) AreParts() bool { return f != nil && f.Field == "" }

// Found is what a batch that finds targets adds to them. Once the set is complete
// it never changes.
type Found struct {
	// Pages are those that have changed, whole. The first may replace one that had
	// fewer targets.
	Pages    []TargetPage
	Total    int64 // so far
	Complete bool
}

// TargetPage is a page of frozen targets.
type TargetPage struct {
	Number int
	Keys   json.RawMessage // a list
}

// TargetsError: a set of targets that cannot be stored.
type TargetsError struct {
	Problem string
	// Keys are the targets that it is about, as JSON, and Positions where they came
	// in the set, from 0. Both are empty for a problem of the whole set.
	Keys      []string
	Positions []int
}

func (e *TargetsError) Error() string { return e.Problem }

// targetPages makes pages of targets: it checks them and leaves out duplicates.
type targetPages struct {
	most, unordered int // MaxTargets and MaxUnorderedTargets

	total    int             // that came so far, without duplicates
	kept     int             // on pages
	complete []string        // pages
	size     int             // of the complete pages in bytes
	distinct bool            // see NewTargets
	page     strings.Builder // the one being filled, without its last bracket
	pageSize int             // that the next page will about have, in bytes
	sampler  sampler

	// seen finds duplicates; nil once there are more than unordered.
	seen   *distinctTargets
	hashes []targetHash // of the targets that are being added

	given   int    // the targets that came so far, duplicates too
	last    []byte // the last target that was kept
	lastAt  int    // its position among those given
	descent *TargetsError
}

func newTargetPages(n *NewTargets) *targetPages {
	return &targetPages{
		distinct: n.Distinct, sampler: sampler{Sampling: n.Sampling}, most: MaxTargets, unordered: MaxUnorderedTargets,
		seen: newDistinctTargets(),
	}
}

// addAll adds some targets, as add does.
func (p *targetPages) addAll(keys [][]byte) error {
	if p.seen != nil && !p.distinct {
		p.hashes = p.hashes[:0]
		for _, key := range keys {
			p.hashes = append(p.hashes, p.seen.hash(key))
		}
		p.seen.load(p.hashes)
	}
	for i, key := range keys {
		var h targetHash
		if i < len(p.hashes) {
			h = p.hashes[i]
		}
		if err := p.addHashed(key, h); err != nil {
			return err
		}
	}
	return nil
}

// add adds a target, unless it is a duplicate. The key is not kept.
func (p *targetPages) add(key []byte) error { return p.addAll([][]byte{key}) }

// addHashed adds a target that has a hash.
func (p *targetPages) addHashed(key []byte, h targetHash) error {
	if p.distinct {
		p.total++
		return p.sort(key)
	}
	position := p.given
	p.given++
	if len(key) > MaxTargetSize {
		return &TargetsError{
			Problem: fmt.Sprintf("the target at position %d has %d bytes of JSON, more than %d: use an id", position, len(key), MaxTargetSize),
			Keys:    []string{shortKey(key)}, Positions: []int{position},
		}
	}
	if bytes.Equal(key, p.last) {
		return nil
	}
	order := -1 // of the last to this one
	if len(p.last) > 0 && p.descent == nil {
		order = compareKeys(p.last, key)
	}
	// Targets of different JSON types may ascend and be duplicates all the same.
	ascends := len(p.last) == 0 || order < 0 && keyType(p.last) == keyType(key)
	if p.seen != nil && !p.seen.add(h, ascends) {
		return nil
	}
	if order > 0 {
		p.descent = &TargetsError{
			Problem: fmt.Sprintf("more than %d targets must ascend, and the target %s at position %d is less than %s before it: sort them, numbers by value and all others by their bytes",
				p.unordered, shortKey(key), position, shortKey(p.last)),
			Keys: []string{shortKey(p.last), shortKey(key)}, Positions: []int{p.lastAt, position},
		}
	}
	p.last, p.lastAt = append(p.last[:0], key...), position
	switch p.total++; {
	case p.total > p.most:
		return &TargetsError{Problem: fmt.Sprintf("there are more than %d targets: submit several tasks", p.most)}
	case p.total > p.unordered && p.descent != nil:
		return p.descent
	case p.total > p.unordered:
		p.seen = nil // a duplicate is next to its like now
	}
	return p.sort(key)
}

// keyBatches yields keys some hundreds at a time. The keys of a batch are valid until the next.
func keyBatches(keys iter.Seq2[[]byte, error]) iter.Seq2[[][]byte, error] {
	const most = 256
	return func(yield func([][]byte, error) bool) {
		var (
			text  []byte
			ends  []int
			batch [][]byte
		)
		flush := func() bool {
			batch = batch[:0]
			from := 0
			for _, to := range ends {
				batch = append(batch, text[from:to])
				from = to
			}
			text, ends = text[:0], ends[:0]
			return len(batch) == 0 || yield(batch, nil)
		}
		for key, err := range keys {
			if err != nil {
				_ = flush() && yield(nil, err) // what is wrong with the targets before it comes first
				return
			}
			text = append(text, key...)
			if ends = append(ends, len(text)); len(ends) == most && !flush() {
				return
			}
		}
		flush()
	}
}

// sort keeps a target, unless the sampling leaves it out or puts it behind others.
func (p *targetPages) sort(key []byte) error {
	effect, err := p.sampler.of(p.total-1, key)
	switch effect {
	case sampled:
		p.keep(key)
	case after:
		p.release()
		p.keep(key)
	case omitted:
	}
	return err
}

// release keeps the targets that were put behind others.
func (p *targetPages) release() {
	for key := range p.sampler.release() {
		p.keep(key)
	}
}

// finish ends the set.
func (p *targetPages) finish() {
	p.release()
	p.end()
}

// keep appends a target to the page that is being filled.
func (p *targetPages) keep(key []byte) {
	separator := byte(',')
	if p.page.Len() == 0 {
		separator = '['
		p.page.Grow(p.pageSize)
	}
	p.page.WriteByte(separator)
	p.page.Write(key)
	if p.kept++; p.kept%TargetsPerPage == 0 {
		p.end()
	}
}

// end completes the page that is being filled, if it has a target.
func (p *targetPages) end() {
	if p.page.Len() == 0 {
		return
	}
	p.page.WriteByte(']')
	p.complete = append(p.complete, p.page.String())
	p.size += p.page.Len()
	p.pageSize = p.page.Len() + p.page.Len()/16
	p.page.Reset()
}

// take returns the complete pages, which are then forgotten, and the number of the
// first.
func (p *targetPages) take() (first int, pages []string) {
	pages = p.complete
	all := (p.kept + TargetsPerPage - 1) / TargetsPerPage
	first = all - len(pages)
	if p.page.Len() > 0 {
		first--
	}
	p.complete, p.size = nil, 0
	return first, pages
}

// compareKeys compares the JSON of two targets: integers by value, strings by their
// bytes, and all others by the bytes of their JSON.
func compareKeys(a, b []byte) int {
	switch of := keyType(a); {
	case of != keyType(b):
		return bytes.Compare(a, b)
	case of == integerKey:
		return compareIntegers(a, b)
	case of == stringKey:
		return bytes.Compare(unquoted(a), unquoted(b))
	default:
		return bytes.Compare(a, b)
	}
}

// How targets are compared.
const (
	otherKey = iota
	integerKey
	stringKey
)

func keyType(key []byte) int {
	switch {
	case isInteger(key):
		return integerKey
	case key[0] == '"':
		return stringKey
	default:
		return otherKey
	}
}

func isInteger(key []byte) bool {
	for i, c := range key {
		if (c < '0' || c > '9') && (c != '-' || i > 0) {
			return false
		}
	}
	return true
}

// compareIntegers compares integers of any size, written without superfluous zeros.
func compareIntegers(a, b []byte) int {
	switch negative := a[0] == '-'; {
	case negative != (b[0] == '-'):
		if negative {
			return -1
		}
		return 1
	case negative:
		return comparePositive(b[1:], a[1:])
	default:
		return comparePositive(a, b)
	}
}

func comparePositive(a, b []byte) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return bytes.Compare(a, b)
}

// unquoted returns the value of a JSON string.
func unquoted(key []byte) []byte {
	inner := key[1 : len(key)-1]
	if !bytes.ContainsRune(inner, '\\') {
		return inner
	}
	var s string
	if json.Unmarshal(key, &s) != nil {
		return inner
	}
	return []byte(s)
}

// shortKey is a target for an error.
func shortKey(key []byte) string {
	const most = 100
	if len(key) <= most {
		return string(key)
	}
	return classify.Clean(string(key[:most])) + "..."
}

// Pages returns all pages of the targets and how many targets there are.
func (n *NewTargets) Pages() (pages []TargetPage, total int64, err error) {
	made := newTargetPages(n)
	for keys, err := range keyBatches(n.Keys) {
		if err == nil {
			err = made.addAll(keys)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	made.finish()
	for i, keys := range made.complete {
		pages = append(pages, TargetPage{Number: i, Keys: json.RawMessage(keys)})
	}
	if made.kept == 0 {
		return nil, 0, made.errNone()
	}
	return pages, int64(made.kept), nil
}

// errNone is the error of a set without targets.
func (p *targetPages) errNone() error {
	if p.total > 0 {
		return &TargetsError{Problem: fmt.Sprintf("the random sample has none of the %d targets: give it a higher Probability, another Seed, or a Size", p.total)}
	}
	return &TargetsError{Problem: "there are no targets: submit a task only if there is something to do"}
}
