package testdb

import (
	"testing"

	"go.uber.org/goleak"
)

// LeakMain runs a package's tests and fails when goroutines are left at the
// end. It is the whole of a TestMain:
//
//	func TestMain(m *testing.M) { testdb.LeakMain(m) }
//
// It looks once, after all tests, because a look at the end of one test would
// see the goroutines of those that run beside it. This package leaves none.
func LeakMain(m *testing.M, opts ...goleak.Option) {
	goleak.VerifyTestMain(m, opts...)
}
