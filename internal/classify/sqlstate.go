package classify

import "errors"

// sqliteStates are the SQLSTATEs of PostgreSQL that mean the same as an extended result code of SQLite.
var sqliteStates = map[int]string{
	275:  "23514", // CONSTRAINT_CHECK
	787:  "23503", // CONSTRAINT_FOREIGNKEY
	1299: "23502", // CONSTRAINT_NOTNULL
	1555: "23505", // CONSTRAINT_PRIMARYKEY
	2067: "23505", // CONSTRAINT_UNIQUE
}

// SQLState returns the SQLSTATE of a database's error; "" if it has none.
func SQLState(err error) string {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState()
	}
	if _, ok := sqliteMeaning(err); !ok {
		return ""
	}
	var c interface {
		error
		Code() int
	}
	errors.As(err, &c)
	return sqliteStates[c.Code()]
}
