package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"reflect"
	"strings"

	"taskkit.dev/internal/store/sqlbase"
)

// send runs steps one after another: in one round trip if the driver is pgx's, and otherwise in one each. None
// is run after one that has failed. It returns how many have succeeded.
//
// database/sql has no call for several statements with parameters, and taskkit does not import pgx (ADR 5). So the
// methods of pgx's connection are found by their names, as package notify finds others.
func send(ctx context.Context, conn *sql.Conn, steps ...sqlbase.Step) (n int, err error) {
	var (
		found  bool
		failed error
	)
	err = conn.Raw(func(inner any) error {
		var p pipeline
		if p, found = newPipeline(inner); !found {
			return nil
		}
		if n, failed = p.send(ctx, steps); errors.Is(failed, driver.ErrBadConn) {
			return failed // the connection is not returned to the pool
		}
		return nil
	})
	if found || err != nil {
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

// pipeline is the method of pgx's connection that sends several statements at once:
// SendBatch(context.Context, *pgx.Batch) pgx.BatchResults.
type pipeline struct{ sendBatch reflect.Value }

// batchRows is what is used of pgx.Rows.
type batchRows interface {
	Next() bool
	Scan(dest ...any) error
	Close()
	Err() error
}

// newPipeline returns the pipeline of a driver's connection, if it is one of pgx.
func newPipeline(inner any) (p pipeline, ok bool) {
	conn := reflect.ValueOf(inner).MethodByName("Conn")
	if !conn.IsValid() || conn.Type().NumIn() != 0 || conn.Type().NumOut() != 1 {
		return p, false
	}
	send := conn.Call(nil)[0].MethodByName("SendBatch")
	if !send.IsValid() {
		return p, false
	}
	t := send.Type()
	ok = t.NumIn() == 2 && t.In(0) == reflect.TypeFor[context.Context]() && t.In(1).Kind() == reflect.Pointer && t.NumOut() == 1
	return pipeline{send}, ok
}

// send sends the steps and reads their results.
func (p pipeline) send(ctx context.Context, steps []sqlbase.Step) (n int, err error) {
	batch := reflect.New(p.sendBatch.Type().In(1).Elem())
	queue := batch.MethodByName("Queue")
	for _, s := range steps {
		queue.CallSlice([]reflect.Value{reflect.ValueOf(s.Text), reflect.ValueOf(s.Args)})
	}
	results := p.sendBatch.Call([]reflect.Value{reflect.ValueOf(ctx), batch})[0]
	next := results.MethodByName("Query")
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
			*s.Affected = affectedBy(out[0])
		}
		n++
	}
	closer, _ := reflect.TypeAssert[interface{ Close() error }](results)
	if closed := closer.Close(); err == nil {
		err = closed
	}
	return n, err
}

// affectedBy returns the number of rows in the command tag of pgx.Rows that have been read.
func affectedBy(rows reflect.Value) int64 {
	tag := rows.MethodByName("CommandTag").Call(nil)[0]
	return tag.MethodByName("RowsAffected").Call(nil)[0].Int()
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
