package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/internal/screen"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
)

// requestFunc is a method of the client that makes a request on a task.
type requestFunc func(*taskkit.Client, context.Context, taskkit.ID, ...taskkit.RequestOption) (*taskkit.Task, error)

// limitFlag says which flags for limits a command has.
type limitFlag int

const (
	noLimit       limitFlag = iota
	optionalLimit           // --stop-after
	requiredLimit           // --stop-after, --max-parallel or --max-rate, and one of them
)

// request is a command that makes a request on tasks.
type request struct {
	do requestFunc
	// describe returns what the request did.
	describe func(c *cobra.Command, db *Connection, before, now *taskkit.Task) string
	// wait, if waits is set, waits until the request has taken effect and
	// describes the result.
	wait  func(c *cobra.Command, db *Connection, now *taskkit.Task) (*taskkit.Task, string, error)
	waits bool
	skips string // what the flag --skip is for; "": there is none
	limit limitFlag
	given string // the value of --stop-after
	most  int    // the value of --max-parallel
	rate  float64
	rated bool          // there is --max-rate, with this rate
	where bool          // there is --where
	bulk  taskbulk.Verb // of a bulk operation that does the same; "": there is none
}

// requestCommand completes a command. It makes the request on every task, even
// after one has failed.
func (a *App) requestCommand(c *cobra.Command, r *request) *cobra.Command {
	var (
		who  auditFlags
		by   whereFlags
		skip bool
	)
	with(listFormats, c)
	c.Args = taskArgs(math.MaxInt)
	if r.where {
		by.add(c)
		c.Args = func(c *cobra.Command, args []string) error {
			if err := by.check(c, args); err != nil || by.where != "" {
				return err
			}
			return taskArgs(math.MaxInt)(c, args)
		}
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if r.rated = c.Flags().Changed("max-rate"); r.limit == requiredLimit && changed(c, "stop-after", "max-parallel", "max-rate") != 1 {
			return usage("give the new limit with one of --stop-after, --max-parallel and --max-rate: see `%s --help`", c.CommandPath())
		}
		opts := who.options()
		if r.given != "" && r.limit == optionalLimit {
			opts = append(opts, taskkit.WithStopAfter(r.given))
		}
		if skip {
			opts = append(opts, taskkit.WithSkip())
		}
		if by.where != "" {
			var bulk taskbulk.Request
			if !skip && r.given == "" {
				bulk = taskbulk.Request{Verb: r.bulk, Reason: who.reason, Actor: who.by.UUID}
			}
			return a.onMatching(c, &by, bulk, func(db *Connection, id taskkit.ID) error {
				_, err := r.do(db.Client, c.Context(), id, opts...)
				return err
			})
		}
		db, err := a.Connect(c.Context())
		if err != nil {
			return err
		}
		defer db.Close()
		var errs []error
		for _, text := range args {
			if err := a.request(c, db, text, r, opts); err != nil {
				errs = append(errs, err)
			}
		}
		return all(errs)
	}
	if r.skips != "" {
		c.Flags().BoolVar(&skip, "skip", false, r.skips)
	}
	if r.limit != noLimit {
		c.Flags().StringVar(&r.given, "stop-after", "", "new `limit` of failed items: a number, or a percentage of those processed")
	}
	if r.limit == requiredLimit {
		c.Flags().IntVar(&r.most, "max-parallel", 0, "new `limit` of open buckets")
		c.Flags().Float64Var(&r.rate, "max-rate", 0, "new `limit` of items a second; 0 removes it")
	}
	who.add(c, "in the task's events")
	return c
}

// changed returns how many of these flags were given.
func changed(c *cobra.Command, flags ...string) (n int) {
	for _, f := range flags {
		if c.Flags().Changed(f) {
			n++
		}
	}
	return n
}

// auditFlags say who does something and why.
type auditFlags struct {
	by     personFlag
	reason string
}

// add adds the flags to a command, which records them somewhere.
func (f *auditFlags) add(c *cobra.Command, where string) {
	c.Flags().StringVar(&f.reason, "reason", "", "`reason` to record "+where)
	c.Flags().Var(&f.by, "by", "person to record "+where)
}

func (f *auditFlags) options() (opts []taskkit.RequestOption) {
	if f.reason != "" {
		opts = append(opts, taskkit.WithReason(f.reason))
	}
	if f.by.String() != "" {
		opts = append(opts, taskkit.WithActor(f.by.UUID))
	}
	return opts
}

