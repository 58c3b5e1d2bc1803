package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/taskcause"
	"taskkit.dev/taskkit/taskpolicy"
)

// How many rows of a task's history are shown.
const (
	showItems    = 20
	showAttempts = 5
	showEvents   = 10
)

// shown is the output of show.
type shown struct {
	Task    taskJSON        `json:"task"`
	Cause   taskcause.Cause `json:"cause"`
	Explain string          `json:"explain"`
	// Progress says how fast the task is and how long the rest takes.
	Progress *taskkit.TaskProgress `json:"progress"`
	Result   json.RawMessage       `json:"result,omitempty"`
	// Preview is the report of a preview.
	Preview *taskkit.PreviewReport `json:"preview,omitempty"`
	// Rules are what the task was given about errors.
	Rules    taskpolicy.Rules  `json:"rules,omitzero"`
	Failed   []taskkit.Item    `json:"failed"`
	Attempts []taskkit.Attempt `json:"attempts"`
	Events   []taskkit.Event   `json:"events"`
	// Children are the first children, and MoreChildren is how many there are besides them.
	Children     []childNode `json:"children,omitempty"`
	MoreChildren int64       `json:"more_children,omitempty"`
	// Buckets are the first that are open or have failed.
	Buckets []childJSON `json:"buckets,omitempty"`
}

func (a *App) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show TASK",
		Short: "Show a task with its spec, state, result and history",
		Long: `Show a task with its spec, state and result, how fast it is and how long the rest
takes, its first failed items, its last failed attempts, and the requests made on it. See taskkit items for all items.

Of a task with children it shows the tree of them, the first 20 of each task, and of a
task with buckets those that are open or have failed, with their segments.`,
		Example: `  taskkit show @last
  taskkit show 8057 -o json`,
		Args: taskArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.on(c, args[0], func(db *Connection, t *taskkit.Task) error {
				s, err := db.read(c, t)
				if err != nil {
					return err
				}
				return a.print(s, func(io.Writer) { a.show(s) })
			})
		},
	}
}

// on opens the database, finds a task and calls f with it.
func (a *App) on(c *cobra.Command, text string, f func(*Connection, *taskkit.Task) error) error {
	db, err := a.Connect(c.Context())
	if err != nil {
		return err
	}
	defer db.Close()
	t, err := db.find(c.Context(), text)
	if err != nil {
		return err
	}
	return f(db, t)
}

// read reads the output of show.
func (c *Connection) read(cmd *cobra.Command, t *taskkit.Task) (s shown, err error) {
	ctx := cmd.Context()
	s.Task = operatorsTask(t)
	explained, err := c.ExplainAll(ctx, []*taskkit.Task{t})
	if err != nil {
		return s, err
	}
	s.Cause, s.Explain = explained[0].Cause, explained[0].Text
	if s.Progress, err = c.Progress(ctx, t.ID); err != nil {
		return s, err
	}
	if s.Result, err = c.Result(ctx, t.ID); err != nil && !errors.Is(err, taskkit.ErrNoResult) && !errors.Is(err, taskkit.ErrExpired) {
		return s, err
	}
	if s.Preview, err = c.Preview(ctx, t.ID); err != nil {
		if _, other := errors.AsType[*taskkit.PreviewError](err); !other {
			return s, err
		}
	}
	if s.Rules, err = c.Rules(ctx, t.ID); err != nil {
		return s, err
	}
	for item, err := range c.Items(ctx, t.ID, taskkit.OutcomeFailed) {
		if err != nil {
			return s, err
		}
		if s.Failed = append(s.Failed, item); len(s.Failed) == showItems {
			break
		}
	}
	if s.Attempts, err = c.Attempts(ctx, t.ID, showAttempts); err != nil {
		return s, err
	}
	if s.Events, err = c.Events(ctx, t.ID, showEvents); err != nil {
		return s, err
	}
	room := showTree
	if s.Children, s.MoreChildren, err = c.tree(ctx, t, &room); err != nil {
		return s, err
	}
	s.Buckets, err = c.troubled(ctx, t)
	return s, err
}

