//go:build !linux

package main

import "time"

// sleepExactly is for Linux.
func sleepExactly() {}

// sleep is as exact as Go's timers.
func sleep(d time.Duration) { time.Sleep(d) }
