package taskgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"taskkit.dev/internal/taskgen/lock"
	"taskkit.dev/internal/taskgen/model"
)

// readLock reads the lock file to compare with. A missing one is an empty history
// only when nothing shows that there was one.
func readLock(ctx context.Context, dir, out string, o Options) (*lock.Lock, []model.Diagnostic, error) {
	file := absolute(dir, o.Lock)
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
		before, wrong := lock.Parse(shown, data)
		return before, wrong, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, nil, fmt.Errorf("read the lock file: %w", err)
	case o.Base != "":
		return nil, []model.Diagnostic{{
			Message: "the lock file of -base does not exist: " + shown,
			Remedy:  "name the one to compare with, relative to the working directory",
		}}, nil
	case o.NewLock:
		return &lock.Lock{}, nil, nil
	}
	const anew = "or, if no task of its kinds is stored anywhere, run taskgen -newlock: all kinds then begin at revision 1"
	if commit := lastCommit(ctx, file); commit != "" {
		return nil, []model.Diagnostic{{
			Message: fmt.Sprintf("%s is missing, and git has it in %s; without it, changes that break stored tasks are not detected", shown, commit),
			Remedy:  fmt.Sprintf("restore it with git restore --source=%s -- %s; %s", commit, shown, anew),
		}}, nil
	}
	name, err := generatedGo(out)
	if err != nil {
		return nil, nil, err
	}
	if name != "" {
		return nil, []model.Diagnostic{{
			Message: fmt.Sprintf("%s is missing, and %s was generated with one; without it, changes that break stored tasks are not detected", shown, relative(dir, name)),
			Remedy:  "restore it from version control, or name it with -lock; " + anew,
		}}, nil
	}
	return &lock.Lock{}, nil, nil
}

// lastCommit returns the last commit that has a file, or "" when there is none.
func lastCommit(ctx context.Context, file string) string {
	git := func(args ...string) string {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = filepath.Dir(file)
		out, err := cmd.Output()
		if err != nil {
			return "" // there is no git, no repository or no commit yet
		}
		return strings.TrimSpace(string(out))
	}
	name := filepath.Base(file)
	return git("log", "-1", "--diff-filter=AMRT", "--format=%h", "--", name)
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
