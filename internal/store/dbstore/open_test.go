package dbstore_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/migrate"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/testdb"
)

// Settings under which SQLite would lose data or fail at random are refused,
// with the ones to use.
func TestOpenRefusesSQLiteSettings(t *testing.T) {
	t.Parallel()
	const busy, wal, fk = "&_pragma=busy_timeout(1000)", "&_pragma=journal_mode(WAL)", "&_pragma=foreign_keys(ON)"
	for name, c := range map[string]struct {
		params string
		conns  int
		want   string
	}{
		"all right":       {busy + wal + fk, 0, ""},
		"no WAL":          {busy + fk, 0, "journal_mode"},
		"no busy_timeout": {"&_pragma=busy_timeout(0)" + wal + fk, 0, "busy_timeout"},
		"no foreign keys": {busy + wal, 0, ""},
		"nothing":         {"", 0, "_pragma=journal_mode(WAL)"},
		"one connection":  {busy + wal + fk, 1, "SetMaxOpenConns"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "a.db")+"?_time_format=sqlite"+c.params)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			db.SetMaxOpenConns(c.conns)
			_, err = dbstore.Open(t.Context(), db, "", dbstore.Options{})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Fatalf("got %v, want %q", err, c.want)
			}
		})
	}
}

// What is set on one connection by a statement does not hold for the next.
func TestOpenLooksAtTwoConnections(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "a.db")+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), "PRAGMA busy_timeout = 1000"); err != nil {
		t.Fatal(err)
	}
	if _, err := dbstore.Open(t.Context(), db, "", dbstore.Options{}); err == nil || !strings.Contains(err.Error(), "busy_timeout") {
		t.Fatalf("got %v, want what is wrong on the second connection", err)
	}
}

// A bad schema name is refused before any query.
func TestOpenRefusesSchema(t *testing.T) {
	t.Parallel()
	db := testdb.Postgres(t)
	if _, err := dbstore.Open(t.Context(), db.DB, `no"good`, dbstore.Options{}); err == nil {
		t.Fatal("opened")
	}
}

// Several writers of one process, and a second process on the same file, wait
// for one another and never fail, whatever the DSN says of transactions.
func TestSQLiteWritersWait(t *testing.T) {
	t.Parallel()
	file := "file:" + filepath.Join(t.TempDir(), "a.db") + "?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=foreign_keys(ON)"
	var stores []store.Store
	var first *sql.DB
	for range 2 {
		db, err := sql.Open("sqlite", file)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if first == nil {
			first = db
			if err := migrate.Migrate(t.Context(), db, ""); err != nil {
				t.Fatal(err)
			}
		}
		s, err := dbstore.Open(t.Context(), db, "", dbstore.Options{})
		if err != nil {
			t.Fatal(err)
		}
		stores = append(stores, s)
	}
	const tasks = 200
	waiting := make([]store.NewTask, tasks)
	for i := range waiting {
		waiting[i] = store.NewTask{Submitted: store.Submitted{Kind: "demo", Owner: uuid.New(), RunAs: uuid.New(), Queue: "default"}, ID: uuid.Must(uuid.NewV7()), Revision: 1, Priority: 2}
	}
	if err := store.Insert(t.Context(), first, "", waiting, false); err != nil {
		t.Fatal(err)
	}
	ctx := testdb.Within(t)
	var wg sync.WaitGroup
	for n := range 8 {
		s, id := stores[n%2], string(rune('a'+n))
		wg.Go(func() {
			if err := s.RegisterWorker(ctx, store.Process{ID: id, Kinds: map[string][]int{"demo": {1}}, Queues: []string{"default"}, DeadAfter: time.Hour}); err != nil {
				t.Error(err)
				return
			}
			for {
				c, err := s.Claim(ctx, store.Claim{Process: id, Queues: []string{"default"}, Kinds: map[string][]int{"demo": {1}}, Limit: 3})
				if err != nil {
					t.Error(err)
					return
				}
				if len(c.Tasks) == 0 {
					return
				}
				for _, k := range c.Tasks {
					tx, err := s.Begin(ctx, k.Lease, limits)
					if err != nil {
						t.Error(err)
						return
					}
					if a, err := tx.Commit(ctx, checkpoint(k.Lease)); err != nil || !a.OK {
						t.Errorf("%+v, %v", a, err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	var done int
	if err := first.QueryRowContext(t.Context(), "SELECT count(*) FROM taskkit_queued_task WHERE checkpoint_seq = 1 AND fence = 1").Scan(&done); err != nil || done != tasks {
		t.Fatalf("%d of %d tasks, %v", done, tasks, err)
	}
}
