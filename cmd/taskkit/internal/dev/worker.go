package dev

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"taskkit.dev/cmd/taskkit/internal/adapters"
	"taskkit.dev/cmd/taskkit/internal/database"
	"taskkit.dev/executors/earlyalert"
	"taskkit.dev/executors/exportcaseload"
	"taskkit.dev/executors/programstatus"
	"taskkit.dev/executors/reconcile"
	"taskkit.dev/executors/sendemail"
	"taskkit.dev/executors/watch"
	"taskkit.dev/gen"
	"taskkit.dev/gen/reconcileapplytask"
	"taskkit.dev/gen/reconcilecomparetask"
	"taskkit.dev/gen/reconcileloadtask"
	"taskkit.dev/gen/sendemailtask"
	"taskkit.dev/internal/demo/caseload"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
)

// WorkerCommand is the hidden command with which the program runs itself as a
// worker.
const WorkerCommand = "dev-worker"

// sender is the From address of all mail.
const sender = "Student Success <success@college.example.edu>"

// The settings of the workers: short, so that a takeover happens quickly.
const (
	heartbeat = 300 * time.Millisecond
	deadAfter = 3 * time.Second
	batchTime = deadAfter * 3 / 4
)

// batchTarget is how long a batch should take. On SQLite all other writers wait
// for it.
func batchTarget(d dialect.Name) time.Duration {
	if d == dialect.SQLite {
		return 200 * time.Millisecond
	}
	return 500 * time.Millisecond
}

// settings are passed to a worker in the first line of its standard input. They
// are not arguments, since the address of a database may contain a password.
type settings struct {
	Name     string
	Database string
	Schema   string // of taskkit's tables
	Domain   string // schema of the people; "" on SQLite
	Queue    string
	Mail     string // host:port of the mail server
	Files    string // directory of exported files
	Slots    int
	Bucket   int    // about how many people or lines a bucket has
	Hold     string // what to hold, see hold
	Webhook  *Webhook
}

// The further lines of a worker's standard input, and of its output.
const (
	lineGo   = "go"   // continue, and hold no batch
	lineHold = "hold" // hold the next batch that qualifies; followed by what it must be of
	lineEnd  = "end"  // finish the current batches and end
	lineHeld = "held" // a batch is held
)

// Worker is the main function of a worker process. It ends when it is asked to, or
// at once when its standard input is closed, which means that its parent has
// ended, in whatever way.
func Worker(ctx context.Context, in io.Reader, out io.Writer) error {
	// A Ctrl-C reaches all processes of a terminal. The parent decides what to do.
	signal.Ignore(os.Interrupt, syscall.SIGHUP)
	ctx, end := context.WithCancel(ctx)
	defer end()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return fmt.Errorf("%s is run by `taskkit dev`, which passes its settings", WorkerCommand)
	}
	var o settings
	if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
		return fmt.Errorf("read the settings: %w", err)
	}
	at, err := database.Parse(o.Database)
	if err != nil {
		return err
	}
	// A batch may read outside its transaction, and so may the hold.
	db, err := at.Open(ctx, database.Options{Conns: 3*o.Slots + 4, SearchPath: o.Domain, Application: o.Name, Prepare: true})
	if err != nil {
		return err
	}
	defer db.Close()
	h := newHold(taskkit.NewClient(db, taskkit.WithSchema(o.Schema)), out, o.Hold)
	go func() {
		for lines.Scan() {
			switch word, what, _ := strings.Cut(lines.Text(), " "); word {
			case lineGo:
				h.letGo()
			case lineHold:
				h.arm(what)
			case lineEnd:
				end()
			}
		}
		os.Exit(1)
	}()
	domain, err := caseload.Open(ctx, db)
	if err != nil {
		return err
	}
	mailer, err := adapters.NewSMTP(o.Mail, sender)
	if err != nil {
		return err
	}
	var registry taskkit.Registry
	gen.Executors{
		ExportCaseload: holding(h, &exportcaseload.Executor{Caseload: domain, Dir: o.Files, BucketSize: o.Bucket, Workbook: adapters.WriteWorkbook}),
		ProgramStatus:  holding(h, &programstatus.Executor{}),
		Watch:          holding(h, &watch.Executor{}),
		SendEmail:      holding(h, &sendemail.Executor{Caseload: domain, Mailer: mailer}),
		ReconcileCaseload: &reconcile.Executor{
			Load: reconcileloadtask.Kind, Compare: reconcilecomparetask.Kind, Apply: reconcileapplytask.Kind,
		},
		ReconcileLoad:    &reconcile.Loader{},
		ReconcileCompare: &reconcile.Comparer{},
		ReconcileApply:   holding(h, &reconcile.Applier{BucketSize: o.Bucket}),
		EarlyAlert: holding(h, &earlyalert.Executor{BucketSize: o.Bucket, SubmitMail: func(ctx context.Context, tx taskkit.Execer, spec sendemail.Spec, opts ...taskkit.SubmitOption) (taskkit.ID, error) {
			return sendemailtask.Submit(ctx, tx, spec, append(opts, taskkit.WithQueue(o.Queue))...)
		}}),
	}.Register(&registry)
	taskbulk.Register(&registry)
	if o.Webhook != nil {
		if err := o.Webhook.Register(&registry, db, o.Schema); err != nil {
			return err
		}
	}
	w, err := taskkit.NewWorker(ctx, db, &registry, taskkit.Config{
		SystemID: o.Name, Schema: o.Schema, Queues: []string{o.Queue}, Slots: o.Slots,
		Heartbeat: heartbeat, DeadAfter: deadAfter, BatchTimeout: batchTime, BatchTarget: batchTarget(at.Dialect),
		Backoff: 200 * time.Millisecond, BackoffMax: 5 * time.Second,
		Poll: 100 * time.Millisecond, PollListening: time.Second, Drain: 5 * time.Second,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	return w.Run(ctx)
}
