package errclass

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-playground/validator/v10"
)

// Verdict is the judgement on an error.
type Verdict struct {
	Class  Class
	Code   string        // never empty
	After  time.Duration // zero: by the backoff
	Detail string        // for operators; storable
}

// Judge classifies an error that came out of a batch run under ctx. The order
// is: marks; the cause of a cancelled context; SQLSTATE; SQLite's result code;
// decoding and validation. Everything else, timeouts and network errors among
// it, is transient: the budget bounds it.
func Judge(ctx context.Context, err error) Verdict {
	v := judge(ctx, err)
	v.Detail = Detail(err)
	return v
}

// Detail returns an error's text for operators, storable and without the code,
// which has a place of its own.
func Detail(err error) string {
	detail := err.Error()
	var m *Mark
	if errors.As(err, &m) && m.Err != nil {
		detail = strings.Replace(detail, m.Error(), m.Err.Error(), 1)
	}
	return Clean(detail)
}

func judge(ctx context.Context, err error) Verdict {
	if m, ok := errors.AsType[*Mark](err); ok {
		return Verdict{Class: m.Class, Code: orCode(m.Code, CodeError), After: m.After}
	}
	if ctx.Err() != nil {
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, ErrLost):
			return Verdict{Class: Lost, Code: "lost"}
		case errors.Is(cause, ErrBatchTimeout):
			return Verdict{Class: Transient, Code: CodeBatchTimeout}
		default:
			return Verdict{Class: Interrupted, Code: "interrupted"}
		}
	}
	if errors.Is(err, ErrLost) {
		return Verdict{Class: Lost, Code: "lost"}
	}
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return Verdict{Class: sqlState(state.SQLState()), Code: CodeDatabase}
	}
	if c, ok := sqliteCode(err); ok {
		return Verdict{Class: c, Code: CodeDatabase}
	}
	if undecodable(err) {
		return Verdict{Class: Permanent, Code: CodeInvalid}
	}
	return Verdict{Class: Transient, Code: CodeError}
}

func orCode(code, otherwise string) string {
	if code == "" {
		return otherwise
	}
	return Clean(code)
}

// states is the error table of PostgreSQL: a code or a class of two characters
// to what it means. What it does not name is transient.
var states = map[string]Class{
	"40001": Transient, // serialization failure
	"40P01": Transient, // deadlock
	"55P03": Transient, // lock not available
	"57014": Transient, // statement cancelled, by its timeout too
	"57P01": Transient, // admin shutdown
	"57P02": Transient, // crash shutdown
	"57P03": Transient, // cannot connect now
	"25P03": Transient, // idle in transaction for too long
	"25006": Transient, // read-only: a standby, about to be promoted
	"08":    Transient, // connection
	"53":    Transient, // resources
	"58":    Transient, // system
	"22":    Permanent, // data
	"23":    Permanent, // integrity
	"42":    Permanent, // syntax, access, undefined objects
}

func sqlState(code string) Class {
	if c, ok := states[code]; ok {
		return c
	}
	if len(code) >= 2 {
		if c, ok := states[code[:2]]; ok {
			return c
		}
	}
	return Transient
}

// results is the error table of SQLite, by primary result code.
var results = map[int]Class{
	1:  Permanent, // ERROR: the statement is wrong
	5:  Transient, // BUSY
	6:  Transient, // LOCKED
	7:  Transient, // NOMEM
	9:  Transient, // INTERRUPT
	10: Transient, // IOERR
	13: Transient, // FULL
	14: Transient, // CANTOPEN
	18: Permanent, // TOOBIG
	19: Permanent, // CONSTRAINT
	20: Permanent, // MISMATCH
	25: Permanent, // RANGE
}

// sqliteCode finds the result code of an SQLite driver's error. A method
// Code() int is common among other libraries, so the type's package must say
// sqlite as well.
func sqliteCode(err error) (Class, bool) {
	var c interface {
		error
		Code() int
	}
	if !errors.As(err, &c) || !strings.Contains(fmt.Sprintf("%T", c), "sqlite") {
		return "", false
	}
	if class, ok := results[c.Code()&0xff]; ok {
		return class, true
	}
	return Transient, true
}

func undecodable(err error) bool {
	var (
		syntax  *json.SyntaxError
		typ     *json.UnmarshalTypeError
		syntax2 *jsontext.SyntacticError
		invalid validator.ValidationErrors
	)
	return errors.As(err, &syntax) || errors.As(err, &typ) || errors.As(err, &syntax2) || errors.As(err, &invalid)
}
