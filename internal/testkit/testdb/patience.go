package testdb

import (
	"context"
	"os"
	"testing"
	"time"
)

// PatienceEnv shortens [Patience]: a duration, as 15s. The runs of the mutants set
// it, in which what is waited for does not happen.
const PatienceEnv = "TASKKIT_TEST_PATIENCE"

// Patience returns how long a test waits for what must happen: 5 minutes, which is
// enough on a machine that has much else to do.
func Patience(tb testing.TB) time.Duration {
	tb.Helper()
	s := os.Getenv(PatienceEnv)
	if s == "" {
		return 5 * time.Minute
	}
	d, err := time.ParseDuration(s)
	if err != nil {
		tb.Fatalf("read %s, which must be a duration as 15s: %v", PatienceEnv, err)
	}
	return d
}

// Within returns the test's context, which also ends after [Patience].
func Within(tb testing.TB) context.Context {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), Patience(tb))
	tb.Cleanup(cancel)
	return ctx
}
