package taskgen

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"taskkit.dev/internal/taskgen/lock"
	"taskkit.dev/internal/taskgen/model"
)

// history returns a lock file of two kinds. The first has so many revisions, of
// which the last has a field of a name.
func history(revisions int, field string) string {
	fact := func(n int, name string) model.Fact {
		return model.Fact{Part: "spec", Path: fmt.Sprintf("%s%d", name, n), Type: "string"}
	}
	first := &lock.LockedKind{Name: "enrol", Revisions: []model.Revision{{Number: 1, Facts: []model.Fact{fact(1, "a"), fact(1, "b")}}}}
	for n := 2; n <= revisions; n++ {
		name := "a"
		if n == revisions {
			name = field
		}
		first.Revisions = append(first.Revisions, model.Revision{Number: n, Facts: []model.Fact{fact(n, name), fact(n, "z")}})
	}
	watch := &lock.LockedKind{Name: "watch", Revisions: []model.Revision{{Number: 1, Facts: []model.Fact{fact(1, "who")}}}}
	return string((&lock.Lock{Kinds: []*lock.LockedKind{first, watch}}).Bytes())
}

// without returns a text without its lines from one that begins with from to
// before the next that begins with to.
func without(text, from, to string) string {
	head, rest, ok := strings.Cut(text, "\n"+from)
	at := strings.Index(rest, "\n"+to)
	if !ok || at < 0 {
		panic("no such lines: " + from)
	}
	return head + rest[at:]
}

// before returns a text up to a part of it.
func before(text, part string) string {
	head, _, _ := strings.Cut(text, part)
	return head
}

// union returns what merge=union makes of two versions: the lines of both.
func union(ours, theirs string) string {
	a, b := strings.Split(ours, "\n"), strings.Split(theirs, "\n")
	var out []string
	for i := range max(len(a), len(b)) {
		if i < len(a) {
			out = append(out, a[i])
		}
		if i < len(b) && (i >= len(a) || a[i] != b[i]) {
			out = append(out, b[i])
		}
	}
	return strings.Join(out, "\n")
}

