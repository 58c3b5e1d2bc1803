package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// program is something that a server needs from the system.
type program struct {
	name     string                         // the binary
	first    []string                       // where it is looked for before the PATH
	dirs     func(context.Context) []string // where it may lie besides the PATH, best first
	packages map[string][]string            // package manager to the packages that have it
	unpack   string                         // the package of Debian that is unpacked and not installed; "": none
}

// postgres stands for all of PostgreSQL's server programs: they lie together.
var postgres = program{
	name: "initdb",
	dirs: postgresDirs,
	packages: map[string][]string{
		"apt-get": {"postgresql"},
		"dnf":     {"postgresql-server"},
		"apk":     {"postgresql", "postgresql-client"},
		"brew":    {"postgresql@17"},
	},
}

var pgbouncer = program{
	name: "pgbouncer",
	dirs: func(context.Context) []string {
		return []string{"/usr/sbin", "/usr/local/sbin", "/usr/local/bin", "/opt/homebrew/bin"}
	},
	packages: map[string][]string{
		"apt-get": {"pgbouncer"},
		"dnf":     {"pgbouncer"},
		"apk":     {"pgbouncer"},
		"brew":    {"pgbouncer"},
	},
}

// installers are the package managers that root may call, with the commands
// that come before the names of the packages.
var installers = []struct {
	manager string
	steps   [][]string
}{
	{"apt-get", [][]string{
		{"apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", "update"},
		{"apt-get", "-q", "-y", "-o", "DPkg::Lock::Timeout=300", "install", "--no-install-recommends"},
	}},
	{"dnf", [][]string{{"dnf", "-q", "-y", "install"}}},
	{"apk", [][]string{{"apk", "add", "-q"}}},
}

// postgresDirs lists where Debian, Fedora, Alpine, Homebrew, Postgres.app and
// an installation of one's own keep the server's programs.
func postgresDirs(ctx context.Context) []string {
	var dirs []string
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{
		"/usr/lib/postgresql/*/bin",
		"/usr/libexec/postgresql*",
		"/usr/pgsql-*/bin",
		"/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin",
		"/usr/local/pgsql/bin",
		"/Applications/Postgres.app/Contents/Versions/*/bin",
	} {
		// The pattern is a constant: it cannot be malformed.
		found, _ := filepath.Glob(pattern)
		slices.Sort(found)
		slices.Reverse(found) // a newer version first, by the sort of names
		dirs = append(dirs, found...)
	}
	return dirs
}

// find returns the path of the program, or "" when it is not there.
func (p program) find(ctx context.Context) string {
	if path := p.in(p.first); path != "" {
		return path
	}
	if path, err := exec.LookPath(p.name); err == nil {
		return path
	}
	return p.in(p.dirs(ctx))
}

// in returns the path of the program in the first of these directories that has it, or "".
func (p program) in(dirs []string) string {
	for _, dir := range dirs {
		path := filepath.Join(dir, p.name)
		if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// NotInstalledError: a program is not on this machine and could not be installed on it. Tests skip
// with it what they cannot do without the program.
type NotInstalledError struct {
	Program  string
	LookedIn []string            // besides the PATH
	Packages map[string][]string // package manager to the packages that have it
	Err      error               // why it was not installed
}

func (e *NotInstalledError) Error() string {
	var with []string
	for _, manager := range slices.Sorted(maps.Keys(e.Packages)) {
		command := manager + " install "
		if manager == "apk" {
			command = "apk add "
		}
		with = append(with, command+strings.Join(e.Packages[manager], " "))
	}
	return fmt.Sprintf("the tests need %s, which is not installed (looked in PATH and %s): %v; install it with one of: %s",
		e.Program, strings.Join(e.LookedIn, ", "), e.Err, strings.Join(with, "; "))
}

func (e *NotInstalledError) Unwrap() error { return e.Err }

// missing returns the error of a program that is not installed, and why not.
func (p program) missing(ctx context.Context, err error) error {
	return &NotInstalledError{Program: p.name, LookedIn: p.dirs(ctx), Packages: p.packages, Err: err}
}

// ensure returns the path of the program and installs it first when it is
// missing and this process may. If it cannot be installed the error is a *[NotInstalledError].
func (p program) ensure(ctx context.Context) (string, error) {
	if path := p.find(ctx); path != "" {
		return path, nil
	}
	install := p.install
	if p.unpacks() {
		install = func(ctx context.Context) error { return unpackDebian(ctx, p.unpack) }
	} else if os.Geteuid() != 0 {
		return "", p.missing(ctx, errors.New("only root installs packages here"))
	}
	var path string
	err := locked(filepath.Join(os.TempDir(), "taskkit-install.lock"), func() error {
		if path = p.find(ctx); path != "" { // another process was faster
			return nil
		}
		if err := install(ctx); err != nil {
			if ctx.Err() != nil { // nobody knows whether it could be installed
				return fmt.Errorf("install %s: %w", p.name, errors.Join(context.Cause(ctx), err))
			}
			return p.missing(ctx, err)
		}
		if path = p.find(ctx); path == "" {
			return fmt.Errorf("%s is in none of PATH and %s, although its packages were installed: add its directory to install.go",
				p.name, strings.Join(p.dirs(ctx), ", "))
		}
		return nil
	})
	return path, err
}

// install installs the program's packages with the first package manager there
// is.
func (p program) install(ctx context.Context) error {
	for _, in := range installers {
		if _, err := exec.LookPath(in.manager); err != nil {
			continue
		}
		if len(p.packages[in.manager]) == 0 {
			return fmt.Errorf("%s has no package of it", in.manager)
		}
		for i, step := range in.steps {
			args := slices.Clone(step)
			if i == len(in.steps)-1 {
				args = append(args, p.packages[in.manager]...)
			}
			cmd := exec.CommandContext(ctx, args[0], args[1:]...)
			cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("run %q: %w\n%s", strings.Join(args, " "), err, out)
			}
		}
		return nil
	}
	return errors.New("found none of apt-get, dnf and apk to install it with")
}

// spin and compiler are what the protocol's model is checked with.
var (
	spin = program{
		name: "spin", dirs: func(context.Context) []string { return nil },
		packages: map[string][]string{"apt-get": {"spin"}, "dnf": {"spin"}, "apk": {"spin"}, "brew": {"spin"}},
	}
	compiler = program{
		name: "gcc", dirs: func(context.Context) []string { return nil },
		packages: map[string][]string{
			"apt-get": {"gcc", "libc6-dev"}, "dnf": {"gcc"}, "apk": {"gcc", "musl-dev"}, "brew": {"gcc"},
		},
	}
)

// ModelChecker returns the paths of spin and of the C compiler that its checkers
// are built with, and installs them first when they are missing and this process
// may.
func ModelChecker(ctx context.Context) (spinPath, gccPath string, err error) {
	if spinPath, err = spin.ensure(ctx); err != nil {
		return "", "", err
	}
	gccPath, err = compiler.ensure(ctx)
	return spinPath, gccPath, err
}
