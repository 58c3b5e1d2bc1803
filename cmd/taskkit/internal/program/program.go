// Package program is the program taskkit: the commands for operators, the server, and the demonstrations.
package program

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/command"
	"taskkit.dev/cmd/taskkit/internal/dev"
	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
)

// program has the commands that only the program taskkit has.
type program struct{ *command.App }

// Main runs the program and returns its exit status.
func Main(args []string, stdout, stderr *os.File) int {
	p := program{command.New(command.Config{})}
	root := p.Root()
	root.Version = taskkit.Version
	root.SetVersionTemplate("taskkit {{.Version}}\n")
	root.Example = "  taskkit dev --exit                     run the demonstration\n" + root.Example
	root.SilenceErrors = true
	for _, c := range root.Commands() {
		if c.Name() == "intake" {
			p.addIntake(c)
		}
	}
	root.AddCommand(
		p.devCommand(), p.serveCommand(),
		&cobra.Command{
			Use: dev.WorkerCommand, Hidden: true, Short: "Run as a worker of taskkit dev", Args: command.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error { return dev.Worker(c.Context(), os.Stdin, os.Stdout) },
		},
	)
	p.Complete()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err != nil && err.Error() != "" {
		fmt.Fprintln(stderr, screen.New(stderr).Red("taskkit:"), err)
	}
	return command.ExitStatus(err)
}
