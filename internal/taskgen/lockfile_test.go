package taskgen

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"taskkit.dev/internal/taskgen/lock"
	"taskkit.dev/internal/taskgen/model"
)

// someLock has one kind without facts.
var someLock = string((&lock.Lock{Kinds: []*lock.LockedKind{{Name: "watch", Revisions: []model.Revision{{Number: 1}}}}}).Bytes())

// TestMissingLock: a lock file that was lost is an error that says how to get it
// back, and no first start.
func TestMissingLock(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files   map[string]string
		stage   bool     // all files, before remove
		commit  bool     // all files, before remove
		then    []string // arguments of git after remove
		remove  []string // files and directories
		options Options
		want    []string // parts of the diagnostic; none for a lock that is read or begun
		kinds   int
	}{
		"first start": {},
		"lock there":  {files: map[string]string{"tasks.lock": someLock}, kinds: 1},
		"lock of another name": {
			files: map[string]string{"my.lock": someLock}, options: Options{Lock: "my.lock"}, kinds: 1,
		},
		"generated code removed": {
			files:  map[string]string{"tasks.lock": someLock, "gen/watchtask/json.go": model.Header + "\n"},
			remove: []string{"gen"}, kinds: 1,
		},
		"generated code left": {
			files: map[string]string{"gen/watchtask/json.go": model.Header + "\n", "gen/watchtask/extra.go": "package watchtask\n"},
			want:  []string{"tasks.lock is missing, and gen/watchtask/json.go was generated with one", "restore it from version control", "-newlock"},
		},
		"other code in the directory": {files: map[string]string{"gen/mine.go": "package gen\n"}},
		"in git alone": {
			files: map[string]string{"tasks.lock": someLock}, commit: true, remove: []string{"tasks.lock"},
			want: []string{"tasks.lock is missing, and git has it in ", "git restore --source=", "-- :/tasks.lock", "-newlock"},
		},
		"staged alone": {
			files: map[string]string{"tasks.lock": someLock}, stage: true, remove: []string{"tasks.lock"},
			want: []string{"tasks.lock is missing, and git has it staged", "git restore -- :/tasks.lock", "-newlock"},
		},
		"deleted by a commit": {
			files: map[string]string{"tasks.lock": someLock}, commit: true, remove: []string{"tasks.lock"}, then: []string{"commit", "-q", "-a", "-m", "lost"},
			want: []string{"tasks.lock is missing, and git has it in ", "git restore --source=", "-- :/tasks.lock", "-newlock"},
		},
		"in another directory": {
			files: map[string]string{"executors/tasks.lock": someLock, "gen/watchtask/json.go": model.Header + "\n"}, options: Options{Patterns: []string{"./executors/..."}},
			want: []string{"tasks.lock is missing, but there is executors/tasks.lock", "run go generate", "-lock executors/tasks.lock"},
		},
		"begun anew": {
			files: map[string]string{"gen/watchtask/json.go": model.Header + "\n", "tasks.lock": someLock}, commit: true,
			remove: []string{"tasks.lock"}, options: Options{NewLock: true},
		},
		"begun anew beside the old one": {
			files: map[string]string{"tasks.lock": someLock}, options: Options{NewLock: true},
			want: []string{"-newlock begins a new lock file, but there is tasks.lock"},
		},
		"compared with another": {
			files: map[string]string{"released.lock": someLock, "gen/gen.go": model.Header + "\n"}, options: Options{Base: "released.lock"}, kinds: 1,
		},
		"compared with none": {
			options: Options{Base: "released.lock"}, want: []string{"the lock file of -base does not exist: released.lock"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for name, data := range c.files {
				write(t, filepath.Join(dir, name), []byte(data))
			}
			if c.commit || c.stage {
				git(t, dir, "init", "-q", "-b", "main")
				git(t, dir, "add", ".")
			}
			if c.commit {
				git(t, dir, "commit", "-q", "-m", "all")
			}
			for _, name := range c.remove {
				if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
					t.Fatal(err)
				}
			}
			if c.then != nil {
				git(t, dir, c.then...)
			}
			o := c.options
			if o.Lock == "" {
				o.Lock = lock.Name
			}
			before, wrong, err := readLock(t.Context(), dir, filepath.Join(dir, "gen"), &o)
			if err != nil {
				t.Fatal(err)
			}
			var told strings.Builder
			for _, d := range wrong {
				told.WriteString(d.String())
			}
			for _, part := range c.want {
				if !strings.Contains(told.String(), part) {
					t.Errorf("want %q in %q", part, told.String())
				}
			}
			if len(c.want) == 0 && (len(wrong) > 0 || len(before.Kinds) != c.kinds) {
				t.Errorf("got %d kinds and %q, want %d", len(before.Kinds), told.String(), c.kinds)
			}
		})
	}
}

// git runs git in a repository that has nothing to do with the user's settings.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=Test", "-c", "user.email=test@example.org"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_SYSTEM="+os.DevNull)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
