package classify

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"taskkit.dev/internal/lifecycle"
)

// condition is a set of bits with the properties of a database's error code other than
// its class.
type condition uint16

const (
	busy               condition = 1 << iota // another transaction holds the lock
	conflict                                 // a concurrent transaction won; the same transaction may succeed later
	uniqueViolation                          // a unique index or primary key refused a row
	alreadyExists                            // CREATE found an object of that name
	undefinedTable                           // the statement names a table that does not exist
	undefinedColumn                          // the statement names a column that does not exist
	abortedTransaction                       // an earlier statement of the transaction failed
	limitExceeded                            // the statement is larger than the database allows
	lostConnection                           // the session has ended or cannot be started
	refusedLogin                             // the role, its password or the database does not exist or is not accepted
	data                                     // a value or a row was refused, not the statement: with other data it may succeed
	unserviceable                            // the database takes no writes or no connections: mostly no statement's own fault
	preparedStatement                        // a prepared statement is on another session, as through a pooler
)

// meaning is an entry of the tables of codes.
type meaning struct {
	class lifecycle.Class
	is    condition
}

// sqlStates is the table of PostgreSQL's error codes: a SQLSTATE of five
// characters, or its class of two, to its meaning. A full code takes precedence
// over its class. Codes that are not listed are transient.
var sqlStates = map[string]meaning{
	"08":    {lifecycle.Transient, lostConnection}, // connection exception
	"0A":    {lifecycle.Permanent, 0},              // feature not supported; see replannedStatement
	"22":    {lifecycle.Permanent, data},           // data exception
	"23":    {lifecycle.Permanent, data},           // integrity constraint violation
	"23505": {lifecycle.Permanent, data | uniqueViolation},
	"25001": {lifecycle.Permanent, 0},                  // active SQL transaction: VACUUM within one
	"25006": {lifecycle.Transient, unserviceable},      // read-only transaction: a standby that is about to be promoted
	"25P02": {lifecycle.Permanent, abortedTransaction}, // in failed SQL transaction
	"25P03": {lifecycle.Transient, lostConnection},     // idle in transaction session timeout
	"26000": {lifecycle.Transient, preparedStatement},  // a prepared statement that does not exist
	"28":    {lifecycle.Transient, refusedLogin},       // invalid authorization: a password may be about to change
	"3B":    {lifecycle.Permanent, 0},                  // savepoint exception
	"3D":    {lifecycle.Transient, refusedLogin},       // invalid catalog name: no such database
	"3F":    {lifecycle.Refused, 0},                    // invalid schema name
	"40001": {lifecycle.Transient, conflict},           // serialization failure
	"40P01": {lifecycle.Transient, conflict},           // deadlock detected
	"42":    {lifecycle.Refused, 0},                    // syntax error, access rule violation, undefined object
	"42703": {lifecycle.Refused, undefinedColumn},
	"42P01": {lifecycle.Refused, undefinedTable},
	"42P05": {lifecycle.Transient, preparedStatement},              // a prepared statement that exists
	"42P06": {lifecycle.Refused, alreadyExists},                    // duplicate schema
	"42P07": {lifecycle.Refused, alreadyExists},                    // duplicate table
	"42710": {lifecycle.Refused, alreadyExists},                    // duplicate object
	"44":    {lifecycle.Permanent, data},                           // WITH CHECK OPTION of a view refused the row
	"53":    {lifecycle.Transient, unserviceable},                  // insufficient resources: disk full, too many connections
	"53400": {lifecycle.Transient, 0},                              // a limit of the configuration, such as temp_file_limit
	"54":    {lifecycle.Permanent, limitExceeded},                  // program limit exceeded
	"55P03": {lifecycle.Transient, busy},                           // lock not available
	"57014": {lifecycle.Transient, 0},                              // query cancelled, by statement_timeout too
	"57P01": {lifecycle.Transient, lostConnection | unserviceable}, // admin shutdown
	"57P02": {lifecycle.Transient, lostConnection | unserviceable}, // crash shutdown
	"57P03": {lifecycle.Transient, lostConnection | unserviceable}, // cannot connect now
	"57P05": {lifecycle.Transient, lostConnection},                 // idle session timeout
	"58":    {lifecycle.Transient, unserviceable},                  // system error
	"P0001": {lifecycle.Permanent, data},                           // RAISE: a rule of the user's, as in a trigger
}

