package taskkit_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
)

// The file of the WAL grows while a read transaction lasts, and is small again when that has ended.
func TestJournalAfterLongRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	db := migrated(t, testdb.SQLite(t, testdb.Dir(dir), testdb.Unsynced()))
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE large (content blob)"); err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		files, err := filepath.Glob(filepath.Join(dir, "*-wal"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		f, err := os.Stat(files[0])
		if err != nil {
			t.Fatal(err)
		}
		return f.Size()
	}
	reader, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	var rows int
	if _, err := reader.ExecContext(t.Context(), "BEGIN DEFERRED"); err != nil {
		t.Fatal(err)
	}
	if err := reader.QueryRowContext(t.Context(), "SELECT count(*) FROM large").Scan(&rows); err != nil {
		t.Fatal(err)
	}
	started(t, db, registered(countKind, &funcs[countSpec, countState]{execute: func(ctx context.Context, b *countBatch) (taskkit.Next, error) {
		b.State.Next++
		b.Advance(1)
		_, err := b.Tx.ExecContext(ctx, "INSERT INTO large VALUES (randomblob(1048576))")
		if b.State.Next < b.Spec.Items {
			return taskkit.More, err
		}
		return taskkit.Done, err
	}}), quick(t, db))
	ended(t, db, submitted(t, db, countKind, countSpec{Items: 40}))
	const limit = 16 << 20
	if size() < 2*limit {
		t.Errorf("with a reader the WAL has only %d bytes", size())
	}
	if _, err := reader.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	until(t, "the WAL is small", func() bool { return size() <= limit })
}
