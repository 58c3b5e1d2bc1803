package command

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/internal/tasksearch"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
)

// bulkFrom is from how many tasks on a bulk operation makes the requests, if a worker can.
const bulkFrom = 1000

// bulkStarted says that a bulk operation makes the requests.
type bulkStarted struct {
	Task  taskkit.ID `json:"task"`
	Tasks int64      `json:"tasks"`
}

// inBulk submits a bulk operation for all tasks of a search. It reports false if no live worker makes its requests, or it is refused, as a stop without
// a reason is: then the command makes them.
func (a *App) inBulk(c *cobra.Command, db *Connection, q *tasksearch.Query, r taskbulk.Request) (bool, error) {
	ctx := c.Context()
	queue, served, err := taskbulk.Queue(ctx, db.Client)
	if err != nil || !served {
		return false, err
	}
	if r.Filter, err = q.Filter(func(text string) (taskkit.ID, error) { return db.Resolve(ctx, text) }); err != nil {
		return false, several(err)
	}
	if r.All = q.All; r.Check() != nil {
		return false, nil //nolint:nilerr // requests one by one say what is wrong, or can do it
	}
	id, n, err := a.submitBulk(ctx, db, r, queue)
	var (
		filter *taskbulk.FilterError
		many   *taskbulk.TooManyError
	)
	if errors.As(err, &filter) || errors.As(err, &many) || errors.Is(err, taskbulk.ErrNone) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, a.printNamed(id.String(), bulkStarted{id, n}, func(w io.Writer) {
		fmt.Fprintf(w, "task %s will %s %s: follow it with `%s`\n", id, verb(c), taskCount(int(n)), screen.Clean(a.named("taskkit watch "+id.String())))
	})
}

func (a *App) submitBulk(ctx context.Context, db *Connection, r taskbulk.Request, queue string) (taskkit.ID, int64, error) {
	return taskbulk.Submit(ctx, db.DB, r, taskkit.WithSchema(a.Schema()), taskkit.WithQueue(queue))
}
