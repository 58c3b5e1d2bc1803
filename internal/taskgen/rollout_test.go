package taskgen_test

import (
	"fmt"
	"testing"

	"taskkit.dev/internal/taskgen"
)

// TestRolloutIsCurrent: the four releases of one program, whose story is told in
// taskkit's tests, are generated each with the lock file of the one before.
func TestRolloutIsCurrent(t *testing.T) {
	t.Parallel()
	for v := 1; v <= 4; v++ {
		o := taskgen.Options{
			Dir: fmt.Sprintf("../../taskkit/testdata/rollout/v%d", v), Patterns: []string{"."},
		}
		if v > 1 {
			o.Base = fmt.Sprintf("../v%d/tasks.lock", v-1)
		}
		isCurrent(t, o)
	}
}
