package chaos_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/testdb/cluster"
)

// disks are the scenarios of a disk that is full. The disk is a small one in memory,
// which only root can mount.
func disks() []scenarioType {
	return []scenarioType{
		{"disk-tables", false, fullTables},
		{"disk-log", false, fullLog},
		{"disk-sqlite", false, fullFile},
	}
}

// disk is a small file system.
type disk struct {
	*testing.T
	dir     string
	ballast string
}

// smallDisk mounts one of so many MB.
func smallDisk(t *testing.T, mb int) *disk {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "taskkit-disk-") //nolint:usetesting // an unprivileged server could not enter the test's own
	if err != nil {
		t.Skipf("no place for a small disk: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the server is another user
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm,mode=0755", mb), "taskkit", dir).CombinedOutput(); err != nil {
		t.Skipf("a full disk needs a small one, and it cannot be mounted here: %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("unmount %s: %v: %s", dir, err, out)
		}
	})
	return &disk{t, dir, filepath.Join(dir, "ballast")}
}

// give gives a directory of the disk to whom the data of a server belongs.
func (d *disk) give(dir string, data string) {
	d.Helper()
	info, err := os.Stat(data)
	if err != nil {
		d.Fatal(err)
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		d.Skip("no owner of files on this system")
	}
	if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
		d.Fatal(err)
	}
}

// fill fills the disk to its last byte, free frees it again.
func (d *disk) fill() {
	d.Helper()
	file, err := os.OpenFile(d.ballast, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		d.Fatal(err)
	}
	defer file.Close()
	for size := 1 << 20; size > 0; {
		_, err := file.Write(make([]byte, size))
		switch {
		case errors.Is(err, syscall.ENOSPC):
			size /= 2
		case err != nil:
			d.Fatal(err)
		}
	}
}

func (d *disk) free() {
	d.Helper()
	if err := os.Remove(d.ballast); err != nil {
		d.Fatal(err)
	}
}

// fullUntilFelt fills the disk, keeps it full until somebody has felt it and for a
// while longer, and frees it.
func (s *scenario) fullUntilFelt(d *disk, what string, felt func() bool) {
	s.Helper()
	d.fill()
	s.until("it is felt: "+what, func() bool {
		d.fill() // what was freed meanwhile
		return felt()
	})
	s.keepFault(what)
	d.free()
}

// noSpace are the words for a full disk.
var noSpace = []string{"No space left", "53100", "disk is full", "SQLITE_FULL"}

// fullTables: the disk of PostgreSQL's tables is full, and each statement that needs
// room fails.
func fullTables(t *testing.T, seed uint64) (*scenario, func()) {
	t.Helper()
	d := smallDisk(t, 128)
	_, db := ownServer(t, func(server *cluster.Server) {
		d.give(d.dir, dataOf(t, server))
		command(t, server, "CREATE TABLESPACE small LOCATION '"+d.dir+"'", "ALTER ROLE postgres SET default_tablespace = small")
	})
	s := setUp(t, db, seed)
	s.startWorkers(3)
	return s, func() {
		was := s.warnings(noSpace...)
		s.fullUntilFelt(d, "disk of the tables full", func() bool { return s.warnings(noSpace...) > was })
		s.progress()
	}
}

// fullLog: the disk of PostgreSQL's log is full, and the server ends, or ends and
// tries in vain to start.
func fullLog(t *testing.T, seed uint64) (*scenario, func()) {
	t.Helper()
	d := smallDisk(t, 160)
	server, db := ownServer(t, func(server *cluster.Server) {
		command(t, server, "ALTER SYSTEM SET max_wal_size = '48MB'", "ALTER SYSTEM SET min_wal_size = '32MB'")
		data := dataOf(t, server)
		if err := server.Fast(t.Context()); err != nil {
			t.Fatal(err)
		}
		wal, moved := filepath.Join(data, "pg_wal"), filepath.Join(d.dir, "pg_wal")
		if out, err := exec.CommandContext(t.Context(), "cp", "-a", wal, moved).CombinedOutput(); err != nil {
			t.Fatalf("move the log: %v: %s", err, out)
		}
		err := os.RemoveAll(wal)
		if err == nil {
			err = os.Symlink(moved, wal)
		}
		if err == nil {
			err = server.Start(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	s := setUp(t, db, seed)
	s.startWorkers(3)
	return s, func() {
		s.fullUntilFelt(d, "disk of the log full", func() bool {
			// Only a new segment needs room.
			_, err := s.count("SELECT 1 FROM pg_switch_wal()")
			return err != nil
		})
		if err := server.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.progress()
	}
}

// dataOf is where a server has its data.
func dataOf(t *testing.T, server *cluster.Server) (dir string) {
	t.Helper()
	db := openedAt(t, server.DSN)
	if err := db.QueryRowContext(t.Context(), "SHOW data_directory").Scan(&dir); err != nil {
		t.Fatal(err)
	}
	_ = db.Close() // the server may be about to end
	return dir
}

// fullFile: the disk of an SQLite file is full.
func fullFile(t *testing.T, seed uint64) (*scenario, func()) {
	t.Helper()
	d := smallDisk(t, 64)
	s := setUp(t, testdb.SQLite(t, testdb.Dir(d.dir)), seed)
	s.startWorkers(2)
	return s, func() {
		was := s.warnings(noSpace...)
		s.fullUntilFelt(d, "disk of the file full", func() bool { return s.warnings(noSpace...) > was })
		s.progress()
	}
}
