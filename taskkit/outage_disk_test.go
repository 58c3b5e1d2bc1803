package taskkit_test

import (
	"errors"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
)

// A disk that is full for a while ends no task. The disks are small file systems in memory.
func TestOutageOfDisk(t *testing.T) {
	t.Parallel()
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		admin := testdb.Postgres(t)
		disk := smallDisk(t, "48m", "postgres")
		space := "space_" + admin.Schema
		statements(admin, "CREATE TABLESPACE "+space+" LOCATION '"+disk+"'")(t)
		t.Cleanup(func() { statements(admin, "DROP TABLESPACE "+space)(t) })
		server := testdb.OwnDatabase(t)
		u, err := url.Parse(server.DSN)
		if err != nil {
			t.Fatal(err)
		}
		statements(admin, "ALTER DATABASE "+strings.TrimPrefix(u.Path, "/")+" SET TABLESPACE "+space)(t)
		owner, worker, _ := asWorker(t, testdb.On(t, server))
		full := fullDisk(disk)
		meetFault(t, owner, worker, fault{mend: full.mend, begin: func(t *testing.T) {
			t.Helper()
			refuseSessions(t, disk)
			full.begin(t)
		}})
	})
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		disk := smallDisk(t, "48m", "root")
		db := migrated(t, testdb.SQLite(t, testdb.Dir(disk)))
		makeTouch(t, db.DB)
		meetFault(t, db, db, fullDisk(disk))
	})
}

// refuseSessions removes the files that PostgreSQL writes when the next session begins. It refuses the session if it cannot.
func refuseSessions(t *testing.T, disk string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(disk, "PG_*", "*", "pg_internal.init"))
	if err != nil || len(files) == 0 {
		t.Fatalf("find the files of new sessions: %v, %v", files, err)
	}
	for _, name := range files {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
}

// smallDisk mounts a small disk that belongs to a user.
func smallDisk(t *testing.T, size, owner string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root may mount a small disk")
	}
	u, err := user.Lookup(owner)
	if err != nil {
		t.Skipf("the server of the tests does not run as %s here: %v", owner, err)
	}
	dir, err := os.MkdirTemp("", "taskkit-disk-") //nolint:usetesting // t.TempDir is in a directory that no server may read
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(dir) })
	options := "size=" + size + ",mode=0700,uid=" + u.Uid + ",gid=" + u.Gid
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", options, "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no disk can be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil { // the context of the test has ended
			t.Errorf("unmount %s: %v: %s", dir, err, out)
		}
	})
	return dir
}

// fullDisk is the fault that another file takes all that is free.
func fullDisk(disk string) fault {
	name := filepath.Join(disk, "full")
	return fault{
		begin: func(t *testing.T) {
			t.Helper()
			f, err := os.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for err == nil {
				_, err = f.Write(make([]byte, 4096))
			}
			if !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
		},
		mend: func(t *testing.T) {
			t.Helper()
			if err := os.Remove(name); err != nil {
				t.Error(err)
			}
		},
	}
}
