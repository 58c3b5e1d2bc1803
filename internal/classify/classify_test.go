package classify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
)

func cancelled(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}

func TestClassify(t *testing.T) {
	t.Parallel()
	pg := func(code string) error {
		return fmt.Errorf("update people: %w", &pgconn.PgError{Code: code, Message: "m"})
	}
	badJSON := json.Unmarshal([]byte("{"), new(int))
	if _, ok := errors.AsType[*json.SyntaxError](badJSON); !ok {
		t.Fatalf("%T is not a syntax error", badJSON)
	}
	const tr, pe, re, in, lo = lifecycle.Transient, lifecycle.Permanent, lifecycle.Refused, lifecycle.Interrupted, lifecycle.LeaseLost
	background := context.Background()
	for name, tc := range map[string]struct {
		ctx  context.Context
		err  error
		want lifecycle.Class
		code string
	}{
		"unmarked":                         {background, errors.New("x"), tr, "error"},
		"marked permanent":                 {background, &classify.MarkedError{Class: pe, Code: "gone", Err: errors.New("x")}, pe, "gone"},
		"marked permanent, wrapped":        {background, fmt.Errorf("w: %w", &classify.MarkedError{Class: pe, Code: "gone"}), pe, "gone"},
		"marked transient over a SQLSTATE": {background, &classify.MarkedError{Class: tr, Err: pg("23505")}, tr, "error"},
		"marked, context cancelled":        {cancelled(classify.ErrDraining), &classify.MarkedError{Class: pe, Code: "gone"}, pe, "gone"},
		"drain":                            {cancelled(classify.ErrDraining), context.Canceled, in, "interrupted"},
		"drain seen as a driver's error":   {cancelled(classify.ErrDraining), pg("57014"), in, "interrupted"},
		"lost":                             {cancelled(classify.ErrLost), context.Canceled, lo, "lost"},
		"batch timeout":                    {cancelled(classify.ErrBatchTimeout), context.Canceled, tr, "batch_timeout"},
		"too large after the timeout":      {cancelled(classify.ErrBatchTimeout), pg("54011"), pe, "batch_too_large"},
		"too large after a shutdown":       {cancelled(classify.ErrDraining), pg("54011"), in, "interrupted"},
		"too large after the lease":        {cancelled(classify.ErrLost), pg("54011"), lo, "lost"},
		"cancelled without a cause":        {cancelled(nil), context.Canceled, in, "interrupted"},
		"own deadline of the executor":     {background, context.DeadlineExceeded, tr, "error"},
		"serialization failure":            {background, pg("40001"), tr, "database"},
		"deadlock":                         {background, pg("40P01"), tr, "database"},
		"lock not available":               {background, pg("55P03"), tr, "database"},
		"statement timeout":                {background, pg("57014"), tr, "database"},
		"admin shutdown":                   {background, pg("57P01"), tr, "database"},
		"crash shutdown":                   {background, pg("57P02"), tr, "database"},
		"starting up":                      {background, pg("57P03"), tr, "database"},
		"idle in transaction":              {background, pg("25P03"), tr, "database"},
		"read only":                        {background, pg("25006"), tr, "database"},
		"connection failure":               {background, pg("08006"), tr, "database"},
		"too many connections":             {background, pg("53300"), tr, "database"},
		"disk full":                        {background, pg("53100"), tr, "database"},
		"system error":                     {background, pg("58030"), tr, "database"},
		"unknown class":                    {background, pg("XX000"), tr, "database"},
		"division by zero":                 {background, pg("22012"), pe, "database"},
		"unique violation":                 {background, pg("23505"), pe, "database"},
		"check option of a view":           {background, pg("44000"), pe, "database"},
		"undefined column":                 {background, pg("42703"), re, "database"},
		"insufficient privilege":           {background, pg("42501"), re, "database"},
		"savepoint that does not exist":    {background, pg("3B001"), pe, "database"},
		"VACUUM in a transaction":          {background, pg("25001"), pe, "database"},
		"feature not supported":            {background, pg("0A000"), pe, "database"},
		"plan of a table that was altered": {background, &pgconn.PgError{Code: "0A000", Message: "gecachter Plan darf den Ergebnistyp nicht ändern", Routine: "RevalidateCachedQuery"}, tr, "database"},
		"schema that does not exist":       {background, pg("3F000"), re, "database"},
		"RAISE":                            {background, pg("P0001"), pe, "database"},
		"network":                          {background, &net.OpError{Op: "read", Err: io.EOF}, tr, "error"},
		"JSON":                             {background, badJSON, pe, "invalid"},
		"something else with a code of 1":  {background, codeError(1), tr, "error"},
	} {
		v := classify.Classify(tc.ctx, tc.err)
		if v.Class != tc.want || v.Code != tc.code {
			t.Errorf("%s: %s %q, want %s %q", name, v.Class, v.Code, tc.want, tc.code)
		}
	}
	if v := classify.Classify(background, &classify.MarkedError{Class: tr, After: time.Minute, Err: io.EOF}); v.After != time.Minute {
		t.Errorf("after %v, want 1m", v.After)
	}
}

