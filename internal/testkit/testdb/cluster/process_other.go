//go:build !unix

package cluster

import (
	"errors"
	"os/exec"
)

// errNotUnix says what to do on a system without sessions and /bin/sh.
var errNotUnix = errors.New("a private PostgreSQL is started on Unix systems only: set " + PostgresEnv + " to the DSN of a superuser of a server for tests")

func detach(*exec.Cmd) error { return errNotUnix }

func locked(string, func() error) error { return errNotUnix }
