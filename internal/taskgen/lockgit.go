package taskgen

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"taskkit.dev/internal/taskgen/lock"
	"taskkit.dev/internal/taskgen/model"
)

// gitFile is a file as git knows it, whether it is in the work tree or not.
type gitFile struct {
	dir  string // where git runs
	path string // of the file, from the root of the repository
	// commit has the version that restore returned a command for; "" if that is
	// staged and not committed.
	commit string
}

// gitAround returns a file of a repository. It is nil when there is no git or no
// repository.
func gitAround(ctx context.Context, file string) *gitFile {
	dir, rest := filepath.Dir(file), filepath.Base(file)
	for dir != filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			break
		}
		dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest)
	}
	g := &gitFile{dir: dir}
	prefix, err := g.git(ctx, "rev-parse", "--show-prefix")
	if err != nil {
		return nil
	}
	g.path = strings.TrimSpace(string(prefix)) + filepath.ToSlash(rest)
	return g
}

// git runs git where the file is.
func (g *gitFile) git(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = g.dir
	return cmd.Output()
}

// versions bounds how far back a version is searched that is not damaged.
const versions = 20

// restore returns the command that restores the newest version that is not
// damaged, or "".
func (g *gitFile) restore(ctx context.Context) string {
	var committed []byte
	log, _ := g.git(ctx, "log", fmt.Sprint("-", versions), "--diff-filter=AMRT", "--format=%h", "--", ":/"+g.path)
	for commit := range strings.FieldsSeq(string(log)) {
		if data, ok := g.intact(ctx, commit); ok {
			committed, g.commit = data, commit
			break
		}
	}
	staged, ok := g.intact(ctx, "")
	switch {
	case ok && !bytes.Equal(staged, committed):
		g.commit = ""
		return "git restore -- :/" + g.path
	case g.commit != "":
		return fmt.Sprintf("git restore --source=%s -- :/%s", g.commit, g.path)
	default:
		return ""
	}
}

// intact returns the file as it is in a commit, or is staged, unless it is damaged.
func (g *gitFile) intact(ctx context.Context, commit string) ([]byte, bool) {
	data, err := g.git(ctx, "show", commit+":"+g.path)
	if err != nil {
		return nil, false
	}
	_, damage := lock.Read(data)
	return data, damage == nil
}

// readBranch reads the lock file as it is in a branch or commit. It reports false
// when there is none there.
func readBranch(ctx context.Context, dir, file, ref string) (before *lock.Lock, wrong []model.Diagnostic, found bool) {
	refuse := func(message, remedy string) (*lock.Lock, []model.Diagnostic, bool) {
		return nil, []model.Diagnostic{{Message: message, Remedy: remedy}}, true
	}
	g := gitAround(ctx, file)
	if g == nil {
		return refuse("-base git:"+ref+": "+relative(dir, file)+" is not in a git repository, or git is not installed",
			"run taskgen in a clone, or name a lock file with -base FILE")
	}
	if ref == "" || strings.HasPrefix(ref, "-") {
		return refuse("-base git:"+ref+" names no branch", "write one, as in -base git:main")
	}
	if _, err := g.git(ctx, "rev-parse", "--verify", "--quiet", ref+"^{commit}"); err != nil {
		// A clone of a single branch makes no origin/main of a fetch that does not name it.
		return refuse("-base git:"+ref+": git knows no branch or commit "+ref,
			fmt.Sprintf("fetch it: git fetch origin %[1]s:refs/remotes/origin/%[1]s, and name it as in -base git:origin/%[1]s; a shallow clone, as CI makes, has one branch only", strings.TrimPrefix(ref, "origin/")))
	}
	listed, err := g.git(ctx, "ls-tree", "--full-tree", "--name-only", ref, "--", g.path)
	if err == nil && len(bytes.TrimSpace(listed)) == 0 {
		return nil, nil, false
	}
	data, err := g.git(ctx, "show", ref+":"+g.path)
	if err != nil {
		return refuse(fmt.Sprintf("-base git:%s: git show %[1]s:%s: %v", ref, g.path, err), "fetch the branch as a whole")
	}
	before, damage := lock.Read(data)
	if damage == nil {
		return before, nil, true
	}
	return nil, []model.Diagnostic{damage.Diagnostic(ref+":"+g.path, lock.Source{Git: ":/" + g.path, Branch: ref})}, true
}
