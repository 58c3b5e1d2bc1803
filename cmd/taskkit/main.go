// Taskkit is the command line for operators. It lists tasks, explains why one is
// waiting, and controls them. `taskkit dev` runs a demonstration that needs no
// setup. See `taskkit help`.
package main

import (
	"os"

	_ "time/tzdata" // schedules have time zones, and a system may have none

	"taskkit.dev/cmd/taskkit/internal/program"
)

func main() {
	os.Exit(program.Main(os.Args[1:], os.Stdout, os.Stderr))
}
