package prove_test

import (
	"fmt"
	"testing"
	"time"

	"taskkit.dev/internal/proof/prove"
)

func TestBudget(t *testing.T) {
	t.Setenv(prove.BudgetEnv, "")
	if d, long := prove.Budget(t); long {
		t.Errorf("a budget of %v out of nothing", d)
	}
	t.Setenv(prove.BudgetEnv, "90s")
	if d, long := prove.Budget(t); !long || d != 90*time.Second {
		t.Errorf("a budget of %v, %t, want 90 s", d, long)
	}
	for _, s := range []string{"20", "-1s", "0s"} {
		t.Setenv(prove.BudgetEnv, s)
		f := &fatal{T: t}
		prove.Budget(f)
		if f.said == "" {
			t.Errorf("a budget of %q is accepted", s)
		}
	}
}

// fatal is a test that notes why it would have ended.
type fatal struct {
	*testing.T
	said string
}

func (f *fatal) Fatalf(format string, args ...any) { f.said = fmt.Sprintf(format, args...) }
func (f *fatal) Errorf(format string, args ...any) { f.said = fmt.Sprintf(format, args...) }

func TestRecord(t *testing.T) {
	dir := t.TempDir() + "/new"
	t.Setenv(prove.OutEnv, dir)
	prove.Record(t, "kills", map[string]any{"kills": 7})
	prove.Record(t, "kills", map[string]any{"kills": 8, "violations": 0})
	got, err := prove.Read(dir)
	if err != nil || len(got) != 1 {
		t.Fatalf("read %v, %v", got, err)
	}
	c := got["kills"]
	if c.Test != t.Name() || c.Failed || time.Since(c.Date) > time.Minute || fmt.Sprint(c.Counts) != "map[kills:8 violations:0]" {
		t.Errorf("read %+v", c)
	}
	for _, name := range []string{"", "a/b", "../x", "A"} {
		f := &fatal{T: t}
		prove.Record(f, name, nil)
		if f.said == "" {
			t.Errorf("the name %q is accepted", name)
		}
	}
	t.Setenv(prove.OutEnv, "")
	prove.Record(t, "nowhere", nil)
	if got, err := prove.Read(dir); err != nil || len(got) != 1 {
		t.Errorf("read %v, %v", got, err)
	}
}
