package taskjson

import (
	"encoding"
	"iter"
)

// The tests compare each step of a decoder with a reference, so they need the steps within an object and an array.

// Functions of the package for its tests.
var (
	Convert        = convert
	NewEncoderSize = newEncoderSize
)

// Members calls members.
func Members[K ~string, V any](m map[K]V) iter.Seq2[string, V] { return members(m) }

// Once calls once.
func (d *Decoder) Once(seen *uint64, bit uint) { d.once(seen, bit) }

// Unknown calls unknown.
func (d *Decoder) Unknown(name []byte, known ...string) { d.unknown(name, known...) }

// Capacity calls capacity.
func (d *Decoder) Capacity(size int) int { return d.capacity(size) }

// Members calls members.
func (d *Decoder) Members() int { return d.members() }

// EndMap calls endMap.
func (d *Decoder) EndMap(members int) { d.endMap(members) }

// Repeated calls repeated.
func (d *Decoder) Repeated() { d.repeated() }

// Short calls short.
func (d *Decoder) Short(have, want int) { d.short(have, want) }

// TextKey calls textKey.
func (d *Decoder) TextKey(v encoding.TextUnmarshaler) { d.textKey(v) }
