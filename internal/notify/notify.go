// Package notify waits for PostgreSQL notifications on a database/sql
// connection whose driver is pgx, without importing pgx.
//
// Whoever imports taskkit must not link a driver that it does not use, and
// database/sql has no notifications. So the driver's connection is taken with
// [sql.Conn.Raw] and its methods are found by their names. Where the names are not
// found, there is no listener and workers poll.
package notify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
)

// Listener waits on one connection, which it does not own. It is not safe for
// concurrent use.
type Listener struct {
	conn *sql.Conn
	wait func(context.Context) (string, error)
}

// ErrPooled: the server's process at the other end is not the one that greeted
// this connection, so there is a pooler between them and what a session asks
// for, such as LISTEN, reaches another client or nobody.
var ErrPooled = errors.New("a pooler stands between this connection and the server: give the listener a DSN of its own")

// ErrNotPgx: the driver's connection lacks what the listener needs of pgx.
var ErrNotPgx = errors.New("the listener needs pgx")

// On returns a listener on a connection. It asks the server for its process id,
// as a pooler in transaction mode greets with an invented one.
func On(ctx context.Context, conn *sql.Conn) (*Listener, error) {
	var server uint32
	if err := conn.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&server); err != nil {
		return nil, fmt.Errorf("ask for the server's process: %w", err)
	}
	l := &Listener{conn: conn}
	err := conn.Raw(func(raw any) error {
		pgx, err := method(reflect.ValueOf(raw), "Conn", 0)
		if err != nil {
			return err
		}
		inner := pgx.Call(nil)[0]
		wait, err := method(inner, "WaitForNotification", 1)
		if err != nil {
			return err
		}
		l.wait = waiter(wait)
		lower, err := method(inner, "PgConn", 0)
		if err != nil {
			return err
		}
		pid, err := method(lower.Call(nil)[0], "PID", 0)
		if err != nil {
			return err
		}
		if greeted, ok := reflect.TypeAssert[uint32](pid.Call(nil)[0]); !ok || greeted != server {
			return ErrPooled
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Wait waits for the next notification and returns its payload. When ctx ends
// first the connection stays usable.
func (l *Listener) Wait(ctx context.Context) (payload string, err error) {
	var failed error
	err = l.conn.Raw(func(any) error {
		payload, failed = l.wait(ctx)
		return nil
	})
	return payload, errors.Join(err, failed)
}

// method finds a method by name and number of parameters.
func method(v reflect.Value, name string, params int) (reflect.Value, error) {
	if v.IsValid() {
		if m := v.MethodByName(name); m.IsValid() && m.Type().NumIn() == params && m.Type().NumOut() > 0 {
			return m, nil
		}
	}
	return reflect.Value{}, fmt.Errorf("the driver's connection (%v) has no %s: %w", v.Type(), name, ErrNotPgx)
}

// waiter calls pgx's WaitForNotification(ctx) (*pgconn.Notification, error).
func waiter(m reflect.Value) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		out := m.Call([]reflect.Value{reflect.ValueOf(ctx)})
		if err, ok := reflect.TypeAssert[error](out[len(out)-1]); ok && err != nil {
			return "", err
		}
		n := reflect.Indirect(out[0])
		if n.Kind() != reflect.Struct {
			return "", fmt.Errorf("a notification came as %v", out[0].Type())
		}
		payload := n.FieldByName("Payload")
		if !payload.IsValid() || payload.Kind() != reflect.String {
			return "", fmt.Errorf("a notification has no payload: %v", n.Type())
		}
		return payload.String(), nil
	}
}
