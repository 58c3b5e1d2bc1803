// Package taskkitcli has the commands of the program taskkit for programs of users, where the kinds of tasks are known:
//
//	root.AddCommand(taskkitcli.Command(taskkitcli.Config{Name: "tasks", DB: db, Registry: &registry}))
//
// Results go to the output of the command, everything else to its error output. Tables are for people, -o json is for
// programs. No text of a task, a reason or an error reaches the terminal with characters that it interprets.
package taskkitcli

import (
	"database/sql"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/command"
	"taskkit.dev/taskkit"
)

// Config says what the commands work on. The zero Config is valid: the flag -d names the database, and tasks can be
// controlled and not started.
type Config struct {
	// Name is how the commands are reached, such as "campus tasks", in help and errors. Its last word is the name of the
	// command. Defaults to taskkit. A command that is added to another one has the name of that before its own.
	Name string
	// DB is the database. Nil: the flag -d or the variable DATABASE_URL names PostgreSQL or an SQLite file.
	DB *sql.DB
	// Schema is the PostgreSQL schema of taskkit's tables. Defaults to [taskkit.DefaultSchema]. If DB is nil it is the
	// default of the flag --schema.
	Schema string
	// Registry has the kinds of the program. Nil: there are none.
	Registry *taskkit.Registry
}

// Command returns a command that has all others below it. It may be executed or added to another command, and run once at
// a time. While it runs, an interrupt ends it; a second one ends the program. Its errors are one sentence each, without
// characters that a terminal interprets; [ExitStatus] has their status. Cobra prints them unless the root has SilenceErrors.
func Command(c Config) *cobra.Command { return command.New(command.Config(c)).Complete() }

// ExitStatus returns the exit status of a program that ends with an error of a command, nil included: 0 success, 1 error,
// 2 wrong usage, 3 the task failed, 4 the task was stopped or deleted, 5 timeout, 130 interrupted. The command doctor has
// statuses of its own. An error of something else has the status 1.
func ExitStatus(err error) int { return command.ExitStatus(err) }
