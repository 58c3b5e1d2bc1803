package load

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// excluded returns the packages that patterns match and the go command says nothing
// of, since no file of theirs is built here. They have no more than a path and the
// names of the files.
func excluded(dir string, patterns []string, pkgs []*packages.Package) (out []*packages.Package) {
	built := map[string]bool{}
	for _, p := range pkgs {
		for _, name := range slices.Concat(p.GoFiles, p.IgnoredFiles) {
			built[filepath.Dir(name)] = true
		}
	}
	for _, pattern := range patterns {
		root, all := directoryOf(dir, pattern)
		if !all {
			continue // the go command reports a package that is named
		}
		_ = filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil //nolint:nilerr // the go command reports what it cannot read
			case !e.IsDir():
				return nil
			case at != root && unmatched(at):
				return fs.SkipDir
			case built[at]:
				return nil
			}
			built[at] = true
			names, _ := filepath.Glob(filepath.Join(at, "*.go"))
			if path, _, err := ImportPath(at); err == nil && len(names) > 0 {
				out = append(out, &packages.Package{PkgPath: path, IgnoredFiles: names})
			}
			return nil
		})
	}
	return out
}

// directoryOf returns where a pattern such as ./executors/... begins, and whether it
// is one.
func directoryOf(dir, pattern string) (root string, all bool) {
	begin, all := strings.CutSuffix(pattern, "/...")
	if !all || strings.Contains(begin, "...") {
		return "", false
	}
	if here, module, err := ImportPath(dir); err == nil && begin != "." && !strings.HasPrefix(begin, "./") && !strings.HasPrefix(begin, "../") {
		rest, ours := strings.CutPrefix(begin+"/", module+"/")
		if !ours {
			return "", false
		}
		up := strings.Repeat("../", strings.Count(strings.TrimPrefix(here, module), "/"))
		begin = up + rest
	}
	return filepath.Join(dir, filepath.FromSlash(begin)), true
}

// unmatched reports whether ... leaves a directory out.
func unmatched(dir string) bool {
	name := filepath.Base(dir)
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor" {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}
