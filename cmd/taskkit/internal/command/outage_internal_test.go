package command

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"taskkit.dev/cmd/taskkit/internal/screen"
)

// An outage is reported once when it begins and once when it ends, and a message about
// the task mentions it in between.
func TestOutage(t *testing.T) {
	t.Parallel()
	f, err := os.Create(filepath.Join(t.TempDir(), "err"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	o := outage{screen: screen.New(f), of: "the database"}
	for _, c := range []struct {
		err     error
		changes bool
		suffix  string
	}{
		{nil, false, ""},
		{errors.New("connection refused"), true, "; the database has not been reachable since "},
		{errors.New("connection reset"), false, "; the database has not been reachable since "},
		{nil, true, ""},
		{nil, false, ""},
	} {
		changes := o.changes(c.err)
		o.report(c.err)
		if changes != c.changes || !strings.HasPrefix(o.suffix(), c.suffix) || (o.suffix() == "") != (c.suffix == "") {
			t.Errorf("%v: changes %t, suffix %q; want %t, %q", c.err, changes, o.suffix(), c.changes, c.suffix)
		}
	}
	text, err := os.ReadFile(f.Name())
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if err != nil || len(lines) != 2 || !strings.HasSuffix(lines[0], "): connection refused; trying again") ||
		!strings.HasPrefix(lines[1], "reached the database again after ") {
		t.Errorf("got %q (%v)", lines, err)
	}
}
