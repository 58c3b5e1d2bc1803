package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"reflect"
	"strings"
	"sync/atomic"

	"taskkit.dev/internal/store/sqlbase"
)

// sender sends statements on connections of a pool. It is safe for concurrent use.
type sender struct {
	db    *sql.DB
	found atomic.Pointer[pipeline] // that of the last connection
}

func newSender(db *sql.DB) *sender { return &sender{db: db} }

// send runs steps one after another: in one round trip if the driver is pgx's, and otherwise in one each. None
// is run after one that has failed. It returns how many have succeeded.
//
// database/sql has no call for several statements with parameters, and taskkit does not import pgx (ADR 5). So the
// methods of pgx's connection are found by their names, as package notify finds others.
func (s *sender) send(ctx context.Context, conn *sql.Conn, steps ...sqlbase.Step) (n int, err error) {
	var (
		p      *pipeline
		failed error
	)
	err = conn.Raw(func(inner any) error {
		if p = s.pipelineOf(inner); p == nil {
			return nil
		}
		if n, failed = p.send(ctx, inner, steps); errors.Is(failed, driver.ErrBadConn) {
			return failed // the connection is not returned to the pool
		}
		return nil
	})
	if p != nil || err != nil {
		return n, cmp.Or(failed, err)
	}
	for _, s := range steps {
		if err := s.Run(ctx, conn); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// pipelineOf returns the pipeline of a driver's connection, or nil if it is not one of pgx.
func (s *sender) pipelineOf(inner any) *pipeline {
	t := reflect.TypeOf(inner)
	if p := s.found.Load(); p != nil && p.of == t {
		return p
	}
	p := newPipeline(t)
	if p != nil {
		s.found.Store(p)
	}
	return p
}

// pipeline are the methods of pgx that send several statements at once. To find a method by its name takes as long as to
// send a statement, so it is done once for a type of connection, and not for each transaction.
type pipeline struct {
	of        reflect.Type // the driver's connection
	conn      int          // its method Conn, which returns a *pgx.Conn
	sendBatch int          // of *pgx.Conn: SendBatch(context.Context, *pgx.Batch) pgx.BatchResults
	batch     reflect.Type // pgx.Batch
	queue     int          // of *pgx.Batch: Queue(string, ...any)
	query     int          // of pgx.BatchResults: Query() (pgx.Rows, error)
	tag       int          // of pgx.Rows: CommandTag() pgconn.CommandTag
}

// batchRows is what is used of pgx.Rows.
type batchRows interface {
	Next() bool
	Scan(dest ...any) error
	Close()
	Err() error
}

// newPipeline returns the pipeline of a type of connections, or nil if it is not one of pgx.
func newPipeline(of reflect.Type) *pipeline {
	conn, ok := of.MethodByName("Conn")
	if !ok || conn.Type.NumIn() != 1 || conn.Type.NumOut() != 1 {
		return nil
	}
	send, ok := conn.Type.Out(0).MethodByName("SendBatch")
	if !ok {
		return nil
	}
	// In(0) is the receiver.
	t := send.Type
	if t.NumIn() != 3 || t.In(1) != reflect.TypeFor[context.Context]() || t.In(2).Kind() != reflect.Pointer || t.NumOut() != 1 || t.Out(0).Kind() != reflect.Interface {
		return nil
	}
	queue, hasQueue := t.In(2).MethodByName("Queue")
	query, hasQuery := t.Out(0).MethodByName("Query")
	if !hasQueue || !hasQuery || query.Type.NumOut() != 2 || query.Type.Out(0).Kind() != reflect.Interface {
		return nil
	}
	tag, ok := query.Type.Out(0).MethodByName("CommandTag")
	if !ok {
		return nil
	}
	return &pipeline{of, conn.Index, send.Index, t.In(2).Elem(), queue.Index, query.Index, tag.Index}
}

// send sends the steps on a connection and reads their results.
func (p *pipeline) send(ctx context.Context, inner any, steps []sqlbase.Step) (n int, err error) {
	batch := reflect.New(p.batch)
	queue := batch.Method(p.queue)
	for _, s := range steps {
		queue.CallSlice([]reflect.Value{reflect.ValueOf(s.Text), reflect.ValueOf(s.Args)})
	}
	conn := reflect.ValueOf(inner).Method(p.conn).Call(nil)[0]
	results := conn.Method(p.sendBatch).Call([]reflect.Value{reflect.ValueOf(ctx), batch})[0]
	next := results.Method(p.query)
	for _, s := range steps {
		out := next.Call(nil)
		if err, _ = reflect.TypeAssert[error](out[1]); err != nil {
			break
		}
		rows, _ := reflect.TypeAssert[batchRows](out[0])
		if err = readRows(rows, s.Row); err != nil {
			break
		}
		if s.Affected != nil {
			tag, _ := reflect.TypeAssert[interface{ RowsAffected() int64 }](out[0].Method(p.tag).Call(nil)[0])
			*s.Affected = tag.RowsAffected()
		}
		n++
	}
	closer, _ := reflect.TypeAssert[interface{ Close() error }](results)
	if closed := closer.Close(); err == nil {
		err = closed
	}
	return n, err
}

// readRows calls row for each row, and closes the rows.
func readRows(rows batchRows, row func(scan func(...any) error) error) error {
	defer rows.Close()
	for rows.Next() {
		if row == nil {
			continue
		}
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// sqlState returns the code of an error that the server has returned, or "".
func sqlState(err error) string {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState()
	}
	return ""
}

// refused reports whether an error is the server's answer to a statement, after which the connection can be used. It is not one
// that ends the connection: operator intervention (class 57, but for the end of one statement), and connection exceptions (08).
func refused(err error) bool {
	state := sqlState(err)
	return state != "" && !strings.HasPrefix(state, "08") && (!strings.HasPrefix(state, "57") || state == queryCanceled)
}

// queryCanceled is the SQLSTATE of a statement that was cancelled, or took longer than statement_timeout.
const queryCanceled = "57014"
