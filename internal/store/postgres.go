package store

import (
	"context"
	"database/sql"
	"time"
)

// postgres is the Store on PostgreSQL. It keeps no session state on pooled
// connections: locks and settings end with the transaction.
type postgres struct {
	*base
	db       *sql.DB
	applySQL string
	listen   string // DSN for the listener; "": the pool
	// probeEvery is how long the listener believes in silence. A connection
	// that is half open says nothing either.
	probeEvery time.Duration
}

func newPostgres(db *sql.DB, schema, listen string) *postgres {
	b := newBase(db, schema, "postgres")
	b.write = func(ctx context.Context, f func(Querier) error) error { return inTx(ctx, db, f) }
	return &postgres{base: b, db: db, applySQL: postgresApplySQL(b.texts), listen: listen, probeEvery: 30 * time.Second}
}
