package taskjson

import (
	"iter"
	"slices"
	"unsafe"
)

// Up to maxFew members of a map, each of at most maxValue bytes, are sorted
// without an allocation.
const (
	maxFew   = 32
	maxValue = 64
)

// member is a member of a map.
type member[V any] struct {
	key   string
	value V
}

// sortKey says how the key of a member begins, and where the member is.
type sortKey struct {
	begin uint64
	at    int
}

// members returns the members of a map sorted by key, which is how encoding/json
// writes them.
func members[K ~string, V any](m map[K]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		if len(m) <= maxFew && unsafe.Sizeof(*new(V)) <= maxValue {
			few(m, yield)
		} else {
			many(m, yield)
		}
	}
}

// few is members for few members. It keeps them on the stack in the order of the
// map and sorts keys that refer to them, since moving one writes no pointer.
func few[K ~string, V any](m map[K]V, yield func(string, V) bool) {
	var (
		members [maxFew]member[V]
		order   [maxFew]sortKey
		n       int
	)
	for k, v := range m {
		key := string(k)
		members[n] = member[V]{key, v}
		begin, i := beginning(key), n
		for ; i > 0; i-- {
			before := &order[i-1]
			if before.begin < begin || before.begin == begin && members[before.at].key < key {
				break
			}
			order[i] = *before
		}
		order[i] = sortKey{begin, n}
		n++
	}
	for i := range order[:n] {
		if x := &members[order[i].at]; !yield(x.key, x.value) {
			return
		}
	}
}

// many is members for many members.
func many[K ~string, V any](m map[K]V, yield func(string, V) bool) {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if !yield(string(k), m[k]) {
			return
		}
	}
}

// beginning returns the first eight bytes of a text as a number: two texts that
// begin differently compare as their numbers do.
func beginning(s string) (n uint64) {
	if len(s) >= 8 {
		return uint64(s[0])<<56 | uint64(s[1])<<48 | uint64(s[2])<<40 | uint64(s[3])<<32 |
			uint64(s[4])<<24 | uint64(s[5])<<16 | uint64(s[6])<<8 | uint64(s[7])
	}
	for i := range len(s) {
		n |= uint64(s[i]) << (56 - 8*i)
	}
	return n
}
