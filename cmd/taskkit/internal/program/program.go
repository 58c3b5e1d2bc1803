// Package program is the program taskkit: the commands for operators, the server, and the demonstrations.
package program

import (
	"fmt"
	"os"
	"strings"

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
	root.Example = "  taskkit dev --exit        run the demonstration\n" + root.Example
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
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	checkBuiltIn(root)
	p.Complete()
	err := root.Execute()
	if err != nil && err.Error() != "" {
		fmt.Fprintln(stderr, screen.New(stderr).Red("taskkit:"), err)
	}
	return command.ExitStatus(err)
}

// checkBuiltIn makes wrong arguments of cobra's own commands help and completion errors. Without this they print help and succeed.
func checkBuiltIn(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Args = func(c *cobra.Command, args []string) error {
				of, rest, err := c.Root().Find(args)
				if err != nil || len(rest) > 0 {
					return command.Usage("unknown command %q: see `%s --help`", strings.Join(args, " "), of.CommandPath())
				}
				return nil
			}
		case "completion":
			c.Args, c.RunE = command.NoArgs, func(c *cobra.Command, _ []string) error { return c.Help() }
			for _, shell := range c.Commands() {
				shell.Args = command.NoArgs
			}
		}
	}
}
