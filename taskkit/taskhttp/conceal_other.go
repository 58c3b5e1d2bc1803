//go:build !linux

package taskhttp

import "time"

// sleepExactly sleeps as exactly as the runtime does.
func sleepExactly(d time.Duration) { time.Sleep(d) }