// TestDamagedLock: each kind of damage to a lock file is an error with its own
// remedy, and never a history that begins again.
func TestDamagedLock(t *testing.T) {
	t.Parallel()
	whole := history(3, "mine")
	replaced := func(from, to string) string {
		if !strings.Contains(whole, from) {
			t.Fatalf("no %q", from)
		}
		return strings.Replace(whole, from, to, 1)
	}
	sum := regexp.MustCompile(`(?m)^sum .*\n`)
	cases := []struct {
		name, data string
		kind       lock.DamageKind
	}{
		{"emptied", "", lock.Empty},
		{"blank", "\n\n", lock.Empty},
		{"another file", "module example.test\n", lock.Foreign},
		{"last revision cut", without(whole, "\trevision 3", "\nkind watch"), lock.Cut},
		{"first revision cut", without(whole, "\trevision 1", "\trevision 2"), lock.Cut},
		{"kind cut", without(whole, "\nkind enrol", "\nkind watch"), lock.Cut},
		{"end cut", before(whole, "\nkind watch"), lock.Cut},
		{"end of the first kind cut", before(whole, "\t\tspec z3"), lock.Cut},
		{"half a line cut", whole[:len(whole)-4], lock.Edited},
		{"fact cut", without(whole, "\t\tspec b1", "\trevision 2"), lock.Edited},
		{"fact edited", replaced("spec b1 string", "spec b1 int64"), lock.Edited},
		{"comment edited", replaced("Commit it", "Keep it"), lock.Edited},
		{"phase edited", replaced("kind watch", "kind watch deleted"), lock.Edited},
		{"facts reordered", replaced("\t\tspec a1 string\n\t\tspec b1 string\n", "\t\tspec b1 string\n\t\tspec a1 string\n"), lock.Reordered},
		{"kinds reordered", without(whole, "\nkind enrol", "\nkind watch") + whole[strings.Index(whole, "\nkind enrol"):strings.Index(whole, "\nkind watch")], lock.Reordered},
		{"merged by union", union(whole, history(4, "theirs")), lock.Union},
		{"merged by union, one checksum", strings.Replace(union(whole, history(3, "theirs")), sum.FindString(history(3, "theirs")), "", 1), lock.Union},
		{"revision of another branch added", sum.ReplaceAllString(history(4, "theirs"), sum.FindString(whole)), lock.Merged},
		{"kind of another branch added", whole + "\nkind zone\n\trevision 1 e3b0c44298fc\n", lock.Merged},
		{"conflict", replaced("\trevision 3", "<<<<<<< HEAD\n\trevision 3") + "=======\n>>>>>>> other\n", lock.Conflict},
		{"CRLF", strings.ReplaceAll(whole, "\n", "\r\n"), lock.LineEnds},
		{"CRLF and cut", strings.ReplaceAll(without(whole, "\trevision 3", "\nkind watch"), "\n", "\r\n"), lock.Cut},
		{"without comments", strings.TrimPrefix(whole, before(whole, "format")), lock.Edited},
		{"without header", strings.TrimPrefix(whole, before(whole, "\nkind")), lock.NoHead},
		{"without checksum", sum.ReplaceAllString(whole, ""), lock.NoHead},
		{"without format", replaced("format 1\n", ""), lock.NoHead},
		{"checksum edited", replaced("\nsum ", "\nsum x"), lock.Edited},
		{"checksum cut", replaced(" kinds 2 revisions 4", ""), lock.Edited},
		{"format edited", replaced("format 1", "format one"), lock.Edited},
		{"one of two checksums edited", sum.ReplaceAllString(whole, sum.FindString(whole)+"sum x\n"), lock.Union},
		{"newer format", replaced("format 1", "format 2"), lock.Newer},
		{"newer format with CRLF", strings.ReplaceAll(replaced("format 1", "format 2"), "\n", "\r\n"), lock.Newer},
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "executors", lock.Name)
	write(t, file, []byte(whole))
	git(t, dir, "init", "-q", "-b", "main")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "whole")
	// The last commit has a damaged one too: the one before is to be restored.
	write(t, file, []byte("damaged\n"))
	git(t, dir, "commit", "-q", "-a", "-m", "damaged")
	if _, damage := lock.Read([]byte(whole)); damage != nil {
		t.Fatal(damage)
	}
	var got []txtar.File
	kinds := map[lock.DamageKind]bool{}
	for _, c := range cases {
		_, damage := lock.Read([]byte(c.data))
		if damage == nil || damage.Kind != c.kind {
			t.Errorf("%s: got %+v, want %s", c.name, damage, c.kind)
			continue
		}
		kinds[c.kind] = true
		write(t, file, []byte(c.data))
		read, wrong, err := readLock(t.Context(), filepath.Dir(file), filepath.Join(dir, "gen"), &Options{Lock: lock.Name})
		if err != nil || read != nil || len(wrong) != 1 {
			t.Fatalf("%s: got %v, %v, %v", c.name, read, wrong, err)
		}
		told := regexp.MustCompile(`source=[0-9a-f]+`).ReplaceAllString(wrong[0].String(), "source=COMMIT")
		got = append(got, txtar.File{Name: "want/" + c.name, Data: []byte(told + "\n")})
	}
	if len(kinds) != 11 {
		t.Errorf("%d kinds of damage have a case", len(kinds))
	}
	const name = "testdata/lock/damage.txtar"
	archive := &txtar.Archive{Comment: []byte("What taskgen says of each kind of damage to a lock file.\n")}
	if !*update {
		archive = &txtar.Archive{Files: slices.Clone(parseArchive(t, name).Files)}
	}
	compareCase(t, name, archive, got)
}

