package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"runs": 0o700, "does-not": 0o600} {
		if err := os.WriteFile(filepath.Join(dir, "taskkit-"+name), nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"taskkit-runs":     filepath.Join(dir, "taskkit-runs"),
		"taskkit-does-not": "",
		"taskkit-absent":   "",
	} {
		p := program{name: name, dirs: func(context.Context) []string { return []string{"/nowhere", dir} }}
		if got := p.find(t.Context()); got != want {
			t.Errorf("find(%s) is %q, want %q", name, got, want)
		}
	}
}

func TestMissingSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for _, p := range []program{postgres, pgbouncer} {
		for _, cause := range []error{nil, errors.New("the network is down")} {
			got := p.missing(t.Context(), cause).Error()
			for _, want := range []string{p.name, "apt-get install", "dnf install", "apk add", "brew install"} {
				if !strings.Contains(got, want) {
					t.Errorf("the error %q does not name %q", got, want)
				}
			}
			if cause != nil && !errors.Is(p.missing(t.Context(), cause), cause) {
				t.Errorf("the error %q does not wrap its cause", got)
			}
		}
	}
}
