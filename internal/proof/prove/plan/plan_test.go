package plan_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"taskkit.dev/internal/proof/prove/plan"
)

// The shares are the whole, and every step is of a package that there is.
func TestSteps(t *testing.T) {
	t.Parallel()
	sum, names := 0, make(map[string]bool)
	for _, s := range plan.Steps() {
		sum += s.Share
		if names[s.Name] || s.Name == "" || s.Run == "" || s.Proves == "" || len(s.Records) == 0 {
			t.Errorf("step %+v lacks something, or is there twice", s)
		}
		names[s.Name] = true
		if files, err := filepath.Glob(filepath.Join("../..", s.Package, "*_test.go")); err != nil || len(files) == 0 {
			t.Errorf("step %s: package %s has no tests (%v)", s.Name, s.Package, err)
		}
		if _, err := os.Stat(filepath.Join("../..", s.Package)); err != nil {
			t.Error(err)
		}
	}
	if sum != 100 {
		t.Errorf("the shares are %d percent", sum)
	}
	if got := (plan.Step{Share: 25}).Budget(20 * time.Minute); got != 5*time.Minute {
		t.Errorf("a quarter of 20 minutes is %v", got)
	}
}
