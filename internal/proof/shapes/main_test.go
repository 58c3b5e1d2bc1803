// Package shapes_test runs each feature of a task over each shape of one kind, and compares what is seen.
package shapes_test

import (
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }
