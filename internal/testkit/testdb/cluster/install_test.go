package cluster

import (
	"context"
	"errors"
	"fmt"
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

// A program that cannot be installed is an error of a type of its own, which says what to do.
func TestNotInstalled(t *testing.T) {
	t.Parallel()
	for _, p := range []program{postgres, pgbouncer, rabbitmq, natsServer} {
		cause := errors.New("the network is down")
		err := fmt.Errorf("start it: %w", p.missing(t.Context(), cause))
		if e, ok := errors.AsType[*NotInstalledError](err); !ok || e.Program != p.name || !errors.Is(err, cause) {
			t.Errorf("got %v, want a *NotInstalledError of %s that wraps its cause", err, p.name)
		}
		for manager, packages := range p.packages {
			for _, want := range append(packages, manager, p.name, cause.Error()) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("the error %q does not name %q", err, want)
				}
			}
		}
	}
}

// Without a package it cannot be installed; that the context has ended says nothing of that.
func TestEnsure(t *testing.T) {
	t.Parallel()
	absent := program{name: "taskkit-absent", dirs: func(context.Context) []string { return nil }}
	_, err := absent.ensure(t.Context())
	if _, ok := errors.AsType[*NotInstalledError](err); !ok {
		t.Errorf("got %v, want a *NotInstalledError", err)
	}
	if os.Geteuid() != 0 {
		t.Skip("only root installs packages")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = absent.ensure(ended)
	if _, ok := errors.AsType[*NotInstalledError](err); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context was canceled", err)
	}
}

// The environment can name the programs of another version.
func TestFindInitdb(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(PostgresBinEnv, dir)
	if _, err := findInitdb(t.Context()); err == nil || !strings.Contains(err.Error(), PostgresBinEnv) {
		t.Errorf("got %v, want an error that names the variable", err)
	}
	want := filepath.Join(dir, "initdb")
	if err := os.WriteFile(want, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	if got, err := findInitdb(t.Context()); err != nil || got != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
}