// replannedStatement is the routine of the server that reports 0A000 after another session's
// ALTER TABLE has changed the result of a prepared statement. Drivers prepare the statement
// again the next time. The text of the error depends on the server's language.
const replannedStatement = "RevalidateCachedQuery"

// sqliteResults is the table of SQLite's result codes: an extended code, or its
// primary code (the low eight bits), to its meaning. An extended code takes
// precedence. Codes that are not listed are transient.
var sqliteResults = map[int]meaning{
	1:    {lifecycle.Permanent, 0},                      // ERROR: the statement is wrong; see sqliteMessages
	5:    {lifecycle.Transient, busy},                   // BUSY
	6:    {lifecycle.Transient, busy},                   // LOCKED
	7:    {lifecycle.Transient, 0},                      // NOMEM
	8:    {lifecycle.Transient, unserviceable},          // READONLY
	9:    {lifecycle.Transient, 0},                      // INTERRUPT
	10:   {lifecycle.Transient, unserviceable},          // IOERR
	13:   {lifecycle.Transient, unserviceable},          // FULL
	14:   {lifecycle.Transient, unserviceable},          // CANTOPEN
	18:   {lifecycle.Permanent, limitExceeded},          // TOOBIG
	19:   {lifecycle.Permanent, data},                   // CONSTRAINT
	20:   {lifecycle.Permanent, data},                   // MISMATCH
	25:   {lifecycle.Permanent, 0},                      // RANGE
	1555: {lifecycle.Permanent, data | uniqueViolation}, // CONSTRAINT_PRIMARYKEY
	2067: {lifecycle.Permanent, data | uniqueViolation}, // CONSTRAINT_UNIQUE
}

// sqliteMessages are the errors that SQLite reports as a plain ERROR and
// distinguishes by their text only.
var sqliteMessages = []struct {
	text string
	meaning
}{
	{"no such table", meaning{lifecycle.Refused, undefinedTable}},
	{"no such column", meaning{lifecycle.Refused, undefinedColumn}},
	{"has no column named", meaning{lifecycle.Refused, undefinedColumn}},
	{"no such function", meaning{lifecycle.Refused, 0}},
	{"unknown database", meaning{lifecycle.Refused, 0}},
	{"syntax error", meaning{lifecycle.Refused, 0}},
	{"too many SQL variables", meaning{lifecycle.Permanent, limitExceeded}},
	{"variable number must be between", meaning{lifecycle.Permanent, limitExceeded}},
	// Errors of SQL functions about their arguments, which have class 22 on PostgreSQL.
	{"integer overflow", meaning{lifecycle.Permanent, data}},
	{"malformed JSON", meaning{lifecycle.Permanent, data}},
	{"JSON cannot hold BLOB values", meaning{lifecycle.Permanent, data}},
	{"bad JSON path", meaning{lifecycle.Permanent, data}},
	{"ESCAPE expression must be a single character", meaning{lifecycle.Permanent, data}},
}

// tooManyParameters are the texts of pgx and lib/pq for a statement whose
// parameters the protocol cannot number. It never reaches the server and has no
// SQLSTATE.
var tooManyParameters = []string{"extended protocol limited to", "parameters but PostgreSQL only supports"}

// UniqueViolation reports whether a unique index or a primary key has refused a row.
func UniqueViolation(err error) bool { return is(err, uniqueViolation) }

// UndefinedTable reports whether a statement failed because a table that it
// names does not exist.
func UndefinedTable(err error) bool { return is(err, undefinedTable) }

