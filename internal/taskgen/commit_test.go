package taskgen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that is reached through a symbolic link is replaced, and the link stays.
func TestCommitThroughLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "tasks.lock")
	write(t, target, []byte("old"))
	if err := os.Symlink("target", link); err != nil {
		t.Fatal(err)
	}
	if err := Commit([]Change{{Name: "tasks.lock", Path: link, New: []byte("new")}}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if got := read(t, target); string(got) != "new" {
		t.Errorf("the target has %q, want %q", got, "new")
	}
}

func TestCommitRefusesReadOnly(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "tasks.lock")
	if err := os.WriteFile(name, []byte("old"), 0o444); err != nil {
		t.Fatal(err)
	}
	err := Commit([]Change{{Name: "tasks.lock", Path: name, New: []byte("new")}})
	if err == nil || !strings.Contains(err.Error(), "read-only") {
		t.Errorf("got %v, want that the file is read-only", err)
	}
	if got := read(t, name); string(got) != "old" {
		t.Errorf("the file has %q, want %q", got, "old")
	}
}

// A kind and a suffix that give a package no importable name are refused.
func TestPackageOfKind(t *testing.T) {
	t.Parallel()
	for kind, suffix := range map[string]string{"ma": "in", "inter": "nal", "fun": "c"} {
		dir := newModule(t, "example.test")
		write(t, filepath.Join(dir, "p", "p.go"), []byte(strings.Replace(source("spec", "A string"), "executor p\n", "executor "+kind+"\n", 1)))
		out, err := Generate(t.Context(), Options{Dir: dir, Patterns: []string{"./p"}, Suffix: suffix})
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Diagnostics) != 1 || !strings.Contains(out.Diagnostics[0].Message, "cannot be called") {
			t.Errorf("%s with -suffix %s: %v", kind, suffix, out.Diagnostics)
		}
	}
}
