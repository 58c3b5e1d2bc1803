package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"iter"

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
	// hashes of all are kept in memory to find duplicates.
	MaxUnorderedTargets = 1_000_000
)

// NewTargets are the frozen targets of a new task.
type NewTargets struct {
	// Field is the list of the spec that they stand for, in JSON.
	Field string
	// Keys are the targets as JSON, in their order. Duplicates are left out. An error
	// ends the insert.
	Keys iter.Seq2[[]byte, error]
	// Distinct: the targets are of another set. Their size and their order are not
	// checked, and duplicates stay.
	Distinct bool
}

// Plan is the spec of a task, and what the task has beside its row.
type Plan struct {
	Spec    json.RawMessage // nil: null in the database
	Frozen  *FrozenTargets  // nil: none
	Options Options
	Report  json.RawMessage // a [Report]; nil: none
}

// FrozenTargets describes the frozen targets of a task.
type FrozenTargets struct {
	Field string // see [NewTargets]
	Total int64
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

	total    int      // kept so far
	complete []string // pages
	size     int      // of the complete pages in bytes
	distinct bool     // see NewTargets
	page     []byte   // the one being filled, without its last bracket

	seeds [2]maphash.Seed
	// seen are the hashes of the targets, nil once there are more than unordered.
	seen map[[2]uint64]struct{}

	given   int    // the targets that came so far, duplicates too
	last    []byte // the target before
	descent *TargetsError
}

func newTargetPages(distinct bool) *targetPages {
	return &targetPages{
		distinct: distinct, most: MaxTargets, unordered: MaxUnorderedTargets,
		seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()},
		seen:  make(map[[2]uint64]struct{}),
	}
}

// add adds a target, unless it is a duplicate. The key is not kept.
func (p *targetPages) add(key []byte) error {
	if p.distinct {
		p.total++
		p.keep(key)
		return nil
	}
	position := p.given
	p.given++
	if len(key) > MaxTargetSize {
		return &TargetsError{
			Problem: fmt.Sprintf("the target at position %d has %d bytes of JSON, more than %d: use an id", position, len(key), MaxTargetSize),
			Keys:    []string{shortKey(key)}, Positions: []int{position},
		}
	}
	duplicate := bytes.Equal(key, p.last)
	if !duplicate && position > 0 && p.descent == nil && compareKeys(p.last, key) > 0 {
		p.descent = &TargetsError{
			Problem: fmt.Sprintf("more than %d targets must ascend, and the target %s at position %d is less than %s before it: sort them, numbers by value and all others by their bytes",
				p.unordered, shortKey(key), position, shortKey(p.last)),
			Keys: []string{shortKey(p.last), shortKey(key)}, Positions: []int{position - 1, position},
		}
	}
	if p.total > p.unordered && p.descent != nil {
		return p.descent
	}
	p.last = append(p.last[:0], key...)
	if duplicate {
		return nil
	}
	if p.seen != nil {
		hash := [2]uint64{maphash.Bytes(p.seeds[0], key), maphash.Bytes(p.seeds[1], key)}
		if _, is := p.seen[hash]; is {
			return nil
		}
		p.seen[hash] = struct{}{}
	}
	switch p.total++; {
	case p.total > p.most:
		return &TargetsError{Problem: fmt.Sprintf("there are more than %d targets: submit several tasks", p.most)}
	case p.total > p.unordered && p.descent != nil:
		return p.descent
	case p.total > p.unordered:
		p.seen = nil // a duplicate is next to its like now
	}
	p.keep(key)
	return nil
}

// keep appends a target to the page that is being filled.
func (p *targetPages) keep(key []byte) {
	separator := byte(',')
	if len(p.page) == 0 {
		separator = '['
	}
	p.page = append(append(p.page, separator), key...)
	if p.total%TargetsPerPage == 0 {
		p.end()
	}
}

// end completes the page that is being filled, if it has a target.
func (p *targetPages) end() {
	if len(p.page) == 0 {
		return
	}
	p.complete = append(p.complete, string(append(p.page, ']')))
	p.size += len(p.page) + 1
	p.page = p.page[:0]
}

// take returns the complete pages, which are then forgotten, and the number of the
// first.
func (p *targetPages) take() (first int, pages []string) {
	pages = p.complete
	all := (p.total + TargetsPerPage - 1) / TargetsPerPage
	first = all - len(pages)
	if len(p.page) > 0 {
		first--
	}
	p.complete, p.size = nil, 0
	return first, pages
}

// compareKeys compares the JSON of two targets: integers by value, strings by their
// bytes, and all others by the bytes of their JSON.
func compareKeys(a, b []byte) int {
	switch {
	case isInteger(a) && isInteger(b):
		return compareIntegers(a, b)
	case a[0] == '"' && b[0] == '"':
		return bytes.Compare(unquoted(a), unquoted(b))
	default:
		return bytes.Compare(a, b)
	}
}

func isInteger(key []byte) bool {
	return (key[0] == '-' || key[0] >= '0' && key[0] <= '9') && !bytes.ContainsAny(key, ".eE")
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

// unquoted returns what a JSON string says.
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
	made := newTargetPages(n.Distinct)
	for key, err := range n.Keys {
		if err == nil {
			err = made.add(key)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	made.end()
	for i, keys := range made.complete {
		pages = append(pages, TargetPage{Number: i, Keys: json.RawMessage(keys)})
	}
	if made.total == 0 {
		return nil, 0, errNoTargets
	}
	return pages, int64(made.total), nil
}

var errNoTargets = &TargetsError{Problem: "there are no targets: submit a task only if there is something to do"}
