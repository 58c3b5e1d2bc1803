package command

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"taskkit.dev/taskkit"
)

// listEvery is how often ls --watch reads the tasks.
const listEvery = 2 * time.Second

// watchList lists tasks until ctx ends. On a terminal the list is drawn anew; elsewhere the rows that have changed are written.
func (a *App) watchList(ctx context.Context, db *Connection, read func() ([]*taskkit.Task, taskkit.ID, error)) error {
	failed := outage{screen: a.err}
	last := make(map[taskkit.ID]string)
	header := taskList.header
	tick := time.NewTicker(listEvery)
	defer tick.Stop()
	for {
		page, err := a.readList(ctx, db, read)
		if ctx.Err() != nil {
			return &statusError{exitInterrupted, ""}
		}
		failed.report(err)
		switch {
		case err != nil:
		case a.out.Terminal && a.output == tableFormat:
			fmt.Fprint(a.out, "\x1b[H\x1b[2J")
			fmt.Fprintln(a.out, time.Now().Format(time.TimeOnly))
			if err := printList(a, page, taskList); err != nil {
				return err
			}
		default:
			var changed []listed
			for _, t := range slices.Backward(page) { // the oldest first
				row := strings.Join([]string{status(t.Task), progress(t.Task), t.Note}, "\t")
				if last[t.ID] != row {
					changed, last[t.ID] = append(changed, t), row
				}
			}
			if a.output == ndjsonFormat {
				if err := printList(a, changed, taskList); err != nil {
					return err
				}
			} else if len(changed) > 0 {
				rows := make([][]string, len(changed))
				for i, t := range changed {
					rows[i] = taskList.row(t)
				}
				a.out.Table(header, rows, taskList.numbers...)
				header = nil
			}
		}
		select {
		case <-ctx.Done():
			return &statusError{exitInterrupted, ""}
		case <-tick.C:
		}
	}
}

func (a *App) readList(ctx context.Context, db *Connection, read func() ([]*taskkit.Task, taskkit.ID, error)) ([]listed, error) {
	tasks, _, err := read()
	if err != nil {
		return nil, err
	}
	explained, err := db.ExplainAll(ctx, tasks)
	if err != nil {
		return nil, err
	}
	return listedTasks(tasks, explained), nil
}
