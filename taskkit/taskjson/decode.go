package taskjson

import (
	"bytes"
	"cmp"
	"encoding"
	"fmt"
	"math"
	"strings"
	"sync"
)

// Decoder reads one JSON value. After its first error every method does nothing
// and returns a zero, and More is false, so that loops end. A Decoder is for
// one goroutine and one value; what is read shares no memory with the source.
//
// It is a cursor over the source. What it passes is valid; where it cannot
// continue, jsontext reads the source again to find the error.
type Decoder struct {
	src     []byte // what the cursor may still reach; empty after an error
	pos     int    // of the next name or value after More, Name and Key; else of what follows the last
	depth   int    // how many objects and arrays are open
	ends    [MaxDepth + 1]byte
	whole   []byte // the source
	scratch []byte // of the last string with escapes
	strings strings.Builder
	sizes   [MaxDepth + 1]uint8 // members of the last map at each depth, or 255 if more
	err     *Error
}

// maxScratch is the largest scratch space that a decoder in the pool may keep.
const maxScratch = 16 << 10

// decoders holds decoders that are not in use. It is package state, because
// allocating one costs as much as reading a small state, and a state is read for
// every batch.
var decoders = sync.Pool{New: func() any { return new(Decoder) }}

// NewDecoder returns a decoder of src, which must not change meanwhile. A source
// of more than [MaxSize] bytes is not read; Finish returns the error.
func NewDecoder(src []byte) *Decoder {
	d, ok := decoders.Get().(*Decoder)
	if !ok {
		panic("taskjson: something else is in the pool of decoders")
	}
	d.src, d.whole, d.depth = src, src, 0
	d.pos = blank(src, 0)
	if len(src) > MaxSize {
		d.stop(tooLarge())
	}
	return d
}

// Finish returns the first error. Anything after the value is one. The decoder
// must not be used any more.
func (d *Decoder) Finish() error {
	if d.err == nil && blank(d.whole, d.pos) < len(d.whole) {
		d.err = trailing()
	}
	failed := d.err
	if cap(d.scratch) > maxScratch {
		d.scratch = nil
	}
	d.strings.Reset()
	d.sizes = [MaxDepth + 1]uint8{}
	d.src, d.whole, d.err = nil, nil, nil
	decoders.Put(d)
	if failed == nil {
		return nil // not a nil *Error in an error
	}
	return failed
}

// Null reads null and reports true, or reads nothing.
func (d *Decoder) Null() bool {
	if d.peek() != 'n' {
		return false
	}
	end := literal(d.src, d.pos, "null")
	if end < 0 {
		d.wrong("null")
		return false
	}
	d.pos = end
	return true
}

// BeginObject reads {. It reports false when something else is there, which is
// an error.
func (d *Decoder) BeginObject() bool {
	if d.peek() != '{' {
		d.wrong("an object")
		return false
	}
	return d.begin('}')
}

// BeginArray is BeginObject for [.
func (d *Decoder) BeginArray() bool {
	if d.peek() != '[' {
		d.wrong("an array")
		return false
	}
	return d.begin(']')
}

// begin goes into an object or array, until end.
func (d *Decoder) begin(end byte) bool {
	d.pos++
	if d.depth == MaxDepth {
		d.fail(TooDeep, tooDeep(), nil)
		return false
	}
	d.depth++
	d.ends[d.depth] = end
	return true
}

// More reports whether the object or array goes on, and goes to what is next. A
// name or value must be read before it is asked again.
func (d *Decoder) More() bool {
	src, i := d.src, d.pos
	if i == 0 || i > len(src) {
		return false
	}
	// No value ends with an opening bracket, so one byte shows whether a comma
	// is due.
	first := src[i-1] == '{' || src[i-1] == '['
	i = blank(src, i)
	if !first {
		if i >= len(src) || src[i] != ',' {
			return false // End reads what is wrong
		}
		i = blank(src, i+1)
	}
	if i >= len(src) || src[i] == '}' || src[i] == ']' {
		return false
	}
	d.pos = i
	return true
}

// End reads the end of an object or array.
func (d *Decoder) End() {
	i := blank(d.src, d.pos)
	if i >= len(d.src) || d.src[i] != d.ends[d.depth] {
		d.noEnd()
		return
	}
	d.pos = i + 1
	d.depth--
}

// members estimates how many members follow in this object, which is a map: as
// many as the last map at this depth had. Each size is used once, so that the room
// for the members is at most twice what there are.
func (d *Decoder) members() int { return int(d.sizes[d.depth]) }

// endMap is End for a map of so many members.
func (d *Decoder) endMap(members int) {
	d.sizes[d.depth] = uint8(min(members, math.MaxUint8))
	d.End()
}

// short refuses an array with fewer elements than it has in Go.
func (d *Decoder) short(have, want int) {
	if d.End(); d.err == nil {
		d.fail(WrongType, fmt.Sprintf("%d elements, want %d", have, want), nil)
	}
}

// Name reads the name of a field. It is valid until the next call.
func (d *Decoder) Name() []byte {
	name := d.quoted("a name")
	if name != nil {
		d.colon()
	}
	return name
}

// Key reads the key of a map.
func (d *Decoder) Key() string {
	text := d.text("a name")
	if text == nil {
		return ""
	}
	d.colon()
	return d.keep(text)
}

// textKey reads the key of a map by the key type's UnmarshalText.
func (d *Decoder) textKey(v encoding.TextUnmarshaler) {
	if d.Text(v); d.err == nil {
		d.colon()
	}
}

// colon goes from a name to its value. Where there is no colon the source ends
// for the cursor: the name may be refused first, and if not, its value is.
func (d *Decoder) colon() {
	src, i := d.src, blank(d.src, d.pos)
	if i >= len(src) || src[i] != ':' {
		d.src = src[:d.pos]
		return
	}
	d.pos = blank(src, i+1)
}

// repeated refuses the key just read, since it is in the map.
func (d *Decoder) repeated() {
	d.fail(DuplicateName, "this key is in the object twice", nil)
}

// once refuses the name just read when its bit in seen is set, and sets it.
func (d *Decoder) once(seen *uint64, bit uint) {
	if *seen&(1<<bit) != 0 {
		d.again()
	}
	*seen |= 1 << bit
}

// again is the rare part of once, which is small enough to be inlined.
func (d *Decoder) again() {
	d.fail(DuplicateName, "this name is in the object twice", nil)
}

// capacity estimates how many elements of a size follow in this array, so that a
// slice is allocated once. It searches no further than the next bracket, so that
// many short arrays do not each allocate room for all the rest.
func (d *Decoder) capacity(size int) int {
	return (max(0, bytes.IndexByte(d.src[d.pos:], ']')) + 1) / size
}

// unknown refuses the name just read, given the ones there are.
func (d *Decoder) unknown(name []byte, known ...string) {
	if d.err != nil {
		return
	}
	for _, k := range known {
		if strings.EqualFold(k, string(name)) {
			d.fail(CollidingName, fmt.Sprintf("no field has this name; %q differs from it only in case", k), nil)
			return
		}
	}
	d.fail(UnknownName, "no field has this name; known are "+cmp.Or(strings.Join(known, ", "), "none"), nil)
}

// peek returns the byte at the cursor, or 0 at the end and after an error.
func (d *Decoder) peek() byte {
	if d.pos < len(d.src) {
		return d.src[d.pos]
	}
	return 0
}
