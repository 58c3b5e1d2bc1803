package taskgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Options say what to read and where the output belongs.
type Options struct {
	// Dir is where patterns and relative names begin. Defaults to the working
	// directory.
	Dir string
	// Patterns name packages as go list does. Defaults to ./executors/...
	Patterns []string
	// Out is the directory of the generated code. Defaults to gen.
	Out string
	// Package is the name of the package in Out, which registers all. Defaults
	// to the last element of Out.
	Package string
	// Suffix ends the names of the packages of kinds. Defaults to task.
	Suffix string
	// Base is the lock file to compare with. Defaults to the one in Out. With
	// that of what is released, a revision is one change, however often the
	// output was generated in between.
	Base string
}

// File is a generated file. Its name is relative to the output directory, with
// slashes.
type File struct {
	Name string
	Data []byte
}

// Output is what a run of the generator makes. With diagnostics there are no
// files.
type Output struct {
	Dir         string // where the files belong, absolute
	Files       []File // sorted by name
	Executors   []*Executor
	Diagnostics []Diagnostic // sorted by place
}

// Generate reads the packages and makes the files for their executors. It
// writes nothing. The error is one of the environment, such as a missing go
// command; what is wrong in the source is in Diagnostics.
func Generate(ctx context.Context, o Options) (*Output, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	if len(o.Patterns) == 0 {
		o.Patterns = []string{"./executors/..."}
	}
	if o.Out == "" {
		o.Out = "gen"
	}
	out := o.Out
	if !filepath.IsAbs(out) {
		out = filepath.Join(dir, out)
	}
	genPath, err := importPath(out)
	if err != nil {
		return nil, err
	}
	o.Package = cmp.Or(o.Package, path.Base(genPath))
	if !packageRule.MatchString(o.Package) {
		return nil, fmt.Errorf("%q cannot be the name of a package: give one of lower case letters and digits with -pkg, or another directory with -o", o.Package)
	}
	o.Suffix = cmp.Or(o.Suffix, "task")
	if !suffixRule.MatchString(o.Suffix) {
		return nil, fmt.Errorf("suffix %q cannot end the name of a package: give one of lower case letters and digits with -suffix", o.Suffix)
	}
	o.Base = cmp.Or(o.Base, filepath.Join(out, LockName))
	lock, stale, err := readLock(dir, o.Base)
	if err != nil {
		return nil, err
	}
	pkgs, fset, err := load(ctx, dir, o.Patterns)
	if err != nil {
		return nil, err
	}
	found, wrong := resolve(pkgs, fset, dir, genPath)
	for _, x := range found {
		x.Suffix = o.Suffix
	}
	made, err := build(found, append(wrong, stale...), lock, genPath, o.Package)
	if err != nil {
		return nil, err
	}
	made.Dir = out
	if len(made.Executors) == 0 && len(made.Diagnostics) == 0 {
		made.Diagnostics = []Diagnostic{{
			Message: "no executors in " + strings.Join(o.Patterns, " "),
			Remedy:  "write a type with an Execute method and " + prefix + "executor NAME in its doc comment",
		}}
	}
	return made, nil
}

// readLock reads the lock file. A missing one says nothing: it is written by
// the first run.
func readLock(dir, name string) (*Lock, []Diagnostic, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return &Lock{}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if rel, err := filepath.Rel(dir, name); err == nil {
		name = filepath.ToSlash(rel)
	}
	lock, wrong := parseLock(name, data)
	return lock, wrong, nil
}

// build is the part after reading: check, evolve and emit.
func build(found []*Executor, wrong []Diagnostic, before *Lock, genPath, pkg string) (*Output, error) {
	sorted, more := check(found)
	o := &Output{Executors: sorted, Diagnostics: append(wrong, more...)}
	var lock *Lock
	if len(o.Diagnostics) == 0 && len(found) > 0 { // or kinds that could not be read would seem to be gone
		lock, o.Diagnostics = evolve(sorted, before)
	}
	o.Diagnostics = sortDiagnostics(o.Diagnostics)
	if len(o.Diagnostics) > 0 || len(sorted) == 0 {
		return o, nil
	}
	files, err := emit(sorted, genPath, pkg)
	if err != nil {
		return nil, err
	}
	files = append(files, File{Name: LockName, Data: lock.bytes()})
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	o.Files = files
	return o, nil
}
