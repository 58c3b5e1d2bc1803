// Taskkit is the operator's command line: it lists tasks, says why one waits,
// and asks things of them. `taskkit dev` is a demonstration that runs whole.
// See `taskkit help`.
package main

import (
	"os"

	"taskkit.dev/cmd/taskkit/internal/command"
)

func main() {
	os.Exit(command.Main(os.Args[1:], os.Stdout, os.Stderr))
}
