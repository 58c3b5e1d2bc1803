package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The metrics of processor time for a task or an item. Unlike a rate, it hardly varies
// when the machine is busy with other work.
const (
	cpuPerTask    = "client CPU us/task"
	serverPerTask = "server CPU us/task"
	cpuPerItem    = "client CPU us/item"
	serverPerItem = "server CPU us/item"
)

// used is processor time: of this process, and of PostgreSQL's processes.
type used struct{ client, server time.Duration }

// used returns the processor time so far. Without /proc the server's time is 0, and its
// metrics are not shown.
func (h *host) used(ctx context.Context) (used, error) {
	server, err := h.serverTime(ctx)
	return used{cpuTime(), server}, err
}

// since adds to a sample the processor time since before, for each of n.
func (h *host) since(ctx context.Context, before used, n int, to sample, client, server string) error {
	now, err := h.used(ctx)
	if err != nil {
		return err
	}
	to[client] = perUnit(now.client-before.client, n)
	if now.server > before.server {
		to[server] = perUnit(now.server-before.server, n)
	}
	return nil
}

// perUnit returns microseconds for each of n.
func perUnit(d time.Duration, n int) float64 {
	return float64(d) / float64(time.Microsecond) / float64(n)
}

// cpuTime returns the processor time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// tick is the unit of processor times in Linux's /proc/PID/stat.
const tick = 10 * time.Millisecond

// serverTime returns the processor time of PostgreSQL's processes, including ended ones.
func (h *host) serverTime(ctx context.Context) (time.Duration, error) {
	if h.postmaster == "" {
		var dir string
		if err := h.queryRow(ctx, "SELECT setting FROM pg_settings WHERE name = 'data_directory'", &dir); err != nil {
			return 0, err
		}
		text, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
		if err != nil {
			return 0, fmt.Errorf("find PostgreSQL's process: %w", err)
		}
		h.postmaster, _, _ = strings.Cut(string(text), "\n")
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return 0, fmt.Errorf("list processes: %w", err)
	}
	var sum time.Duration
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended, and is counted by its parent
		}
		// The name is in parentheses and may contain spaces.
		i := bytes.LastIndexByte(text, ')')
		f := strings.Fields(string(text[i+1:])) // state, ppid, ... utime, stime, cutime, cstime
		if len(f) < 15 {
			continue
		}
		own := filepath.Base(filepath.Dir(path)) == h.postmaster
		if own {
			sum += ticks(f[11:15])
		} else if f[1] == h.postmaster {
			sum += ticks(f[11:13])
		}
	}
	return sum, nil
}

// ticks adds up times of /proc/PID/stat.
func ticks(words []string) time.Duration {
	var sum time.Duration
	for _, w := range words {
		if n, err := strconv.ParseInt(w, 10, 64); err == nil {
			sum += time.Duration(n) * tick
		}
	}
	return sum
}
