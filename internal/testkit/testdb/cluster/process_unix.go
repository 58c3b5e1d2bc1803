//go:build unix

package cluster

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// detach gives the command a session of its own, so that an interrupt typed at
// the terminal reaches the tests and not their server, and takes root's rights
// from it.
func detach(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() != 0 {
		return nil
	}
	cred, err := unprivileged()
	if err != nil {
		return err
	}
	cmd.SysProcAttr.Credential = cred
	return nil
}

// unprivileged returns the user as whom root runs a server.
func unprivileged() (*syscall.Credential, error) {
	var errs []error
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		uid, uerr := strconv.ParseUint(u.Uid, 10, 32)
		gid, gerr := strconv.ParseUint(u.Gid, 10, 32)
		if uerr != nil || gerr != nil || uid == 0 {
			errs = append(errs, fmt.Errorf("user %s has the ids %s and %s", name, u.Uid, u.Gid))
			continue
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, fmt.Errorf("find a user to run PostgreSQL as, since it refuses root: %w; create the user postgres or run the tests as an ordinary user", errors.Join(errs...))
}

// locked runs f while no other process on this machine runs it. Two test
// binaries that both miss a program must not both install it.
func locked(path string, f func() error) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("open the lock %s: %w", path, err)
	}
	defer file.Close() // also unlocks
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", path, err)
	}
	return f()
}
