package taskgen

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"taskkit.dev/internal/taskgen/emit"
	"taskkit.dev/internal/taskgen/load"
	"taskkit.dev/internal/taskgen/lock"
	"taskkit.dev/internal/taskgen/model"
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
	// Lock is the lock file. Defaults to tasks.lock in Dir, where no generated code
	// is, so that removing and generating all code again keeps it.
	Lock string
	// Base is the lock file to compare with, or git:REF for Lock as it is in a branch
	// or commit. Defaults to Lock. With that of what is released, a revision is one
	// change, however often the output was generated in between.
	Base string
	// Notify are the subscriptions of all kinds, as notify= in a directive has them, which adds to them and replaces the events of a
	// target. Defaults to none.
	Notify string
	// NewLock allows Lock to be missing although there was one.
	NewLock bool
}

// Output is what a run of the generator makes. With diagnostics there are no
// files.
type Output struct {
	Dir         string      // where the files belong, absolute
	Files       []emit.File // sorted by name
	LockFile    string      // where the lock file belongs, absolute
	Lock        []byte
	Executors   []*model.Executor
	Diagnostics []model.Diagnostic // sorted by place

	// Advice are lines more about the diagnostics as a whole, or, without diagnostics, about what is imported.
	Advice []string

	lockName string // as people are shown it
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
	o.Lock = cmp.Or(o.Lock, lock.Name)
	out := absolute(dir, o.Out)
	if info, err := os.Stat(out); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file, and generated code needs a directory: name another with -o", relative(dir, out))
	}
	genPath, module, err := load.ImportPath(out)
	if err != nil {
		return nil, err
	}
	o.Package = cmp.Or(o.Package, path.Base(genPath))
	if !emit.PackageRule.MatchString(o.Package) {
		return nil, fmt.Errorf("%q cannot be the name of a package: give one of lower case letters and digits with -pkg, or another directory with -o", o.Package)
	}
	if problem := model.PackageProblem(o.Package); problem != "" {
		return nil, fmt.Errorf("%q cannot be the name of a package: %s: give another with -pkg, or another directory with -o", o.Package, problem)
	}
	o.Suffix = cmp.Or(o.Suffix, "task")
	if !emit.SuffixRule.MatchString(o.Suffix) {
		return nil, fmt.Errorf("suffix %q cannot end the name of a package: give one of lower case letters and digits with -suffix", o.Suffix)
	}
	if problem := model.PackageProblem("kind" + o.Suffix); problem != "" {
		return nil, fmt.Errorf("suffix %q cannot end the name of a package: %s: give another with -suffix", o.Suffix, problem)
	}
	all, err := subscriptions(o.Notify)
	if err != nil {
		return nil, fmt.Errorf("-notify %s: %w", o.Notify, err)
	}
	before, stale, err := readLock(ctx, dir, out, &o)
	if err != nil {
		return nil, err
	}
	pkgs, fset, err := load.Packages(ctx, dir, o.Patterns)
	if err != nil {
		return nil, err
	}
	found, wrong := load.Resolve(pkgs, fset, dir, genPath)
	for _, x := range found {
		x.Suffix, x.Notify = o.Suffix, subscribe(all, x.Notify)
	}
	if slices.ContainsFunc(wrong, func(d model.Diagnostic) bool { return !d.Pos.IsValid() }) {
		stale = nil // the lock file of packages that there are not would be missing too
	}
	if len(wrong)+len(stale) == 0 && o.Base == "" && !o.NewLock {
		stale = foreign(dir, out, found, before)
	}
	made, err := build(found, append(wrong, stale...), before, emit.Target{Path: genPath, Name: o.Package, Module: module})
	if err != nil {
		return nil, err
	}
	made.Dir, made.LockFile = out, absolute(dir, o.Lock)
	made.lockName = relative(dir, made.LockFile)
	if o.Base != "" {
		made.Advice = nil // it was followed
	}
	if len(made.Diagnostics) == 0 {
		made.Advice = load.WithoutExecQuery(pkgs)
	}
	if len(made.Diagnostics) == 0 && o.Base == "" && !o.NewLock { // both say what is released
		made.Diagnostics = lowered(dir, out, made.lockName, made.Executors)
		if len(made.Diagnostics) > 0 {
			made.Files, made.Lock = nil, nil
		}
	}
	if within := load.Written(pkgs, genPath); len(made.Executors) == 0 && len(made.Diagnostics) == 0 && within != "" {
		made.Diagnostics = []model.Diagnostic{{
			Message: fmt.Sprintf("%s is in %s, which is the directory of generated code and is not read", within, genPath),
			Remedy:  "name another directory with -o",
		}}
	}
	if len(made.Executors) == 0 && len(made.Diagnostics) == 0 {
		made.Diagnostics = []model.Diagnostic{{
			Message: "no executors in " + strings.Join(o.Patterns, " "),
			Remedy:  "write a type with an Execute method and " + model.Prefix + "executor NAME in its doc comment",
		}}
	}
	return made, nil
}

// undeployed says what to do about kinds and revisions that no one ever stored.
var undeployed = []string{
	"if a kind or revision named above was never deployed, leave it out of the history: taskgen -base git:main compares with the lock file " +
		"of branch main, and -base git:HEAD with that of the last commit",
	"if no task is stored anywhere yet, begin the history anew: remove the lock file and run taskgen -newlock, with the other flags as before",
}

// build is the part after reading: check, evolve and emit.
func build(found []*model.Executor, wrong []model.Diagnostic, before *lock.Lock, to emit.Target) (*Output, error) {
	sorted, more := model.Check(found)
	o := &Output{Executors: sorted, Diagnostics: append(wrong, more...)}
	var next *lock.Lock
	if len(o.Diagnostics) == 0 && len(found) > 0 { // or kinds that could not be read would seem to be gone
		next, o.Diagnostics = lock.Evolve(sorted, before)
		if len(o.Diagnostics) > 0 {
			o.Advice = undeployed
		}
	}
	o.Diagnostics = model.SortDiagnostics(o.Diagnostics)
	if len(o.Diagnostics) > 0 || len(sorted) == 0 {
		return o, nil
	}
	files, err := emit.Files(sorted, to)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b emit.File) int { return strings.Compare(a.Name, b.Name) })
	o.Files, o.Lock = files, next.Bytes()
	return o, nil
}
