package session

import (
	"testing"
	"unsafe"
)

// What most tasks do not need is behind a pointer.
func TestSizeOfSession(t *testing.T) {
	t.Parallel()
	const most = 512 // bytes: Go's collector is slower with objects that are larger
	if size := unsafe.Sizeof(Session{}); size > most {
		t.Errorf("a session has %d bytes, want at most %d", size, most)
	}
}
