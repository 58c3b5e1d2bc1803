package taskgen

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"taskkit.dev/internal/taskgen/lock"
	"taskkit.dev/internal/taskgen/model"
)

// Change is the difference of one file between an [Output] and the disk.
type Change struct {
	Name string // of a generated file relative to the output directory; of the lock file relative to the working directory
	Path string // absolute
	Old  []byte // nil: there is none
	New  []byte // nil: nothing produces it any more
}

// Diff returns the change as a unified diff.
func (c Change) Diff() []byte {
	return diff.Diff(c.Name, c.Old, c.Name+" (generated)", c.New)
}

// Changes compares an output with the disk. Files that are as they should be
// are not among them, and neither are files that taskgen did not write. It is
// an error when a file of that name was written by hand.
func (o *Output) Changes() ([]Change, error) {
	var changes []Change
	wanted := map[string]bool{}
	for _, f := range o.Files {
		wanted[f.Name] = true
		c, err := compare(f.Name, filepath.Join(o.Dir, filepath.FromSlash(f.Name)), f.Data, generated)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c...)
	}
	if o.Lock != nil {
		c, err := compare(o.lockName, o.LockFile, o.Lock, lock.WasLock)
		if err != nil {
			return nil, err
		}
		changes = append(changes, c...)
	}
	orphans, err := o.orphans(wanted)
	if err != nil {
		return nil, err
	}
	changes = append(changes, orphans...)
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return changes, nil
}

// compare returns the change that makes a file what it should be, or none. It is
// an error if the file is there and is not ours.
func compare(name, path string, data []byte, ours func([]byte) bool) ([]Change, error) {
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return []Change{{Name: name, Path: path, New: data}}, nil
	case err != nil:
		return nil, err
	case bytes.Equal(old, data):
		return nil, nil
	case !ours(old):
		return nil, fmt.Errorf("%s was not written by taskgen and would be overwritten: move it, or name another place with -o or -lock", path)
	default:
		return []Change{{Name: name, Path: path, Old: old, New: data}}, nil
	}
}

// orphans returns the files of former runs that nothing produces any more.
func (o *Output) orphans(wanted map[string]bool) (changes []Change, err error) {
	for _, pattern := range []string{"*.go", "*/*.go", "*/*.schema.json"} {
		names, err := filepath.Glob(filepath.Join(o.Dir, pattern))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			rel, err := filepath.Rel(o.Dir, name)
			if err != nil {
				return nil, err
			}
			if rel = filepath.ToSlash(rel); wanted[rel] {
				continue
			}
			old, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			if generated(old) {
				changes = append(changes, Change{Name: rel, Path: name, Old: old})
			}
		}
	}
	return changes, nil
}

// Commit writes changes. Each file is replaced as a whole, so
// that a reader never sees half of one; a directory that is empty then is
// removed.
func Commit(changes []Change) error {
	for _, c := range changes {
		if c.New == nil {
			if err := os.Remove(c.Path); err != nil {
				return err
			}
			_ = os.Remove(filepath.Dir(c.Path)) // fails while something is in it
			continue
		}
		if err := os.MkdirAll(filepath.Dir(c.Path), 0o777); err != nil {
			return err
		}
		if err := replace(c.Path, c.New); err != nil {
			return err
		}
	}
	return nil
}

// replace writes a file beside its place and moves it there. A symbolic link stays, and the file that it names is
// replaced. A file that is read-only is not.
func replace(name string, data []byte) error {
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	if info, err := os.Stat(name); err == nil && info.Mode().Perm()&0o200 == 0 {
		return fmt.Errorf("%s is read-only and is not replaced: make it writable", name)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".taskgen-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(0o644), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// generated reports whether taskgen wrote a file: Go or JSON Schema.
func generated(data []byte) bool {
	return bytes.HasPrefix(data, []byte(model.Header+"\n")) ||
		bytes.HasPrefix(data, []byte("{\n")) && bytes.Contains(data, []byte(`"$comment": "`+strings.TrimPrefix(model.Header, "// ")+`"`))
}