func (a *App) show(s shown) {
	t := s.Task.Task
	a.out.Fields([][2]string{
		{"id", t.ID.String()},
		{"kind", fmt.Sprintf("%s (revision %d)", t.Kind, t.Revision)},
		{"status", string(t.Status)},
		{"cause", string(s.Cause)},
		{"", s.Explain},
		{"items", itemsLine(t)},
		{"", remaining(s.Progress)},
		{"queue", fmt.Sprintf("%s, priority %d", t.Queue, t.Priority)},
		{"owner", person(t.Owner)},
		{"runs as", person(t.RunAs)},
		{"submitted by", person(t.CreatedBy)},
		{"submitted", screen.Time(t.Created)},
		{"started", optional(t.Started)},
		{"last lease", optional(t.LeaseStarted)},
		{"ended", optional(t.Stopped)},
		{"worker", t.Worker},
		{"fence", fmt.Sprintf("%d, checkpoints %d, attempts since the last checkpoint %d", t.Fence, t.Checkpoints, t.Attempts)},
		{"unique key", t.UniqueKey},
		{"reference", reference(t)},
		{"reason", t.Reason},
		{"strategy", inOrder(s.Rules.Strategy)},
		{"policies", inOrder(s.Rules.Policies)},
		{"fired", strings.Join(s.Rules.Fired, ", ")},
		{"parent", nonzero(t.Parent)},
		{"follows", nonzero(t.Follows)},
		{"delivers", delivers(t)},
		{"spec", compact(t.SpecJSON)},
		{"state", compact(t.StateJSON)},
		{"result", compact(s.Result)},
		{"description", t.StatusDetail},
	})
	if s.Preview != nil {
		a.showPreview(s.Preview)
	}
	a.showChildrenOf(s)
	if len(s.Failed) > 0 {
		rows := make([][]string, len(s.Failed))
		for i, f := range s.Failed {
			rows[i] = []string{screen.Short(f.Text(), 60), f.Code, screen.Short(f.Detail, 80)}
		}
		a.section("Failed items", len(rows), showItems)
		a.out.Table([]string{"item", "code", "detail"}, rows)
	}
	if len(s.Attempts) > 0 {
		rows := make([][]string, len(s.Attempts))
		for i, f := range s.Attempts {
			rows[i] = []string{screen.Time(f.Created), fmt.Sprint(f.Checkpoint), fmt.Sprint(f.Attempt), f.Class, f.Code, screen.Short(f.Detail, 80)}
		}
		a.section("Failed attempts, newest first", len(rows), showAttempts)
		a.out.Table([]string{"when", "checkpoint", "attempt", "class", "code", "detail"}, rows, 2, 3)
	}
	if len(s.Events) > 0 {
		rows := make([][]string, len(s.Events))
		for i, e := range s.Events {
			rows[i] = []string{screen.Time(e.Created), e.Action, string(e.FromStatus), cmp.Or(e.Worker, person(e.Actor)), screen.Short(e.Reason, 80)}
		}
		a.section("Requests and lost workers, newest first", len(rows), showEvents)
		a.out.Table([]string{"when", "action", "from status", "actor or worker", "reason"}, rows)
	}
}

func (a *App) section(title string, n, most int) {
	if n == most {
		title += fmt.Sprintf(" (%d shown)", n)
	}
	fmt.Fprintf(a.out, "\n%s\n", a.out.Bold(title))
}

// inOrder returns the entries of a list in their order.
func inOrder[T fmt.Stringer](list []T) string {
	words := make([]string, len(list))
	for i, e := range list {
		words[i] = e.String()
	}
	return strings.Join(words, "; ")
}

func itemsLine(t *taskkit.Task) string {
	p := t.Progress
	if t.Found != nil {
		return fmt.Sprintf("finding its targets: %s so far", screen.Count(*t.Found))
	}
	total := "unknown"
	if p.Total >= 0 {
		total = screen.Count(p.Total)
	}
	return fmt.Sprintf("%s of %s (done %s, failed %s, skipped %s)", screen.Count(p.Processed()), total, screen.Count(p.Done), screen.Count(p.Failed), screen.Count(p.Skipped))
}

func optional(t *time.Time) string {
	if t == nil {
		return ""
	}
	return screen.Time(*t)
}

func nonzero(id uuid.UUID) string {
	if id == uuid.Nil {
		return ""
	}
	return id.String()
}

// person writes the id of a person, or "system".
func person(id uuid.UUID) string {
	if id == taskkit.SystemOwner {
		return "system"
	}
	return nonzero(id)
}

// maxJSON bounds the JSON that is shown; -o json shows all of it.
const maxJSON = 2000

// compact formats JSON on one line.
func compact(raw []byte) string {
	var b bytes.Buffer
	if len(raw) == 0 || json.Compact(&b, raw) != nil {
		return string(raw)
	}
	if b.Len() > maxJSON {
		return fmt.Sprintf("%s… (%s bytes; -o json shows all)", strings.ToValidUTF8(b.String()[:maxJSON], ""), screen.Count(int64(b.Len())))
	}
	return b.String()
}

func (a *App) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain TASK",
		Short: "Explain the state of a task and why it is not running",
		Long:  "Explain the state of a task in one sentence and, if it is not running, why not.",
		Example: `  taskkit explain @last
  taskkit explain 8057`,
		Args: taskArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.on(c, args[0], func(db *Connection, t *taskkit.Task) error {
				explained, err := db.ExplainAll(c.Context(), []*taskkit.Task{t})
				if err != nil {
					return err
				}
				return a.print(explained[0], func(w io.Writer) {
					fmt.Fprintln(w, screen.Text(explained[0].Text))
					if what := delivers(t); what != "" {
						fmt.Fprintln(w, "It delivers", what+".")
					}
				})
			})
		},
	}
}

// reference returns the reference of a task with its version.
func reference(t *taskkit.Task) string {
	if t.Version == nil {
		return t.Reference
	}
	return fmt.Sprintf("%s, version %d", t.Reference, *t.Version)
}

// delivers says what a task delivers that is a notification.
func delivers(t *taskkit.Task) string {
	if t.Kind != notice.Kind {
		return ""
	}
	var n notice.Notice
	if json.Unmarshal(t.SpecJSON, &n) != nil {
		return ""
	}
	text := fmt.Sprintf("%s to target %s", n.Event, n.Target)
	if n.Task != uuid.Nil {
		text = fmt.Sprintf("that task %s of kind %s is %s, to target %s", n.Task, n.Kind, n.Event, n.Target)
	}
	return screen.Text(text)
}