// request makes a request on one task.
func (a *App) request(c *cobra.Command, db *Connection, text string, r *request, opts []taskkit.RequestOption) error {
	before, err := db.find(c.Context(), text)
	if err != nil {
		return err
	}
	now, err := r.do(db.Client, c.Context(), before.ID, opts...)
	if errors.Is(err, taskkit.ErrNotFound) {
		return noTask(before.ID) // deleted between the two calls
	}
	if err != nil {
		return err
	}
	text = r.describe(c, db, before, now)
	if r.waits && !now.Ended() {
		if a.output == tableFormat {
			fmt.Fprintln(a.err, screen.Text(text))
		}
		if now, text, err = r.wait(c, db, now); err != nil {
			return err
		}
	}
	return a.printNamed(now.ID.String(), operatorsTask(now), func(w io.Writer) { fmt.Fprintln(w, screen.Text(text)) })
}

// all joins errors into one sentence. It returns a single error unchanged.
func all(errs []error) error {
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	}
	sentences := make([]string, len(errs))
	for i, err := range errs {
		sentences[i] = sentence(err)
	}
	code := exitError
	if o, ok := errors.AsType[*statusError](errs[0]); ok {
		code = o.code
	}
	return &statusError{code, strings.Join(sentences, "; ")}
}

func (a *App) stopCommand() *cobra.Command {
	var timeout time.Duration
	r := &request{where: true, bulk: taskbulk.Stop, do: (*taskkit.Client).Stop, skips: "leave out the rest of a bucket or a stage, for a reason"}
	r.describe = func(_ *cobra.Command, _ *Connection, before, now *taskkit.Task) string {
		switch {
		case before.Ended():
			return fmt.Sprintf("task %s had already ended in %s", now.ID, now.Status)
		case now.Ended():
			return fmt.Sprintf("task %s is stopped", now.ID)
		default:
			return fmt.Sprintf("task %s will stop after its current batch", now.ID)
		}
	}
	r.wait = func(c *cobra.Command, db *Connection, now *taskkit.Task) (*taskkit.Task, string, error) {
		t, err := a.wait(c.Context(), db, now, timeout, &line{off: true})
		switch {
		case err != nil:
			return nil, "", err
		case t.Status != taskkit.StatusCompleted:
			return nil, "", failure(t)
		case t.Partial:
			return t, fmt.Sprintf("task %s is stopped after %s items", t.ID, progress(t)), nil
		default:
			return t, fmt.Sprintf("task %s completed before it could be stopped", t.ID), nil
		}
	}
	c := a.requestCommand(&cobra.Command{
		Use:   "stop TASK... | --where SEARCH",
		Short: "Stop tasks and keep what they have done",
		Long: `Stop tasks as soon as possible and keep what they have done. A running task stops
after its current batch; --wait waits for that. A bucket or a stage is not stopped alone:
with --skip and --reason the rest of it is left out, and its task is partial in the end.`,
		Example: `  taskkit stop @last --reason "wrong caseload"
  taskkit stop 8057 --wait
  taskkit stop 8057 --skip --reason "its rows are broken"`,
	}, r)
	c.Flags().BoolVar(&r.waits, "wait", false, "wait until the tasks have ended")
	c.Flags().DurationVar(&timeout, "timeout", 0, "with --wait, give up after this time (default never)")
	return c
}

func (a *App) pauseCommand() *cobra.Command {
	return a.requestCommand(&cobra.Command{
		Use:   "pause TASK... | --where SEARCH",
		Short: "Pause tasks until resume",
		Long:  "Pause tasks until resume. A running task pauses after its current batch.",
		Example: `  taskkit pause 8057
  taskkit pause --where "kind:send_email status:queued" --reason "mail server is down"`,
	}, &request{where: true, bulk: taskbulk.Pause, do: (*taskkit.Client).Pause, describe: func(_ *cobra.Command, _ *Connection, _, now *taskkit.Task) string {
		if now.Status == taskkit.StatusQueued {
			return fmt.Sprintf("task %s is paused", now.ID)
		}
		return fmt.Sprintf("task %s will pause after its current batch", now.ID)
	}})
}

func (a *App) resumeCommand() *cobra.Command {
	return a.requestCommand(&cobra.Command{
		Use:   "resume TASK... | --where SEARCH",
		Short: "Resume paused tasks",
		Long: `Resume paused tasks. One that was paused because too many of its items have failed
needs a higher limit: a number of items, or a percentage of those processed.`,
		Example: `  taskkit resume 8057
  taskkit resume 8057 --stop-after 200`,
	}, &request{where: true, limit: optionalLimit, bulk: taskbulk.Resume, do: (*taskkit.Client).Resume, describe: func(_ *cobra.Command, _ *Connection, _, now *taskkit.Task) string {
		return fmt.Sprintf("task %s is resumed", now.ID)
	}})
}

