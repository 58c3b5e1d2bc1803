package migrate

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/stdlib"
)

// errPooler: a pooler would run the statements of one session on several connections of the server.
var errPooler = errors.New("a migration makes indexes beside running work, for which it needs a session of the server: give the migrator a direct connection, this one goes through a pooler")

// noTransaction is the line that has goose run the statements of a file one by one.
const noTransaction = "-- +goose NO TRANSACTION\n"

// plainHead begins a file that [plain] has made a transaction: the lock, and the names of functions and operators.
const plainHead = `SET LOCAL search_path = pg_catalog;
SELECT pg_advisory_xact_lock(hashtextextended('taskkit migrate {schema}', 0));
SET LOCAL lock_timeout = '5s';
`

// plain makes a file that changes indexes CONCURRENTLY into a transaction, for tables that are empty: they have been made
// by the same migrator. So a new database needs no session, and does not wait for other transactions of the database.
func plain(text []byte) []byte {
	if !bytes.Contains(text, []byte(noTransaction)) {
		return text
	}
	return []byte(strings.NewReplacer(noTransaction, "", "INDEX CONCURRENTLY", "INDEX", "-- +goose Up\n", "-- +goose Up\n"+plainHead).Replace(string(text)))
}

// concurrentIndex matches the name of an index that a file makes.
var concurrentIndex = regexp.MustCompile(`CREATE (?:UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS "(\w+)"`)

// pendingIndexes returns the names of the indexes that files after a version make CONCURRENTLY, and whether one of the files
// is no transaction.
func pendingIndexes(files fs.FS, have int64) (names []string, found bool, err error) {
	all, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, false, err
	}
	for _, name := range all {
		v, err := numberOf(name)
		if err != nil || v <= have {
			continue
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, false, err
		}
		if !bytes.Contains(text, []byte(noTransaction)) {
			continue
		}
		found = true
		for _, m := range concurrentIndex.FindAllSubmatch(text, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names, found, nil
}

const (
	// lockEvery is how often a migrator tries to take the lock of another one.
	lockEvery = 200 * time.Millisecond
	// unlockWithin bounds the end of a session.
	unlockWithin = 10 * time.Second
)

// session locks a schema for files that are no transactions, on the connection that runs them. It implements goose's
// lock.SessionLocker.
//
// A waiting migrator tries again instead of waiting in the server, where its statement would have a snapshot: CREATE INDEX
// CONCURRENTLY waits for older snapshots, and the two would be a deadlock. The lock ends with the session and not with the
// client, so a server that goes on to make an index whose client was killed keeps others out until it has ended.
type session struct {
	schema  string
	indexes []string
	before  [len(settings)]string // what the settings were
}

// settings hold for the session: names of functions and operators are pg_catalog's, and no timeout of the role ends a
// statement. CREATE and DROP INDEX CONCURRENTLY wait as long as transactions last that are older, but nobody who reads or writes waits
// behind them, and to end them would leave an index to be made again.
var settings = [...][2]string{{"search_path", "pg_catalog"}, {"lock_timeout", "0"}, {"statement_timeout", "0"}}

// SessionLock takes the lock, and drops the indexes that an interrupted migration has left invalid.
func (s *session) SessionLock(ctx context.Context, conn *sql.Conn) (err error) {
	if err := direct(ctx, conn); err != nil {
		return err
	}
	for {
		var locked bool
		if err := conn.QueryRowContext(ctx, "SELECT pg_catalog.pg_try_advisory_lock("+s.key()+")").Scan(&locked); err != nil {
			return fmt.Errorf("lock the schema: %w", err)
		}
		if locked {
			break
		}
		pause := time.NewTimer(lockEvery)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return fmt.Errorf("wait for another migrator: %w", context.Cause(ctx))
		}
	}
	for i, set := range settings {
		if err = conn.QueryRowContext(ctx, "SELECT pg_catalog.current_setting('"+set[0]+"')").Scan(&s.before[i]); err == nil {
			_, err = conn.ExecContext(ctx, "SELECT pg_catalog.set_config('"+set[0]+"', '"+set[1]+"', false)")
		}
		if err != nil {
			discard(conn)
			return fmt.Errorf("set %s: %w", set[0], err)
		}
	}
	if err := s.dropInvalid(ctx, conn); err != nil {
		return errors.Join(err, s.SessionUnlock(context.WithoutCancel(ctx), conn))
	}
	return nil
}

// key is the key of the lock, which the files that are transactions take too.
func (s *session) key() string {
	return "pg_catalog.hashtextextended('taskkit migrate " + s.schema + "', 0::bigint)"
}

// dropInvalid drops the indexes of pending files that are invalid. The files make them again.
func (s *session) dropInvalid(ctx context.Context, conn *sql.Conn) error {
	if len(s.indexes) == 0 {
		return nil
	}
	rows, err := conn.QueryContext(ctx, `SELECT c.relname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE NOT i.indisvalid AND n.nspname = '`+s.schema+"' AND c.relname IN ('"+strings.Join(s.indexes, "', '")+"')")
	if err != nil {
		return fmt.Errorf("look for invalid indexes: %w", err)
	}
	defer rows.Close()
	var invalid []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return fmt.Errorf("look for invalid indexes: %w", err)
		}
		invalid = append(invalid, name)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("look for invalid indexes: %w", err)
	}
	for _, name := range invalid {
		if _, err := conn.ExecContext(ctx, fmt.Sprintf(`DROP INDEX CONCURRENTLY IF EXISTS "%s"."%s"`, s.schema, name)); err != nil {
			return fmt.Errorf("drop the invalid index %s: %w", name, err)
		}
	}
	return nil
}

// SessionUnlock gives the connection back as it was. If that fails, the connection is closed, which ends the lock too.
func (s *session) SessionUnlock(ctx context.Context, conn *sql.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, unlockWithin)
	defer cancel()
	for i, set := range settings {
		if _, err := conn.ExecContext(ctx, "SELECT pg_catalog.set_config($1, $2, false)", set[0], s.before[i]); err != nil {
			discard(conn)
			return nil
		}
	}
	if _, err := conn.ExecContext(ctx, "SELECT pg_catalog.pg_advisory_unlock("+s.key()+")"); err != nil {
		discard(conn)
	}
	return nil
}

// discard has the pool close the connection instead of using it again.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn })
}

// direct returns errPooler if a pooler is between the connection and the server: its clients see the id of another process. With
// another driver than pgx nothing is known.
func direct(ctx context.Context, conn *sql.Conn) error {
	var told, answers int64
	err := conn.Raw(func(inner any) error {
		if c, ok := inner.(*stdlib.Conn); ok {
			told = int64(c.Conn().PgConn().PID())
		}
		return nil
	})
	if err != nil || told == 0 {
		return err
	}
	if err := conn.QueryRowContext(ctx, "SELECT pg_catalog.pg_backend_pid()").Scan(&answers); err != nil {
		return fmt.Errorf("look for a pooler: %w", err)
	}
	if told != answers {
		return errPooler
	}
	return nil
}
