// Package postgres is the store on PostgreSQL.
package postgres

import (
	"cmp"
	"database/sql"
	"sync"
	"time"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/pgtx"
	"taskkit.dev/internal/store/sqlbase"
)

// Store is the [store.Store] on PostgreSQL. It keeps no session state on pooled
// connections: locks and settings end with the transaction.
type Store struct {
	*sqlbase.Base
	db   *sql.DB
	pool *pgtx.Pool
	Options

	cursors claimCursors

	applying sync.Mutex
	applies  map[updatePlan]string // by applySQL
	lasts    map[lastPlan]string   // by lastSQL
}

// Options are what a Store does not find out from its pool.
type Options struct {
	// ListenDSN opens a connection of pgx for the listener. It
	// leads past a pooler, which delivers no notifications. Default "": a
	// connection of the pool.
	ListenDSN string
	// ProbeEvery is how long the listener may receive nothing before it sends a
	// notification to itself: a half-open connection receives nothing either.
	// Default 30 s.
	ProbeEvery time.Duration
}

// New returns the store of the tables in a schema. The pool stays the caller's.
func New(db *sql.DB, schema string, o Options) *Store {
	o.ProbeEvery = cmp.Or(o.ProbeEvery, 30*time.Second)
	p := pgtx.NewPool(db)
	return &Store{
		Base: sqlbase.New(db, schema, dialect.Postgres, p.InTx), db: db, pool: p, Options: o,
		applies: make(map[updatePlan]string), lasts: make(map[lastPlan]string),
	}
}

// NewClient returns the store of a client on a pool.
func NewClient(db *sql.DB, schema string) store.Client { return New(db, schema, Options{}).Base }
