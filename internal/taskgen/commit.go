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
)

// Change is the difference of one file between an [Output] and the disk.
type Change struct {
	Name string // relative to the output directory, with slashes
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
		old, err := os.ReadFile(filepath.Join(o.Dir, filepath.FromSlash(f.Name)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			changes = append(changes, Change{Name: f.Name, New: f.Data})
		case err != nil:
			return nil, err
		case bytes.Equal(old, f.Data):
		case !generated(old):
			return nil, fmt.Errorf("%s was not written by taskgen: move it away, or generate elsewhere with -o", filepath.Join(o.Dir, f.Name))
		default:
			changes = append(changes, Change{Name: f.Name, Old: old, New: f.Data})
		}
	}
	orphans, err := o.orphans(wanted)
	if err != nil {
		return nil, err
	}
	changes = append(changes, orphans...)
	slices.SortFunc(changes, func(a, b Change) int { return strings.Compare(a.Name, b.Name) })
	return changes, nil
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
				changes = append(changes, Change{Name: rel, Old: old})
			}
		}
	}
	return changes, nil
}

// Commit writes changes below a directory. Each file is replaced as a whole, so
// that a reader never sees half of one; a directory that is empty then is
// removed.
func Commit(dir string, changes []Change) error {
	for _, c := range changes {
		name := filepath.Join(dir, filepath.FromSlash(c.Name))
		if c.New == nil {
			if err := os.Remove(name); err != nil {
				return err
			}
			_ = os.Remove(filepath.Dir(name)) // fails while something is in it
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := replace(name, c.New); err != nil {
			return err
		}
	}
	return nil
}

// replace writes a file beside its place and moves it there.
func replace(name string, data []byte) error {
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

// generated reports whether taskgen wrote a file: Go, JSON Schema or the lock.
func generated(data []byte) bool {
	return bytes.HasPrefix(data, []byte(header+"\n")) || bytes.HasPrefix(data, []byte(lockHeader)) ||
		bytes.HasPrefix(data, []byte("{\n")) && bytes.Contains(data, []byte(`"$comment": "`+strings.TrimPrefix(header, "// ")+`"`))
}
