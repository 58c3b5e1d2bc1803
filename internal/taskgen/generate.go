package taskgen

import (
	"context"
	"fmt"
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
	// Out is the directory of the generated code. Its last element is the name
	// of the package that registers all. Defaults to gen.
	Out string
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
	if name := path.Base(genPath); !packageRule.MatchString(name) {
		return nil, fmt.Errorf("output directory %q cannot be a package: name one of lower case letters and digits with -o", name)
	}
	pkgs, fset, err := load(ctx, dir, o.Patterns)
	if err != nil {
		return nil, err
	}
	found, wrong := resolve(pkgs, fset, dir, genPath)
	made, err := build(found, wrong, genPath)
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

// build is the part after reading: check and emit.
func build(found []*Executor, wrong []Diagnostic, genPath string) (*Output, error) {
	sorted, more := check(found)
	o := &Output{Executors: sorted, Diagnostics: sortDiagnostics(append(wrong, more...))}
	if len(o.Diagnostics) > 0 || len(sorted) == 0 {
		return o, nil
	}
	files, err := emit(sorted, genPath)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	o.Files = files
	return o, nil
}