func (a *App) approveCommand() *cobra.Command {
	return a.requestCommand(&cobra.Command{
		Use:   "approve TASK...",
		Short: "Approve tasks that wait for it",
		Long: `Approve tasks that wait for approval, after their first items or before their first
batch. They continue. "taskkit explain" says what a task waits for, and "taskkit items"
what became of its first items.`,
		Example: `  taskkit approve 8057 --by 01890a5d-ac96-774b-bcce-b302099a8057
  taskkit approve 8057 --by 01890a5d-ac96-774b-bcce-b302099a8057 --stop-after 5%`,
	}, &request{limit: optionalLimit, do: (*taskkit.Client).Approve, describe: func(_ *cobra.Command, _ *Connection, _, now *taskkit.Task) string {
		return fmt.Sprintf("task %s is approved", now.ID)
	}})
}

func (a *App) setCommand() *cobra.Command {
	r := &request{where: true, limit: requiredLimit}
	r.do = func(c *taskkit.Client, ctx context.Context, id taskkit.ID, opts ...taskkit.RequestOption) (*taskkit.Task, error) {
		switch {
		case r.rated:
			return c.Change(ctx, id, taskkit.Settings{MaxRate: &r.rate}, opts...)
		case r.given == "":
			if r.most < 1 {
				return nil, usage("--max-parallel %d: at least 1 bucket must be able to run; to hold the task, pause it", r.most)
			}
			return c.Change(ctx, id, taskkit.Settings{MaxParallel: r.most}, opts...)
		default:
			return c.Change(ctx, id, taskkit.Settings{StopAfter: r.given}, opts...)
		}
	}
	r.describe = func(_ *cobra.Command, _ *Connection, before, now *taskkit.Task) string {
		if now.Control == taskkit.ControlPause && before.Control != taskkit.ControlPause {
			return fmt.Sprintf("task %s has reached the limit and pauses", now.ID)
		}
		return fmt.Sprintf("task %s has the new limit", now.ID)
	}
	return a.requestCommand(&cobra.Command{
		Use:   "set TASK... (--stop-after LIMIT | --max-parallel LIMIT | --max-rate LIMIT)",
		Short: "Change a setting of tasks that have not ended",
		Long: `Change a setting of tasks that have not ended.

--stop-after says after how many failed items they pause: a number, or a percentage of the
items processed. A task that has so many already is paused. A paused task stays so.

--max-parallel says how many buckets of a task are open at once. More begin at once; fewer
take effect as buckets end.

--max-rate says how many items a second they process at most; 0 removes the limit. A running task
sees it within 5 seconds of work.`,
		Example: `  taskkit set 8057 --stop-after 200
  taskkit set 8057 --stop-after 2.5%
  taskkit set 8057 --max-parallel 4
  taskkit set 8057 --max-rate 50`,
	}, r)
}

func (a *App) retryCommand() *cobra.Command {
	return a.requestCommand(&cobra.Command{
		Use:   "retry TASK... | --where SEARCH",
		Short: "Retry failed tasks from their last checkpoint",
		Long: `Retry tasks in FAILURE or ERROR from their last checkpoint, with a new set of
attempts. With --skip the item at that position is recorded as failed, and the task
continues after it.`,
		Example: `  taskkit retry 8057 --reason "address corrected"
  taskkit retry 8057 --skip --reason "crashes the image library"
  taskkit retry --where "status:failed code:smtp_refused" --yes`,
	}, &request{where: true, skips: "skip the item at the position of the last checkpoint", bulk: taskbulk.Retry, do: (*taskkit.Client).Retry, describe: func(_ *cobra.Command, _ *Connection, _, now *taskkit.Task) string {
		return fmt.Sprintf("task %s will continue from checkpoint %d", now.ID, now.Checkpoints)
	}})
}

func (a *App) rmCommand() *cobra.Command {
	return a.requestCommand(&cobra.Command{
		Use:     "rm TASK... | --where SEARCH",
		Aliases: []string{"delete"},
		Short:   "Delete tasks with their results irrevocably",
		Long: `Delete tasks with their results and failures irrevocably. The work that they have
done and their events remain. A running task is deleted after its current batch.`,
		Example: `  taskkit rm 8057 --reason "requested by the owner"
  taskkit rm --where "status:completed older-than:90d" --dry-run`,
	}, &request{where: true, bulk: taskbulk.Delete, do: (*taskkit.Client).Delete, describe: func(c *cobra.Command, db *Connection, _, now *taskkit.Task) string {
		if _, err := db.Task(c.Context(), now.ID); err == nil {
			return fmt.Sprintf("task %s will be deleted after its current batch", now.ID)
		}
		return fmt.Sprintf("task %s is deleted", now.ID)
	}})
}
