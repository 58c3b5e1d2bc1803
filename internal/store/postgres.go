package store

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// postgres is the Store on PostgreSQL. It keeps no session state on pooled
// connections: locks and settings end with the transaction.
type postgres struct {
	*base
	db     *sql.DB
	listen string // DSN for the listener; "": the pool

	applying sync.Mutex
	applies  map[layout]string // by applySQL
	// probeEvery is how long the listener believes in silence. A connection
	// that is half open says nothing either.
	probeEvery time.Duration
}

// ownIdle bounds the silence of a client inside a transaction of the runtime's own.
// Its rows are locked until the server ends it, and reapers step over them: of a
// process that could not be declared dead nothing would be taken over.
const ownIdle = "SET LOCAL idle_in_transaction_session_timeout = '5s'"

func newPostgres(db *sql.DB, schema, listen string) *postgres {
	b := newBase(db, schema, "postgres")
	b.write = func(ctx context.Context, f func(Querier) error) error {
		return inTx(ctx, db, func(q Querier) error {
			if _, err := q.ExecContext(ctx, ownIdle); err != nil {
				return err
			}
			return f(q)
		})
	}
	return &postgres{base: b, db: db, applies: make(map[layout]string), listen: listen, probeEvery: 30 * time.Second}
}
