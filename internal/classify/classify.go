package classify

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/go-playground/validator/v10"

	"taskkit.dev/internal/lifecycle"
)

// Classification is how the runtime treats an error of a task.
type Classification struct {
	Class  lifecycle.Class
	Code   string        // never empty
	After  time.Duration // retry no sooner; zero: by the backoff
	Detail string        // for operators; storable
	// TooLarge: a statement exceeded a limit of the database, so a smaller batch
	// may succeed. The same batch cannot: the class is permanent.
	TooLarge bool
	// OfItem: a value or a row was refused, so the same batch without the item that
	// caused it may succeed. The class is permanent.
	OfItem bool
	// SQLState is the SQLSTATE of a database's error; "": it has none.
	SQLState string
	// Outage: the error may be a fault of the database as a whole. It then counts as that, whatever the class is.
	Outage Outage
}

// Classify classifies an error that a batch returned under ctx. The order is: a
// [MarkedError]; the cause of a cancelled context, except that a statement which was
// too large remains so after the batch's timeout; SQLSTATE; SQLite's result code;
// decoding and validation. Everything else, including timeouts and network
// errors, is transient: the limit on attempts bounds it.
func Classify(ctx context.Context, err error) Classification {
	c := classify(ctx, err)
	c.Detail, c.SQLState = Detail(err), SQLState(err)
	if ctx.Err() == nil {
		c.Outage = OutageOf(err)
	}
	return c
}

// Detail returns an error's text for operators: storable, and without the code,
// which has a column of its own.
func Detail(err error) string {
	detail := err.Error()
	var m *MarkedError
	if errors.As(err, &m) && m.Err != nil {
		detail = strings.Replace(detail, m.Error(), m.Err.Error(), 1)
	}
	return Clean(detail)
}

func classify(ctx context.Context, err error) Classification {
	if m, ok := errors.AsType[*MarkedError](err); ok {
		return Classification{
			Class: m.Class, Code: orCode(m.Code, CodeError), After: m.After,
			OfItem: m.Class == lifecycle.Permanent && m.Code != CodeMisuse,
		}
	}
	if ctx.Err() != nil {
		switch cause := context.Cause(ctx); {
		case errors.Is(cause, ErrLost):
			return Classification{Class: lifecycle.LeaseLost, Code: CodeLost}
		case errors.Is(cause, ErrBatchTimeout):
			if LimitExceeded(err) {
				break // the same batch would be as large the next time, and as slow
			}
			return Classification{Class: lifecycle.Transient, Code: CodeBatchTimeout}
		default:
			return Classification{Class: lifecycle.Interrupted, Code: CodeInterrupted}
		}
	}
	if errors.Is(err, ErrLost) {
		return Classification{Class: lifecycle.LeaseLost, Code: CodeLost}
	}
	if AbortedTransaction(err) {
		// The statement that failed first was not reported: a new try would end
		// in the same way.
		return Classification{Class: lifecycle.Permanent, Code: CodeSpoiledTransaction}
	}
	if LimitExceeded(err) {
		return Classification{Class: lifecycle.Permanent, Code: CodeBatchTooLarge, TooLarge: true}
	}
	if m, ok := databaseMeaning(err); ok {
		return Classification{Class: m.class, Code: CodeDatabase, OfItem: m.is&data != 0}
	}
	if undecodable(err) {
		return Classification{Class: lifecycle.Permanent, Code: CodeInvalid, OfItem: true}
	}
	return Classification{Class: lifecycle.Transient, Code: CodeError}
}

// Unclassified reports whether [Classify] treats an error as transient only because it
// has no mark and no known code.
func Unclassified(ctx context.Context, err error) bool {
	_, marked := errors.AsType[*MarkedError](err)
	return !marked && classify(ctx, err).Code == CodeError
}

func orCode(code, otherwise string) string {
	if code == "" {
		return otherwise
	}
	return Clean(code)
}

// undecodable reports whether err is caused by JSON that does not fit its type, or by
// a value that breaks its rules.
func undecodable(err error) bool {
	var (
		syntax  *json.SyntaxError
		typ     *json.UnmarshalTypeError
		syntax2 *jsontext.SyntacticError
		invalid validator.ValidationErrors
	)
	return errors.As(err, &syntax) || errors.As(err, &typ) || errors.As(err, &syntax2) || errors.As(err, &invalid)
}
