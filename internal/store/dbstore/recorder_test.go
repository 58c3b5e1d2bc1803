package dbstore_test

import (
	"database/sql"
	"sync"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

// recorder keeps what [recorded] returns for databases that are lent, each for the next case that gets it. It is safe for
// concurrent use.
type recorder struct {
	t *testing.T // of the suite, with which the handles end

	mu      sync.Mutex
	handles map[*testdb.DB]recordedHandle
}

// recordedHandle is what [recorded] returns.
type recordedHandle struct {
	*sql.DB
	*recording
}

func (r *recorder) recorded(db *testdb.DB) (*sql.DB, *recording) {
	r.t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	h, ok := r.handles[db]
	if !ok {
		if r.handles == nil {
			r.handles = make(map[*testdb.DB]recordedHandle)
		}
		h.DB, h.recording = recorded(r.t, db)
		r.handles[db] = h
	}
	return h.DB, h.recording
}
