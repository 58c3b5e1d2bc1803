package main

import (
	"context"
	"database/sql/driver"
	"fmt"
	"sync/atomic"
)

type connector = driver.Connector

// sqliteConnector reaches an SQLite file.
type sqliteConnector struct {
	dsn string
	d   driver.Driver
}

// Connect implements driver.Connector.
func (c *sqliteConnector) Connect(context.Context) (driver.Conn, error) { return c.d.Open(c.dsn) }

// Driver implements driver.Connector.
func (c *sqliteConnector) Driver() driver.Driver { return c.d }

// countedConnector counts the statements on all its connections.
type countedConnector struct {
	driver.Connector
	n *atomic.Int64
}

// Connect implements driver.Connector.
func (c *countedConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	whole, ok := conn.(wholeConn)
	if !ok {
		return nil, fmt.Errorf("a connection of %T cannot be counted", c.Driver())
	}
	return &countedConn{whole, c.n}, nil
}

// wholeConn is the interface of both drivers' connections. A connection of pgx has a NamedValueChecker too.
type wholeConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
}

// countedConn is a connection whose statements are counted.
type countedConn struct {
	wholeConn
	n *atomic.Int64
}

// ExecContext implements driver.ExecerContext.
func (c *countedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.n.Add(1)
	return c.wholeConn.ExecContext(ctx, query, args)
}

// QueryContext implements driver.QueryerContext.
func (c *countedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.n.Add(1)
	return c.wholeConn.QueryContext(ctx, query, args)
}

// CheckNamedValue implements driver.NamedValueChecker.
func (c *countedConn) CheckNamedValue(v *driver.NamedValue) error {
	if checker, ok := c.wholeConn.(driver.NamedValueChecker); ok {
		return checker.CheckNamedValue(v)
	}
	return driver.ErrSkip
}
