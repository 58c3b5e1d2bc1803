package dbstore_test

import (
	"path/filepath"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

// TestExecModes makes each call once in each mode of pgx that describes a statement to learn its types,
// as the default cache_statement does. TestConformance has the modes that differ more.
func TestExecModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"cache_describe", "describe_exec"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			db := testdb.Postgres(t, testdb.ExecMode(mode))
			compareStatements(t, filepath.Join(goldenDir, db.Short()), callAll(t, db))
		})
	}
}
