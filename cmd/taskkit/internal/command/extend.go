package command

import (
	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
)

// Out is where results go, while a command runs.
func (a *App) Out() screen.Screen { return a.out }

// Err is where everything else goes, while a command runs.
func (a *App) Err() screen.Screen { return a.err }

// JSON reports whether the output is for programs.
func (a *App) JSON() bool { return a.output == jsonFormat }

// URL is the value of -d, which may be empty.
func (a *App) URL() *string { return &a.url }

// GivenSchema is the value of --schema, which may be empty.
func (a *App) GivenSchema() string { return a.schema }

// Usage returns an error about wrong arguments.
func Usage(format string, args ...any) error { return usage(format, args...) }

// Sentence returns the text of an error as the command prints it.
func Sentence(err error) string { return sentence(err) }

// NoArgs rejects arguments.
func NoArgs(c *cobra.Command, args []string) error { return noArgs(c, args) }
