package taskkitcli_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	_ "modernc.org/sqlite"

	"taskkit.dev/cmd/taskkit/taskkitcli"
)

// A program has the commands for its tasks below its own.
func Example() {
	dir, err := os.MkdirTemp("", "campus")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "campus.db"))
	if err != nil {
		panic(err)
	}
	defer db.Close()
	for _, args := range [][]string{
		{"tasks", "migrate"},
		{"tasks", "queues", "pause", "mail", "--new"},
		{"tasks", "show", "@last"},
	} {
		root := &cobra.Command{Use: "campus", SilenceErrors: true}
		root.AddCommand(taskkitcli.Command(taskkitcli.Config{Name: "tasks", DB: db}))
		root.SetOut(os.Stdout)
		root.SetArgs(args)
		if err := root.Execute(); err != nil {
			fmt.Println(err, taskkitcli.ExitStatus(err))
		}
	}
	// Output:
	// the database of the program: created taskkit's tables, version 1
	// queue mail is paused; waiting: 0, running: 0
	// "@last" does not identify a task: there is no task yet 1
}