// codeError has a Code method but does not belong to SQLite.
type codeError int

func (codeError) Error() string { return "code" }
func (c codeError) Code() int   { return int(c) }

func TestClean(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "plain", "a\x00b", "\xff\xfe", strings.Repeat("é", 1<<20), "\U0001F600\x00"} {
		got := classify.Clean(s)
		if !utf8.ValidString(got) || strings.ContainsRune(got, 0) || len(got) > 17<<10 {
			t.Errorf("Clean(%.20q): %d bytes, valid %v", s, len(got), utf8.ValidString(got))
		}
	}
	if got := classify.Clean("plain"); got != "plain" {
		t.Errorf("Clean changed %q", got)
	}
}

// An error belongs to an item when it is of the data, and never when it is transient,
// of the statement or of the transaction.
func TestErrorsOfItems(t *testing.T) {
	t.Parallel()
	pg := func(code string) error { return fmt.Errorf("insert: %w", &pgconn.PgError{Code: code}) }
	for err, want := range map[error]bool{
		&classify.MarkedError{Class: lifecycle.Permanent, Code: "gone"}:              true,
		&classify.MarkedError{Class: lifecycle.Permanent, Err: pg("42501")}:          true,
		&classify.MarkedError{Class: lifecycle.Transient, Err: pg("23514")}:          false,
		&classify.MarkedError{Class: lifecycle.Permanent, Code: classify.CodeMisuse}: false,
		json.Unmarshal([]byte("{"), new(int)):                                        true,
		pg("22003"):                                                                  true,
		pg("23505"):                                                                  true,
		pg("23514"):                                                                  true,
		pg("44000"):                                                                  true,
		pg("P0001"):                                                                  true,
		pg("0A000"):                                                                  false,
		pg("25001"):                                                                  false,
		pg("25P02"):                                                                  false,
		pg("3B001"):                                                                  false,
		pg("3F000"):                                                                  false,
		pg("40001"):                                                                  false,
		pg("42501"):                                                                  false,
		pg("42601"):                                                                  false,
		pg("42P01"):                                                                  false,
		pg("54000"):                                                                  false,
		pg("XX000"):                                                                  false,
		sqliteError(1):                                                               false,
		sqliteError(5):                                                               false,
		sqliteError(18):                                                              false,
		sqliteError(19):                                                              true,
		sqliteError(1811):                                                            true, // RAISE
		sqliteError(20):                                                              true,
		sqliteError(25):                                                              false,
		sqliteError(2067):                                                            true,
		errors.New("x"):                                                              false,
		classify.ErrLost:                                                             false,
	} {
		if c := classify.Classify(t.Context(), err); c.OfItem != want || c.OfItem && c.Class != lifecycle.Permanent {
			t.Errorf("%v: of an item is %v with class %s, want %v", err, c.OfItem, c.Class, want)
		}
	}
	if c := classify.Classify(cancelled(classify.ErrDraining), pg("23514")); c.OfItem {
		t.Error("an error after the end of the context belongs to an item")
	}
}
