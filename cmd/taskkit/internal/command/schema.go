package command

import (
	_ "embed" // the schemas
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
)

// outputSchemas has the JSON Schema of each value of written, by its name. TestSchemas writes it with -update.
//
//go:embed outputs.json
var outputSchemas []byte

// written says what each command writes with -o json: the name of a schema of outputSchemas.
var written = map[string]string{
	"ls": "tasks", "dead show": "tasks", "show": "shown", "watch": "started", "explain": "explanation",
	"run": "started", "continue": "task", "apply": "task", "retry-failed": "task", "approve": "task", "rate": "task",
	"stop": "request", "pause": "request", "resume": "request", "set": "request", "retry": "request", "rm": "request",
	"items": "items", "buckets": "buckets", "result": "result",
	"kinds": "kinds", "kinds show": "kind", "workers": "workers", "changes": "changes", "doctor": "doctor",
	"limits": "limits", "limits set": "limit", "queues": "queues", "queues list": "queues", "queues pause": "queue", "queues resume": "queue",
	"dead": "dead", "dead list": "dead", "dead retry": "dead_report", "dead drop": "dead_report", "prune-events": "pruned",
	"schedules": "schedules", "schedules list": "schedules", "schedules show": "schedule", "schedules set": "schedule",
	"schedules pause": "schedule", "schedules resume": "schedule", "schedules trigger": "schedule", "schedules delete": "deleted",
	"intake refused": "refused", "intake redrive": "redriven",
	"migrate": "migrated", "migrate status": "tables", "migrate sql": "sql", "version": "version", "schema": "schema",
}

func (a *App) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema COMMAND...",
		Short: "Print the JSON Schema of what a command writes",
		Long: `Print the JSON Schema (2020-12) of what a command writes with -o json. A command that is given several tasks
writes a value for each. With -o ndjson each line is an element of the list, or the value.`,
		Example: `  taskkit schema ls
  taskkit schema queues pause`,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (words []string, _ cobra.ShellCompDirective) {
			for _, name := range slices.Sorted(maps.Keys(written)) {
				if all := strings.Fields(name); len(all) > len(args) && slices.Equal(all[:len(args)], args) && !slices.Contains(words, all[len(args)]) {
					words = append(words, all[len(args)])
				}
			}
			return words, noFiles
		},
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("give a command, such as ls: see `%s --help`", c.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			command := strings.Join(args, " ")
			name, ok := written[command]
			if !ok {
				return usage("no command %q writes JSON: the commands are %s", screen.Clean(command), strings.Join(slices.Sorted(maps.Keys(written)), ", "))
			}
			var all map[string]json.RawMessage
			if err := json.Unmarshal(outputSchemas, &all); err != nil {
				return fmt.Errorf("read the schemas of the program: %w", err)
			}
			return a.print(all[name], func(w io.Writer) { _ = screen.JSON(w, all[name]) })
		},
	}
}
