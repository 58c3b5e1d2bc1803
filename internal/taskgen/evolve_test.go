package taskgen

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"

	"taskkit.dev/internal/taskgen/emit"
	"taskkit.dev/internal/taskgen/load"
	"taskkit.dev/internal/taskgen/lock"
	"taskkit.dev/internal/taskgen/model"
)

// TestEvolution tells histories. A case is an archive whose directories are a
// module's source at one time after another; each is generated with the lock
// file of the last one before it that was not refused. Wanted are the lock file
// and the specimens, or the errors.
func TestEvolution(t *testing.T) {
	t.Parallel()
	module := newModule(t, "example.test")
	names, err := filepath.Glob("testdata/evolution/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no cases", err)
	}
	archives := map[string]*txtar.Archive{}
	for _, name := range names {
		a, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		archives[name] = a
		for _, f := range a.Files {
			if !strings.HasPrefix(f.Name, "want/") {
				write(t, filepath.Join(module, caseName(name), f.Name), f.Data)
			}
		}
	}
	pkgs, fset, err := load.Packages(t.Context(), module, []string{"./..."})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		t.Run(caseName(name), func(t *testing.T) {
			var locked []byte
			var got []txtar.File
			for _, step := range steps(archives[name]) {
				own := "example.test/" + caseName(name) + "/" + step
				dir := filepath.Join(module, caseName(name), step)
				var mine []*packages.Package
				for _, p := range pkgs {
					if model.Within(p.PkgPath, own) {
						mine = append(mine, p)
					}
				}
				before := &lock.Lock{}
				if locked != nil {
					var stale []model.Diagnostic
					if before, stale = lock.Parse(lock.Name, locked); len(stale) > 0 {
						t.Fatal(stale)
					}
				}
				found, wrong := load.Resolve(mine, fset, dir, own+"/gen")
				for _, x := range found {
					x.Suffix = "task"
				}
				out, err := build(found, wrong, before, emit.Target{Path: own + "/gen", Name: "gen", Module: "example.test"})
				if err != nil {
					t.Fatal(err)
				}
				var told bytes.Buffer
				for _, d := range out.Diagnostics {
					told.WriteString(d.String() + "\n")
				}
				if told.Len() > 0 {
					got = append(got, txtar.File{Name: "want/" + step + "/errors", Data: told.Bytes()})
					continue
				}
				locked = out.Lock
				got = append(got, txtar.File{Name: "want/" + step + "/" + lock.Name, Data: out.Lock})
			}
			compareCase(t, name, archives[name], got)
		})
	}
}

// steps returns the directories of a case in the order of the archive.
func steps(a *txtar.Archive) (out []string) {
	for _, f := range a.Files {
		step, _, _ := strings.Cut(f.Name, "/")
		if step != "want" && !slices.Contains(out, step) {
			out = append(out, step)
		}
	}
	return out
}
