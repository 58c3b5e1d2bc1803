package taskkitcli_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"taskkit.dev/cmd/taskkit/taskkitcli"
	"taskkit.dev/gen/watchtask"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/segment"
	"taskkit.dev/taskkit/taskkind"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

// watcher fails the person broken, and the task of the person hostile, with an error that a terminal would interpret.
type watcher struct{}

const (
	broken  = "01890a5d-ac96-774b-bcce-b302099a0bad"
	hostile = "01890a5d-ac96-774b-bcce-b302099adead"
)

func (watcher) Execute(_ context.Context, b *taskkit.Batch[watchtask.Spec, watchtask.State]) (taskkit.Next, error) {
	people, next := taskkit.Take(b, b.Spec.Targets.People)
	for _, p := range people {
		switch p.String() {
		case hostile:
			return taskkit.Done, taskkit.Permanent("gone", errors.New("odd\nFORGED \x1b[2J"))
		case broken:
			b.Fail(p, taskkit.Permanent("gone", nil))
		}
	}
	return next, nil
}

// program is a program with the commands below its own.
type program struct {
	*testing.T

	config taskkitcli.Config
	client *taskkit.Client
}

func newProgram(t *testing.T, db *testdb.DB) *program {
	t.Helper()
	p := &program{T: t, config: taskkitcli.Config{Name: "tasks", DB: db.DB, Schema: db.Schema, Registry: new(taskkit.Registry)}}
	if p.config.Schema == "" {
		p.config.Schema = taskkit.DefaultSchema
	}
	taskkit.Register(p.config.Registry, watchtask.Kind, watcher{})
	p.client = taskkit.NewClient(db.DB, taskkit.WithSchema(p.config.Schema))
	return p
}

// work runs a worker until the test ends.
func (p *program) work() {
	p.Helper()
	w, err := taskkit.NewWorker(p.Context(), p.config.DB, p.config.Registry, taskkit.Config{
		Schema: p.config.Schema, Poll: 20 * time.Millisecond, PollListening: 50 * time.Millisecond, Drain: 5 * time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		p.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	p.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			p.Errorf("worker: %v", err)
		}
	})
}

// output is an output that calls a function after each write.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	onWrite func(text string)
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n, err := o.text.Write(b)
	if o.onWrite != nil {
		o.onWrite(o.text.String())
	}
	return n, err
}

// run executes a command and returns its exit status and what it wrote.
func (p *program) run(args ...string) (status int, out, errs string) {
	p.Helper()
	return p.runUntil("", "", args...)
}

// runUntil is run with an input, and interrupts the command when it has written a text.
func (p *program) runUntil(text, in string, args ...string) (status int, out, errs string) {
	p.Helper()
	return p.until(text, in, append([]string{"tasks"}, args...)...)
}

// deleting is run, and calls a function when the command has written a text.
func (p *program) deleting(text string, remove func() error, args ...string) (status int, out, errs string) {
	p.Helper()
	var once sync.Once
	o, e := &output{onWrite: func(written string) {
		if strings.Contains(written, text) {
			once.Do(func() {
				if err := remove(); err != nil {
					p.Error(err)
				}
			})
		}
	}}, new(output)
	return p.execute(testdb.Within(p), o, e, "", append([]string{"tasks"}, args...)...), o.text.String(), e.text.String()
}

// complete returns what a shell would offer.
func (p *program) complete(args ...string) (status int, out, errs string) {
	p.Helper()
	return p.until("", "", append([]string{cobra.ShellCompRequestCmd}, args...)...)
}

// script returns the completion of a shell.
func (p *program) script(shell string) (status int, out, errs string) {
	p.Helper()
	return p.until("", "", "completion", shell)
}

func (p *program) until(text, in string, args ...string) (status int, out, errs string) {
	p.Helper()
	ctx, cancel := context.WithCancel(testdb.Within(p))
	defer cancel()
	o := &output{onWrite: func(written string) {
		if text != "" && strings.Contains(written, text) {
			cancel()
		}
	}}
	e := new(output)
	return p.execute(ctx, o, e, in, args...), o.text.String(), e.text.String()
}

func (p *program) execute(ctx context.Context, o, e *output, in string, args ...string) (status int) {
	p.Helper()
	root := &cobra.Command{Use: "campus"}
	root.AddCommand(taskkitcli.Command(p.config))
	root.SetOut(o)
	root.SetErr(e)
	root.SetIn(strings.NewReader(in))
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	return taskkitcli.ExitStatus(err)
}

// want executes a command and checks its status and a part of what it writes. It returns the output.
func (p *program) want(status int, part string, args ...string) string {
	p.Helper()
	got, out, errs := p.run(args...)
	if got != status || !strings.Contains(out+errs, part) {
		p.Errorf("campus tasks %q: status %d, want %d with %q:\n%s%s", args, got, status, part, out, errs)
	}
	return out
}

// splitKind has buckets, one of which its condition leaves out, and a result.
var splitKind = taskkit.NewKind(taskkind.Definition[splitSpec, struct{}, string]{
	Name: "split", Segments: true, CheckBucket: true,
	SpecSchema: []byte(`{"type": "object", "properties": {"rows": {"type": "integer"}}, "additionalProperties": false}`),
})

type splitSpec struct {
	Rows int `json:"rows,omitempty"`
}

type splitBatch = taskkit.Batch[splitSpec, struct{}]

type splitter struct{}

func (splitter) Segments(context.Context, *splitBatch) (*segment.Plan, error) {
	return segment.Numeric{To: big.NewInt(9), Count: 3}.Plan()
}

func (splitter) CheckBucket(_ context.Context, b *splitBatch) (taskkit.Processing, error) {
	if b.Segment == segment.Between(segment.Int(3), segment.Int(6)) {
		return taskkit.Skip("empty"), nil
	}
	return taskkit.Process, nil
}

func (splitter) Execute(_ context.Context, b *splitBatch) (taskkit.Next, error) {
	b.Advance(3)
	return taskkit.Done, nil
}

func (splitter) Report(context.Context, *splitBatch) (string, error) { return "all", nil }
