package taskhttp

import (
	"syscall"
	"time"
)

// sleepExactly sleeps in the kernel, which is exact to some ten microseconds. It takes a thread meanwhile.
func sleepExactly(d time.Duration) {
	if d <= 0 {
		return
	}
	for left := syscall.NsecToTimespec(int64(d)); ; {
		if err := syscall.Nanosleep(&left, &left); err != syscall.EINTR {
			return
		}
	}
}
