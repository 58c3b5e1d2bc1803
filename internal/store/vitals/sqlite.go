package vitals

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
)

// File is what SQLite says about a file and its settings, as one connection has them.
type File struct {
	Now         time.Time
	Path        string // "": the database is in memory, or its file is not seen from here
	Journal     string // such as wal
	Synchronous int64  // 0 OFF, 1 NORMAL, 2 FULL, 3 EXTRA
	Busy        time.Duration
	WAL         int64 // bytes of its write-ahead log
	// Network is the file system if the file is on another machine, such as nfs; "": it is not, or that is not known here.
	Network string
}

// ReadFile reads the settings of the connection behind a handle, and reads the size and the place of its file.
func ReadFile(ctx context.Context, q store.Querier) (f File, err error) {
	for _, setting := range []struct {
		query string
		scan  func(*sql.Rows) error
	}{
		{"SELECT " + dialect.SQLiteNow, func(rows *sql.Rows) error { return rows.Scan(sqlrows.Time(&f.Now)) }},
		{"PRAGMA journal_mode", func(rows *sql.Rows) error { return rows.Scan(&f.Journal) }},
		{"PRAGMA synchronous", func(rows *sql.Rows) error { return rows.Scan(&f.Synchronous) }},
		{"PRAGMA busy_timeout", func(rows *sql.Rows) error {
			var ms int64
			err := rows.Scan(&ms)
			f.Busy = time.Duration(ms) * time.Millisecond
			return err
		}},
		{"SELECT file FROM pragma_database_list WHERE name = 'main'", func(rows *sql.Rows) error { return rows.Scan(sqlrows.OptionalText(&f.Path)) }},
	} {
		if _, err := sqlrows.Query(ctx, q, setting.query, nil, setting.scan); err != nil {
			return f, fmt.Errorf("read SQLite's settings: %s: %w", setting.query, err)
		}
	}
	if _, err := os.Stat(f.Path); err != nil {
		f.Path = ""
		return f, nil //nolint:nilerr // a database in memory may have the name of a file
	}
	switch info, err := os.Stat(f.Path + "-wal"); {
	case err == nil:
		f.WAL = info.Size()
	case !errors.Is(err, fs.ErrNotExist):
		return f, fmt.Errorf("read the size of the write-ahead log: %w", err)
	}
	f.Network, err = networkOf(f.Path)
	return f, err
}

// ReadFileIndexes returns the names of the indexes of a file. All are valid.
func ReadFileIndexes(ctx context.Context, q store.Querier) (map[string]bool, error) {
	return readIndexes(ctx, q, "SELECT name, true FROM sqlite_master WHERE type = 'index'")
}
