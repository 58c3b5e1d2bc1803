package store

import (
	"hash/maphash"
	"math/bits"
)

// distinctTargets finds targets that have come before, by their hashes. While they
// ascend it only notes them, since a duplicate is then next to its like, which its user
// sees: a table of a million takes twice as much memory, and several times as long.
type distinctTargets struct {
	seeds  [2]maphash.Seed
	noted  [][]targetHash // of those that have ascended
	hashes *hashTable     // of all, once one has not
	loaded uint64         // so that load does something
}

type targetHash [2]uint64

// Distinct finds keys that have come before, by their hashes.
type Distinct struct{ of *distinctTargets }

// NewDistinct returns one to which no key has come.
func NewDistinct() Distinct { return Distinct{newDistinctTargets()} }

// Add reports whether the key comes for the first time.
func (d Distinct) Add(key []byte) bool { return d.of.add(d.of.hash(key), false) }

func newDistinctTargets() *distinctTargets {
	return &distinctTargets{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
}

// hash returns the hash of a target.
func (d *distinctTargets) hash(key []byte) targetHash {
	return targetHash{maphash.Bytes(d.seeds[0], key), maphash.Bytes(d.seeds[1], key)}
}

// load reads what add will read for some hashes. These reads do not depend on each other,
// so the processor makes them at the same time: for a large table that is several times as
// fast as one after another.
func (d *distinctTargets) load(hashes []targetHash) {
	if t := d.hashes; t != nil {
		for _, h := range hashes {
			d.loaded += t.slots[h[0]>>t.shift][0]
		}
	}
}

// add adds the hash of a target and reports whether the target has not come before.
// Ascends: it is greater than the one before it.
func (d *distinctTargets) add(h targetHash, ascends bool) (first bool) {
	if d.hashes == nil && ascends {
		d.note(h)
		return true
	}
	if d.hashes == nil {
		d.hashes = newHashTable()
		for _, list := range d.noted {
			for _, earlier := range list {
				d.hashes.add(earlier)
			}
		}
		d.noted = nil
	}
	return d.hashes.add(h)
}

// note adds a hash to the lists, which have one length, so that no long one is ever copied.
func (d *distinctTargets) note(h targetHash) {
	const length = 4096
	last := len(d.noted) - 1
	switch {
	case last < 0: // it may be a short set
		d.noted, last = [][]targetHash{nil}, 0
	case len(d.noted[last]) == length:
		d.noted = append(d.noted, make([]targetHash, 0, length))
		last++
	}
	d.noted[last] = append(d.noted[last], h)
}

// hashTable is a set of hashes. Almost all that are looked up are new and lie anywhere in
// the table, so what counts is how often memory is read: once, where a map of Go reads
// twice for the question and twice for the answer.
type hashTable struct {
	slots []targetHash // by the first bits of the hash; zero: free
	shift int          // how many bits of a hash do not count for its slot
	used  int
}

func newHashTable() *hashTable {
	const slots = 1 << 10
	return &hashTable{slots: make([]targetHash, slots), shift: 64 - bits.Len(slots-1)}
}

// add adds a hash and reports whether it is new.
func (t *hashTable) add(h targetHash) bool {
	if h == (targetHash{}) {
		h[1] = 1 // zero marks a free slot
	}
	if !t.put(h) {
		return false
	}
	if t.used++; t.used > len(t.slots)*5/8 {
		t.grow()
	}
	return true
}

// put puts a hash into the first free slot from its own on, unless it is there.
func (t *hashTable) put(h targetHash) bool {
	for i := int(h[0] >> t.shift); ; i++ {
		if i == len(t.slots) {
			i = 0
		}
		switch t.slots[i] {
		case targetHash{}:
			t.slots[i] = h
			return true
		case h:
			return false
		}
	}
}

// grow makes the table four times as large, and twice when it is large already. The order
// of the slots is the order of the hashes, so it goes through the old table and the new one from
// their beginnings to their ends.
func (t *hashTable) grow() {
	old, by := t.slots, 2
	if len(old) >= 1<<20 {
		by = 1
	}
	t.slots, t.shift = make([]targetHash, len(old)<<by), t.shift-by
	for _, h := range old {
		if h != (targetHash{}) {
			t.put(h)
		}
	}
}
