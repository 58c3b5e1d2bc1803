package command

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/internal/tasksearch"
	"taskkit.dev/taskkit"
)

// completeWithin bounds how long a completion reads the database: a person waits for it.
const completeWithin = 2 * time.Second

// completeMost is how many tasks are offered.
const completeMost = 30

const noFiles = cobra.ShellCompDirectiveNoFileComp

// offered reads the database for a completion. Without an answer nothing is offered.
func (a *App) offered(c *cobra.Command, read func(context.Context, *Connection) []string) ([]string, cobra.ShellCompDirective) {
	ctx := c.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completeWithin)
	defer cancel()
	db, err := a.Connect(ctx)
	if err != nil {
		return nil, noFiles
	}
	defer db.Close()
	// A name that a terminal would interpret is not offered.
	return slices.DeleteFunc(read(ctx, db), func(text string) bool {
		name, _, _ := strings.Cut(text, "\t")
		return screen.Clean(name) != name
	}), noFiles
}

// completeTasks completes the ids of the newest tasks.
func (a *App) completeTasks(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.offered(c, func(ctx context.Context, db *Connection) (ids []string) {
		tasks, _, err := db.Tasks(ctx, taskkit.Filter{Limit: completeMost})
		if err != nil {
			return nil
		}
		for _, t := range tasks {
			if id := t.ID.String(); !slices.Contains(args, id) {
				ids = append(ids, cobra.CompletionWithDesc(id, screen.Clean(t.Kind+" "+string(t.Status))))
			}
		}
		return append(ids, cobra.CompletionWithDesc("@last", "the newest task"))
	})
}

// completeKinds completes the name of one kind.
func (a *App) completeKinds(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	return a.kindNames(c), noFiles
}

// kindNames returns the kinds of the program and of the live workers.
func (a *App) kindNames(c *cobra.Command) (names []string) {
	if a.Registry != nil {
		names = a.Registry.Kinds()
	}
	others, _ := a.offered(c, func(ctx context.Context, db *Connection) (others []string) {
		workers, err := db.Workers(ctx)
		if err != nil {
			return nil
		}
		for _, w := range workers {
			for name := range w.Kinds {
				if w.Alive && !slices.Contains(names, name) && !slices.Contains(others, name) {
					others = append(others, name)
				}
			}
		}
		return others
	})
	names = append(names, others...)
	slices.Sort(names)
	return names
}

// completeQueues completes the name of one queue.
func (a *App) completeQueues(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	return a.offered(c, func(ctx context.Context, db *Connection) (names []string) {
		queues, err := db.Queues(ctx)
		if err != nil {
			return nil
		}
		for _, q := range queues {
			names = append(names, q.Name)
		}
		return names
	})
}

// completeSchedules completes the name of one schedule.
func (a *App) completeSchedules(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	return a.offered(c, func(ctx context.Context, db *Connection) (names []string) {
		all, err := db.Schedules(ctx)
		if err != nil {
			return nil
		}
		for _, s := range all {
			names = append(names, s.Name)
		}
		return names
	})
}

// completeSearch completes the last word of a search.
func completeSearch(_ *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
	before := text[:strings.LastIndex(text, " ")+1]
	var all []string
	for _, name := range tasksearch.Names() {
		all = append(all, before+name+":")
	}
	for _, s := range tasksearch.Statuses() {
		all = append(all, before+"status:"+s)
	}
	return all, noFiles | cobra.ShellCompDirectiveNoSpace
}

// completions adds to each command of the tree what it completes: by the words of its arguments and the names of its flags.
func (a *App) completions(c *cobra.Command) {
	if c.ValidArgsFunction == nil && c.Use != "" {
		switch _, argument, _ := strings.Cut(c.Use, " "); {
		case strings.HasPrefix(argument, "TASK"), strings.HasPrefix(argument, "[TASK"):
			c.ValidArgsFunction = a.completeTasks
		case argument == "NAME" && c.Parent().Name() == "queues":
			c.ValidArgsFunction = a.completeQueues
		case argument == "NAME" && c.Parent().Name() == "schedules":
			c.ValidArgsFunction = a.completeSchedules
		case !c.HasSubCommands():
			c.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
	for name, complete := range map[string]cobra.CompletionFunc{
		"kind": func(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return a.kindNames(c), noFiles
		},
		"status": cobra.FixedCompletions(tasksearch.Statuses(), noFiles),
		"queue": func(c *cobra.Command, _ []string, text string) ([]string, cobra.ShellCompDirective) {
			return a.completeQueues(c, nil, text)
		},
		"parent": a.completeTasks,
		"before": a.completeTasks,
	} {
		if _, done := c.GetFlagCompletionFunc(name); !done && c.LocalNonPersistentFlags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, complete)
		}
	}
}
