package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
)

// A lock keeps others out until it is freed, also within one process. Whether it is free cannot be
// told where its file is missing.
func TestLockFile(t *testing.T) {
	t.Parallel()
	database := filepath.Join(t.TempDir(), "tasks.db")
	file := lockFile(database, 1<<62)
	if free, err := isFree(file); err == nil {
		t.Errorf("a file that is missing is free: %t", free)
	}
	l, err := lock(file)
	if err != nil {
		t.Fatal(err)
	}
	if free, err := isFree(file); err != nil || free {
		t.Errorf("a locked file is free: %t, %v", free, err)
	}
	if _, err := lock(file); err == nil || !strings.Contains(err.Error(), "another process has locked it") || !strings.Contains(err.Error(), file) {
		t.Errorf("locked twice: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if free, err := isFree(file); err != nil || !free {
		t.Errorf("a file that nobody locks is free: %t, %v", free, err)
	}
	if _, err := lock(filepath.Join(filepath.Dir(database), "none", "tasks.db")); err == nil {
		t.Error("locked a file in a directory that is missing")
	}
}

func TestLockOf(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]int64{
		"/a/tasks.db-taskkit-4611686018427387904.lock": 1 << 62, "/a/tasks.db-taskkit-7.lock": 7,
		"/a/tasks.db-taskkit-07.lock": 0, "/a/tasks.db-taskkit-x.lock": 0, "/a/tasks.db-wal": 0,
		"/a/other.db-taskkit-7.lock": 0, "/a/tasks.db-taskkit-7": 0,
	} {
		if got, ok := lockOf("/a/tasks.db", file); ok != (want > 0) || ok && got != want {
			t.Errorf("%s: %d, %t", file, got, ok)
		}
	}
}
