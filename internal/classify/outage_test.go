package classify_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"taskkit.dev/internal/classify"
	"taskkit.dev/internal/lifecycle"
)

// An error of an executor's statement is suspected to be an outage only if no executor causes it often. A pooler in the wrong mode
// refuses any statement that was prepared by name, the executor's too.
func TestOutageOf(t *testing.T) {
	t.Parallel()
	code := func(state string) error { return &pgconn.PgError{Code: state} }
	for name, c := range map[string]struct {
		err  error
		want classify.Outage
	}{
		"none":                                  {nil, classify.NoOutage},
		"own error":                             {errors.New("own"), classify.NoOutage},
		"read-only":                             {code("25006"), classify.SuspectedOutage},
		"too many connections":                  {code("53300"), classify.SuspectedOutage},
		"prepared statement exists":             {code("42P05"), classify.SuspectedOutage},
		"no prepared statement":                 {code("26000"), classify.SuspectedOutage},
		"no right":                              {code("42501"), classify.NoOutage},
		"duplicate key":                         {code("23505"), classify.NoOutage},
		"marked":                                {&classify.MarkedError{Class: lifecycle.Permanent, Code: "mine", Err: code("42P05")}, classify.NoOutage},
		"of the runtime, prepared statement":    {classify.OfRuntime(code("42P05")), classify.CertainOutage},
		"of the runtime, no right":              {classify.OfRuntime(code("42501")), classify.CertainOutage},
		"of the runtime, in the executor's own": {classify.OfShared(code("42501")), classify.SuspectedOutage},
	} {
		if got := classify.OutageOf(c.err); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
