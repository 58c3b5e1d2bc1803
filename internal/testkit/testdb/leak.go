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
// It checks once, after all tests: a check at the end of one test would find the
// goroutines of parallel tests. This package leaves none. Databases that were lent end before, see [Lender].
func LeakMain(m *testing.M, opts ...goleak.Option) {
	goleak.VerifyTestMain(tests{m}, opts...)
}

// tests are the tests of a process.
type tests struct{ *testing.M }

// Run implements [goleak.TestingM].
func (t tests) Run() int {
	defer endLenders()
	return t.M.Run()
}
