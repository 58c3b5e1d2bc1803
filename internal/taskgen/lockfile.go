package taskgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"taskkit.dev/internal/taskgen/lock"
	"taskkit.dev/internal/taskgen/model"
)

// readLock reads the lock file to compare with. A missing one is an empty history
// only when nothing shows that there was one. When the branch of -base has none yet,
// the one in the work tree is compared with, and o.Base is cleared.
func readLock(ctx context.Context, dir, out string, o *Options) (*lock.Lock, []model.Diagnostic, error) {
	file := absolute(dir, o.Lock)
	if ref, ok := strings.CutPrefix(o.Base, "git:"); ok {
		before, wrong, found := readBranch(ctx, dir, file, ref)
		if found {
			return before, wrong, nil
		}
		o.Base = ""
	}
	if o.Base != "" {
		file = absolute(dir, o.Base)
	}
	shown := relative(dir, file)
	data, err := os.ReadFile(file)
	switch {
	case err == nil && o.NewLock:
		return nil, []model.Diagnostic{{
			Message: "-newlock begins a new lock file, but there is " + shown,
			Remedy:  "drop -newlock; or remove the file, if no task of its kinds is stored anywhere",
		}}, nil
	case err == nil:
		before, damage := lock.Read(data)
		if damage == nil {
			return before, nil, nil
		}
		known := lock.Source{}
		if g := gitAround(ctx, file); g != nil {
			known.Git = ":/" + g.path
			known.Restore = g.restore(ctx)
		}
		return nil, []model.Diagnostic{damage.Diagnostic(shown, known)}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, nil, fmt.Errorf("read the lock file: %w", err)
	case o.Base != "":
		return nil, []model.Diagnostic{{
			Message: "the lock file of -base does not exist: " + shown,
			Remedy:  "name the one to compare with, relative to the working directory, or a branch as in -base git:main",
		}}, nil
	case o.NewLock:
		return &lock.Lock{}, nil, nil
	}
	wrong, err := missing(ctx, dir, file, out, o.Patterns)
	if err != nil || wrong != nil {
		return nil, wrong, err
	}
	return &lock.Lock{}, nil, nil
}

// missing reports a lock file that is missing although something shows that there
// was one.
func missing(ctx context.Context, dir, file, out string, patterns []string) ([]model.Diagnostic, error) {
	const (
		lost = "; without it, changes that break stored tasks are not detected"
		anew = "; or, if no task of its kinds is stored anywhere, run taskgen -newlock: all kinds then begin at revision 1"
	)
	shown := relative(dir, file)
	if other := lockBelow(dir, patterns); other != "" {
		return []model.Diagnostic{{
			Message: fmt.Sprintf("%s is missing, but there is %s", shown, other),
			Remedy: fmt.Sprintf("run go generate, or taskgen with its flags in %s; or name the file with -lock %s; "+
				"or, if these packages are to have a lock file of their own, run taskgen -newlock", path.Dir(other), other),
		}}, nil
	}
	if g := gitAround(ctx, file); g != nil {
		if command := g.restore(ctx); command != "" {
			where := "git has it in " + g.commit
			if g.commit == "" {
				where = "git has it staged"
			}
			return []model.Diagnostic{{
				Message: fmt.Sprintf("%s is missing, and %s%s", shown, where, lost),
				Remedy:  "restore it with " + command + anew,
			}}, nil
		}
	}
	name, err := generatedGo(out)
	if err != nil || name == "" {
		return nil, err
	}
	return []model.Diagnostic{{
		Message: fmt.Sprintf("%s is missing, and %s was generated with one%s", shown, relative(dir, name), lost),
		Remedy:  "restore it from version control, or name it with -lock; or " + oneOut + anew,
	}}, nil
}

// lockBelow returns the lock file at the root of one of the patterns, as people are
// shown it, or "": taskgen was then run in another directory than usual.
func lockBelow(dir string, patterns []string) string {
	for _, p := range patterns {
		p = strings.TrimSuffix(p, "/...")
		if rel := path.Join(filepath.ToSlash(p), lock.Name); strings.HasPrefix(p, "./") {
			if _, err := os.Stat(filepath.Join(dir, filepath.FromSlash(rel))); err == nil {
				return rel
			}
		}
	}
	return ""
}

// generatedGo returns a Go file in an output directory that taskgen wrote, or "".
func generatedGo(out string) (string, error) {
	var names []string
	for _, pattern := range []string{"*/*.go", "*.go"} {
		found, err := filepath.Glob(filepath.Join(out, pattern))
		if err != nil {
			return "", err
		}
		names = append(names, found...)
	}
	at := slices.IndexFunc(names, func(name string) bool {
		data, err := os.ReadFile(name)
		return err == nil && bytes.HasPrefix(data, []byte(model.Header+"\n"))
	})
	if at < 0 {
		return "", nil
	}
	return names[at], nil
}

// absolute returns the name of a file that is relative to dir.
func absolute(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// relative returns the name of a file as people are shown it.
func relative(dir, name string) string {
	if rel, err := filepath.Rel(dir, name); err == nil {
		return filepath.ToSlash(rel)
	}
	return name
}
