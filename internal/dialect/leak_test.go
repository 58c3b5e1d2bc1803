package dialect_test

import (
	"testing"

	"taskkit.dev/internal/testdb"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }
