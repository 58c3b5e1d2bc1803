package engine_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/engine/session"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/testkit/memstore"
)

// settleTime passes after each command, so that the workers react to it.
const settleTime = 100 * time.Millisecond

// scriptEnv is what a script acts on: a store, workers, and the executions that
// wait for a command. Executors do nothing by themselves.
type scriptEnv struct {
	t       *testing.T
	store   *memstore.Store
	workers map[string]*scriptWorker
	late    *memstore.Tx // a commit that has not reached the database yet

	mu         sync.Mutex
	tasks      map[string]uuid.UUID
	names      map[string]string // of tasks and worker processes, by ID
	executions map[string]*execution
	events     []scriptEvent
	changes    int // of the store's log, that have been printed
}

// scriptEvent is a line of output. Lines of the same time may come from several
// goroutines; they are ordered by rank and text.
type scriptEvent struct {
	at   time.Time
	rank int
	text string
}

// The ranks of events. Changes of one task keep the order of their commits.
const (
	rankBefore = iota // a worker's log before it acts
	rankCancelled
	rankChange
	rankExecutes
	rankLog
	rankEnded
	rankAgain // what follows the end of a registration
)

// ranks are those of the log lines that have another than rankLog.
var ranks = map[string]int{
	"worker started": rankBefore, "cancelling batches": rankBefore,
	"worker ended": rankEnded, "worker lost its identity and ends under this ID": rankEnded, "cannot register": rankAgain,
}

func newScriptEnv(t *testing.T) *scriptEnv {
	t.Helper()
	s := memstore.New()
	s.Accept(insertItem)
	return &scriptEnv{
		t: t, store: s, workers: make(map[string]*scriptWorker),
		tasks: make(map[string]uuid.UUID), names: make(map[string]string), executions: make(map[string]*execution),
	}
}

// do performs a command and returns the output.
//
//	submit TASK...             submits tasks, in this order
//	start WORKER [SLOTS]       starts a worker; it has one slot, or as many as said
//	stop WORKER                ends the context of a worker's Run
//	kill WORKER                ends a worker and its connections at once
//	cut WORKER                 lets all calls of a worker fail; its process goes on
//	mend WORKER                lets them pass again
//	lose-answer WORKER         the next commit of a worker is not answered, and late
//	deliver                    that commit reaches the database
//	insert TASK ITEM           the executor of a task inserts a row into the ledger
//	return TASK more|done|error [STATE]
//	                           the executor of a task returns
//	request TASK stop|pause|delete|resume
//	wait DURATION              lets time pass
//	tasks                      prints all tasks
//	ledger                     prints the rows that executors have inserted
func (e *scriptEnv) do(words []string) (string, error) {
	command, args := words[0], words[1:]
	var printed string
	err := func() error {
		switch command {
		case "submit":
			return e.submit(args)
		case "wait":
			d, err := time.ParseDuration(args[0])
			time.Sleep(d)
			return err
		case "deliver":
			if e.late == nil {
				return errors.New("no commit is late")
			}
			return e.late.Finish()
		case "tasks":
			printed = e.printTasks()
			return nil
		case "ledger":
			for _, r := range e.store.Rows() {
				printed += fmt.Sprintf("%v by %s\n", r.Values, e.names[r.Lease.ID.String()])
			}
			return nil
		case "request":
			_, err := e.store.Request(e.t.Context(), e.tasks[args[0]], store.Request{Action: lifecycle.Action(args[1])})
			return err
		case "insert", "return":
			return e.executor(command, args)
		default:
			return e.worker(command, args)
		}
	}()
	time.Sleep(settleTime)
	synctest.Wait()
	out := e.output() + printed
	if out == "" {
		out = "nothing\n"
	}
	return out, err
}

func (e *scriptEnv) submit(names []string) error {
	for _, name := range names {
		id := uuid.Must(uuid.NewV7())
		e.mu.Lock()
		e.tasks[name], e.names[id.String()] = id, name
		e.mu.Unlock()
		if err := e.store.Insert(e.t.Context(), []store.NewTask{{
			Submitted: store.Submitted{Kind: "demo", Owner: uuid.Max, RunAs: uuid.Max, Queue: "default"},
			ID:        id, Revision: 1, Spec: json.RawMessage(`{}`), Priority: 2, Total: -1,
		}}, true); err != nil {
			return err
		}
		time.Sleep(time.Millisecond) // the next one is younger
	}
	return nil
}

// executor lets an executor do something.
func (e *scriptEnv) executor(command string, args []string) error {
	e.mu.Lock()
	x := e.executions[args[0]]
	e.mu.Unlock()
	if x == nil {
		return fmt.Errorf("nobody executes %s", args[0])
	}
	if command == "insert" {
		return x.do(func(ctx context.Context, s *session.Step) *returned {
			if _, err := s.Tx.ExecContext(ctx, insertItem, args[1]); err != nil {
				return &returned{err: err}
			}
			return nil
		})
	}
	r := &returned{state: json.RawMessage(`{}`)}
	switch args[1] {
	case "done":
		r.next = session.Next{Done: true}
	case "error":
		r.err = errors.New("the executor failed")
	}
	if len(args) > 2 {
		r.state = json.RawMessage(args[2])
	}
	return x.do(func(context.Context, *session.Step) *returned { return r })
}

// event adds a line to the output.
func (e *scriptEnv) event(rank int, format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events = append(e.events, scriptEvent{time.Now(), rank, e.masked(fmt.Sprintf(format, args...))})
}

var failedAt = regexp.MustCompile(`failed_at=\S+`)

// masked replaces what differs from run to run.
func (e *scriptEnv) masked(s string) string {
	for id, name := range e.names {
		s = strings.ReplaceAll(s, id, name)
	}
	return failedAt.ReplaceAllString(s, "failed_at=...")
}

// output returns what has happened since the last command.
func (e *scriptEnv) output() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	log := e.store.Log()
	for _, c := range log[e.changes:] {
		e.events = append(e.events, scriptEvent{c.At, rankChange, e.masked(describeChange(c))})
	}
	e.changes = len(log)
	slices.SortStableFunc(e.events, func(a, b scriptEvent) int {
		order := cmp.Or(a.at.Compare(b.at), a.rank-b.rank)
		if order == 0 && a.rank == rankChange {
			taskA, _, _ := strings.Cut(a.text, ":")
			taskB, _, _ := strings.Cut(b.text, ":")
			return strings.Compare(taskA, taskB)
		}
		if order == 0 {
			order = strings.Compare(a.text, b.text)
		}
		return order
	})
	var lines []string
	for _, v := range e.events {
		if v.rank <= rankExecutes || !slices.Contains(lines, v.text) { // what repeats in a log is printed once
			lines = append(lines, v.text)
		}
	}
	e.events = nil
	return strings.Join(append(lines, ""), "\n")
}

// describeChange describes a change of a task by the columns that changed.
func describeChange(c memstore.Change) string {
	if c.After == nil {
		return fmt.Sprintf("%s: removed by %s", c.Before.ID, c.By)
	}
	if c.Before == nil {
		return fmt.Sprintf("%s: %s", c.After.ID, c.After.Status)
	}
	text := fmt.Sprintf("%s: %s -> %s by %s", c.After.ID, c.Before.Status, c.After.Status, c.By)
	before := columns(c.Before)
	for i, column := range columns(c.After) {
		if column != before[i] {
			text += " " + column
		}
	}
	return text
}

// columns are the columns of a task that a script shows.
func columns(t *memstore.Task) []string {
	return []string{
		"worker=" + cmp.Or(t.Process, "none"), fmt.Sprintf("fence=%d", t.Fence), fmt.Sprintf("attempts=%d", t.Attempts),
		fmt.Sprintf("checkpoint=%d", t.Seq), fmt.Sprintf("stalled=%t", t.Stalled), "control=" + cmp.Or(string(t.Control), "none"),
		fmt.Sprintf("reason=%q", t.WaitingReason), fmt.Sprintf("desc=%q", t.Desc),
	}
}

// printTasks describes all tasks, in the order of their submission.
func (e *scriptEnv) printTasks() string {
	now := make(map[uuid.UUID]*memstore.Task)
	var ids []uuid.UUID
	for _, c := range e.store.Log() {
		if c.Before == nil {
			ids = append(ids, c.After.ID)
		}
		now[cmp.Or(c.After, c.Before).ID] = c.After
	}
	var out strings.Builder
	for _, id := range ids {
		t := now[id]
		if t == nil {
			continue // removed
		}
		shown := slices.DeleteFunc(columns(t), func(c string) bool {
			return strings.HasSuffix(c, "=none") || strings.HasSuffix(c, `=""`) || strings.HasSuffix(c, "=false")
		})
		fmt.Fprintf(&out, "%s: %s %s\n", t.ID, t.Status, strings.Join(shown, " "))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.masked(out.String())
}

// scriptLog prints a worker's log at level INFO and above. Of the calls that fail
// because the worker is cut off it prints those that matter: heartbeats and
// registrations.
type scriptLog struct {
	slog.Handler // discards; for the methods that are not here

	w *scriptWorker
}

// Enabled implements [slog.Handler].
func (l scriptLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

// WithAttrs implements [slog.Handler]: the worker's name is printed anyway.
func (l scriptLog) WithAttrs([]slog.Attr) slog.Handler { return l }

// Handle implements [slog.Handler].
func (l scriptLog) Handle(_ context.Context, r slog.Record) error {
	if l.w.isDead() {
		return nil
	}
	text := fmt.Sprintf("%s %s: %s", l.w.name, r.Level, r.Message)
	routine := false
	r.Attrs(func(a slog.Attr) bool {
		err, _ := a.Value.Any().(error)
		routine = routine || errors.Is(err, errUnreachable) && r.Level == slog.LevelWarn && !strings.Contains(r.Message, "heartbeat")
		if a.Key == "deadline_in" && a.Value.Duration() < time.Second {
			routine = true
		}
		if !slices.Contains([]string{"retry_in", "deadline_in", "try", "queues", "sessions", "kind"}, a.Key) { // random, or always the same
			text += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		}
		return true
	})
	if routine {
		return nil
	}
	rank, ok := ranks[r.Message]
	if !ok {
		rank = rankLog
	}
	l.w.env.event(rank, "%s", strings.ReplaceAll(text, "\n", "; "))
	return nil
}
