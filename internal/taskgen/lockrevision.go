package taskgen

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"taskkit.dev/internal/taskgen/lock"
	"taskkit.dev/internal/taskgen/model"
)

// generatedName and generatedRevision find the name and the revision of a kind in generated code.
var (
	generatedName     = regexp.MustCompile(`(?m)^\tName: +"([a-z0-9_]+)",$`)
	generatedRevision = regexp.MustCompile(`(?m)^\tRevision: +(\d+),$`)
)

// generatedKind is a kind as an earlier run generated it.
type generatedKind struct {
	name     string
	revision int
	file     string
}

// generatedKinds reads the kinds in an output directory. After a merge a file may
// have two revisions; then it is the higher one.
func generatedKinds(out string) (all []generatedKind) {
	dirs, err := os.ReadDir(out)
	if err != nil {
		return nil // there is none yet
	}
	for _, d := range dirs {
		file := filepath.Join(out, d.Name(), d.Name()+".go")
		data, err := os.ReadFile(file)
		if err != nil || !bytes.HasPrefix(data, []byte(model.Header+"\n")) {
			continue
		}
		kind := generatedKind{file: file}
		for _, m := range generatedRevision.FindAllSubmatch(data, -1) {
			n, _ := strconv.Atoi(string(m[1]))
			kind.revision = max(kind.revision, n)
		}
		if m := generatedName.FindSubmatch(data); m != nil {
			kind.name = string(m[1])
			all = append(all, kind)
		}
	}
	return all
}

// foreign reports kinds in an output directory that the lock file does not have: another directive
// writes there, and the two would remove each other's files.
func foreign(dir, out string, found []*model.Executor, before *lock.Lock) []model.Diagnostic {
	known := map[string]bool{}
	for _, x := range found {
		known[x.Kind] = true
	}
	for _, k := range before.Kinds {
		for _, name := range slices.Concat([]string{k.Name}, k.Aliases, k.Reserved) {
			known[name] = true
		}
	}
	for _, k := range generatedKinds(out) {
		if !known[k.name] {
			return []model.Diagnostic{{
				Message: fmt.Sprintf("%s was generated for kind %s, which neither these packages nor the lock file have", relative(dir, k.file), k.name),
				Remedy:  fmt.Sprintf("%s; or, if kind %s was removed before it was deployed, remove %s", oneOut, k.name, relative(dir, filepath.Dir(k.file))),
			}}
		}
	}
	return nil
}

// oneOut is the remedy for two directives of go generate that write to one directory.
const oneOut = "if another directive of go generate writes to this directory, give each its own with -o, or generate all kinds by one, in a directory above"

// lowered reports kinds whose revision is lower than in the code that an earlier
// run generated: the lock file is then older than that code, and would give one
// number to two shapes.
func lowered(dir, out, shown string, executors []*model.Executor) (wrong []model.Diagnostic) {
	kinds := generatedKinds(out)
	slices.SortFunc(kinds, func(a, b generatedKind) int { return cmp.Compare(a.name, b.name) })
	for _, x := range executors {
		for _, k := range kinds {
			if (k.name == x.Kind || slices.Contains(x.Aliases, k.name)) && k.revision > x.Revision {
				wrong = append(wrong, model.Diagnostic{
					Pos: x.Pos,
					Message: fmt.Sprintf("kind %s would get revision %d, but %s was generated with revision %d: %s is older than that code",
						x.Kind, x.Revision, relative(dir, k.file), k.revision, shown),
					Remedy: fmt.Sprintf("restore the lock file that has revision %d; or, if that revision was never deployed, "+
						"compare with the branch that is: taskgen -base git:main", k.revision),
				})
			}
		}
	}
	return wrong
}