// UndefinedColumn reports whether a statement failed because a column that it
// names does not exist.
func UndefinedColumn(err error) bool { return is(err, undefinedColumn) }

// Busy reports whether another transaction holds the lock that a statement
// needs, so that the same statement can succeed later.
func Busy(err error) bool { return is(err, busy) }

// AbortedTransaction reports whether a statement was refused because an earlier
// one of its transaction had failed. The earlier error is the one to report.
func AbortedTransaction(err error) bool { return is(err, abortedTransaction) }

// LacksRight reports whether PostgreSQL refused a statement to a role that lacks a right.
func LacksRight(err error) bool {
	var state interface{ SQLState() string }
	return errors.As(err, &state) && state.SQLState() == "42501"
}

// OfSQLite reports whether err is an error of SQLite.
func OfSQLite(err error) bool {
	_, ok := sqliteMeaning(err)
	return ok
}

// LimitExceeded reports whether a statement was larger than the database allows:
// too many parameters, usually.
func LimitExceeded(err error) bool {
	if err == nil || is(err, limitExceeded) {
		return err != nil
	}
	text := err.Error()
	return slices.ContainsFunc(tooManyParameters, func(s string) bool { return strings.Contains(text, s) })
}

// ConcurrentMigration reports whether err can be the effect of another process that
// migrates the same schema at the same time.
func ConcurrentMigration(err error) bool {
	return is(err, busy|conflict|uniqueViolation|alreadyExists)
}

// LostConnection reports whether the connection has ended or could not be made,
// so that the statement needs another one.
func LostConnection(err error) bool {
	if is(err, lostConnection) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return true
	}
	_, network := errors.AsType[net.Error](err)
	return network
}

// DatabaseError reports whether the database has answered a statement with err, which
// then had no effect. It is false for a lost connection.
func DatabaseError(err error) bool {
	_, ok := databaseMeaning(err)
	return ok && !LostConnection(err)
}

// TransientDatabase reports whether the database or the connection to it failed in
// a way that passes, so that the same statement can succeed later. Unlike
// [Classify] it does not treat unknown errors as transient, nor a refused login, which
// an operator has to correct.
func TransientDatabase(err error) bool {
	m, ok := databaseMeaning(err)
	return ok && m.class == lifecycle.Transient && m.is&refusedLogin == 0 || LostConnection(err)
}

func is(err error, c condition) bool {
	m, ok := databaseMeaning(err)
	return ok && m.is&c != 0
}

// databaseMeaning finds the code of a database's error and returns its meaning;
// false when the error has none.
func databaseMeaning(err error) (meaning, bool) {
	if err == nil {
		return meaning{}, false
	}
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		m := sqlStateMeaning(state.SQLState())
		if pg, ok := state.(*pgconn.PgError); ok && pg.Code == "0A000" && pg.Routine == replannedStatement {
			m.class = lifecycle.Transient
		}
		return m, true
	}
	return sqliteMeaning(err)
}

func sqlStateMeaning(code string) meaning {
	if m, ok := sqlStates[code]; ok {
		return m
	}
	if len(code) >= 2 {
		if m, ok := sqlStates[code[:2]]; ok {
			return m
		}
	}
	return meaning{class: lifecycle.Transient}
}

// sqliteMeaning reads the result code of an SQLite driver's error. A method
// Code() int is common in other libraries, so the package of the type must have
// sqlite in its name.
func sqliteMeaning(err error) (meaning, bool) {
	var c interface {
		error
		Code() int
	}
	if !errors.As(err, &c) || !strings.Contains(fmt.Sprintf("%T", c), "sqlite") {
		return meaning{}, false
	}
	m, ok := sqliteResults[c.Code()]
	if !ok {
		m, ok = sqliteResults[c.Code()&0xff]
	}
	if !ok {
		return meaning{class: lifecycle.Transient}, true
	}
	if c.Code() == 1 {
		for _, known := range sqliteMessages {
			if strings.Contains(c.Error(), known.text) {
				m = known.meaning
			}
		}
	}
	return m, true
}
