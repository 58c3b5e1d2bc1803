package taskjson

import (
	"bytes"
	"slices"
	"sync"
)

// buffers holds buffers that are not in use, for values whose size could not be
// estimated: such a value is written to one of them, and then copied once. It is
// package state, because growing a slice step by step allocates several times what
// is written.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, minPooled)) }}

// A buffer in the pool has at least minPooled bytes, and at most maxPooled.
const (
	minPooled = 4 << 10
	maxPooled = 256 << 10
)

// grow is the slow path of extend, when there is no room. It is not inlined, so that
// the usual case stays small.
//
//go:noinline
func (e *Encoder) grow(n int) {
	if !e.fresh || e.pooled != nil || len(e.buf)+n > minPooled {
		e.buf = slices.Grow(e.buf, max(n, len(e.buf)))
		return
	}
	pooled, ok := buffers.Get().(*[]byte)
	if !ok {
		panic("taskjson: something else is in the pool of buffers")
	}
	e.buf, e.pooled = append((*pooled)[:0], e.buf...), pooled
}

// release returns the buffer to the pool, and a copy of what was written.
func (e *Encoder) release(written []byte) []byte {
	out := bytes.Clone(written)
	if cap(e.buf) <= maxPooled {
		*e.pooled = e.buf[:0]
		buffers.Put(e.pooled)
	}
	e.buf, e.pooled = nil, nil
	return out
}
