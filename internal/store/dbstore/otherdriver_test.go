package dbstore_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/storetest"
	"taskkit.dev/internal/testkit/testdb"
)

// TestBatchesWithAnotherDriver runs the batches, and transactions of several statements, with a driver that cannot send several statements at once: one that
// wraps that of pgx.
func TestBatchesWithAnotherDriver(t *testing.T) {
	t.Parallel()
	dbs := &reuse{t: t, open: testdb.Postgres}
	storetest.Run(t, func(t *testing.T) (store.Store, *testdb.DB) {
		db := *dbs.take(t)
		c, err := pgx.ParseConfig(db.DSN)
		if err != nil {
			t.Fatal(err)
		}
		db.DB = sql.OpenDB(wrapper{stdlib.GetConnector(*c)})
		testdb.SetConns(db.DB, 8)
		t.Cleanup(func() { _ = db.DB.Close() })
		return opened(t, &db)
	}, "BatchCommits", "BatchRollsBack", "BatchGuardAtCommit", "BatchInterrupted", "BatchLost", "BatchSavepoints", "BatchOutlivesItsBegin", "BatchKeepsTakeoverAway",
		"LeaveReleases", "ReapGoesOn", "ReapEnds", "ReapParents", "Processes", "RequestEveryStatus", "RequestRetry", "RequestOrphan", "RequestNotFound", "PassOnEvery")
}

// wrapper opens connections that have the methods of database/sql and no others.
type wrapper struct{ driver.Connector }

func (w wrapper) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := w.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	all, ok := conn.(wrappedConn)
	if !ok {
		return nil, fmt.Errorf("%T has not all methods that a wrapped connection needs", conn)
	}
	return struct{ wrappedConn }{all}, nil
}

type wrappedConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.SessionResetter
}