// parseArchive reads an archive.
func parseArchive(t *testing.T, name string) *txtar.Archive {
	t.Helper()
	a, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestBaseBranch compares with the lock file of a branch.
func TestBaseBranch(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "executors", lock.Name)
	write(t, filepath.Join(dir, "executors", "x.go"), []byte("package executors\n"))
	git(t, dir, "init", "-q", "-b", "empty")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "before taskgen")
	for _, branch := range []struct{ name, data string }{
		{"main", history(2, "released")}, {"broken", strings.Replace(history(2, "released"), "spec a1", "spec a9", 1)}, {"work", history(4, "mine")},
	} {
		git(t, dir, "checkout", "-q", "-b", branch.name)
		write(t, file, []byte(branch.data))
		git(t, dir, "add", ".")
		git(t, dir, "commit", "-q", "-m", branch.name)
	}
	for _, c := range []struct {
		base, data string
		revisions  int    // of the first kind
		want       string // part of the diagnostic
		kept       string // base afterwards
	}{
		{"", "", 0, "the file is empty", ""},
		{"git:main", history(4, "mine"), 2, "", "git:main"},
		{"git:main", "<<<<<<< HEAD\n", 2, "", "git:main"}, // that is how to get out of damage
		{"git:HEAD", "", 4, "", "git:HEAD"},
		{"git:empty", history(4, "mine"), 4, "", ""}, // the one in the work tree
		{"git:empty", "", 0, "the file is empty", ""},
		{"git:broken", history(4, "mine"), 0, "broken:executors/tasks.lock:13:1: revision 1 of kind enrol", "git:broken"},
		{"git:nowhere", history(4, "mine"), 0, "git knows no branch or commit nowhere: fetch it", "git:nowhere"},
		{"git:", history(4, "mine"), 0, "names no branch", "git:"},
		{"git:--output=x", history(4, "mine"), 0, "names no branch", "git:--output=x"},
	} {
		write(t, file, []byte(c.data))
		o := Options{Lock: lock.Name, Base: c.base}
		read, wrong, err := readLock(t.Context(), filepath.Dir(file), filepath.Join(dir, "gen"), &o)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case c.want != "" && (len(wrong) != 1 || !strings.Contains(wrong[0].String(), c.want)):
			t.Errorf("-base %s: got %v, want %q", c.base, wrong, c.want)
		case c.want == "" && (len(wrong) > 0 || len(read.Kinds[0].Revisions) != c.revisions):
			t.Errorf("-base %s: got %v, want %d revisions", c.base, wrong, c.revisions)
		}
		if o.Base != c.kept {
			t.Errorf("-base %s became %q, want %q", c.base, o.Base, c.kept)
		}
	}
	outside := t.TempDir()
	_, wrong, err := readLock(t.Context(), outside, filepath.Join(outside, "gen"), &Options{Lock: lock.Name, Base: "git:main"})
	if err != nil || len(wrong) != 1 || !strings.Contains(wrong[0].String(), "is not in a git repository") {
		t.Errorf("outside of git: %v, %v", wrong, err)
	}
}

// TestLoweredRevision: a lock file older than the generated code is refused.
func TestLoweredRevision(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	generated := func(pkg, kind, revisions string) {
		write(t, filepath.Join(dir, "gen", pkg, pkg+".go"),
			[]byte(model.Header+"\npackage "+pkg+"\n\nvar Kind = taskkit.NewKind(taskkind.Definition{\n\tName:     \""+kind+"\",\n"+revisions+"})\n"))
	}
	generated("enroltask", "enrol", "\tRevision: 3,\n")
	generated("watchtask", "watch", "<<<<<<< HEAD\n\tRevision: 2,\n=======\n\tRevision: 5,\n>>>>>>> other\n")
	write(t, filepath.Join(dir, "gen", "mine", "mine.go"), []byte("package mine\n\n\tName: \"enrol\",\n\tRevision: 9,\n"))
	for _, c := range []struct {
		name string
		x    model.Executor
		want string // part of the diagnostic; none if it is in order
	}{
		{"equal", model.Executor{Kind: "enrol", Revision: 3}, ""},
		{"higher", model.Executor{Kind: "enrol", Revision: 4}, ""},
		{"another kind", model.Executor{Kind: "other", Revision: 1}, ""},
		{"lower", model.Executor{Kind: "enrol", Revision: 1}, "kind enrol would get revision 1, but gen/enroltask/enroltask.go was generated with revision 3: tasks.lock is older than that code"},
		{"lower after a rename", model.Executor{Kind: "join", Aliases: []string{"enrol"}, Revision: 2}, "kind join would get revision 2"},
		{"lower than one side of a merge", model.Executor{Kind: "watch", Revision: 4}, "was generated with revision 5"},
	} {
		wrong := lowered(dir, filepath.Join(dir, "gen"), lock.Name, []*model.Executor{&c.x})
		switch {
		case c.want == "" && len(wrong) > 0:
			t.Errorf("%s: %v", c.name, wrong)
		case c.want != "" && (len(wrong) != 1 || !strings.Contains(wrong[0].String(), c.want) || !strings.Contains(wrong[0].Remedy, "-base git:main")):
			t.Errorf("%s: got %v, want %q", c.name, wrong, c.want)
		}
	}
}
