package cluster

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

const (
	// shared is the file system in memory that Linux has for everybody.
	shared = "/dev/shm"
	// roomy is how much must be free in it, and of the memory, for a server's files.
	roomy = 8 << 30

	tmpfsMagic = 0x01021994
)

// inMemory returns a directory whose files are in memory, or "" when there is none or
// too little is free.
func inMemory() string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(shared, &fs); err != nil || fs.Type != tmpfsMagic ||
		fs.Bavail*uint64(fs.Bsize) < roomy || available() < roomy { //nolint:gosec // a block has a size
		return ""
	}
	return shared
}

// available is how many bytes of memory can be had, 0 when that is not known.
func available() uint64 {
	f, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kilobytes uint64
		if after, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			if _, err := fmt.Sscan(after, &kilobytes); err == nil {
				return kilobytes << 10
			}
		}
	}
	return 0
}
