package main

import (
	"syscall"
	"time"
)

// sleepExactly makes the sleeps of this thread end on time, and not up to 50 us later, which is how
// long Linux waits for other timers by default.
func sleepExactly() {
	const setTimerSlack = 29 // PR_SET_TIMERSLACK
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setTimerSlack, 1, 0)
}

// sleep blocks the thread.
func sleep(d time.Duration) {
	left := syscall.NsecToTimespec(int64(d))
	for syscall.Nanosleep(&left, &left) == syscall.EINTR {
		continue // Go interrupts threads
	}
}
