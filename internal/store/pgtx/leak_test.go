package pgtx

import (
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }
