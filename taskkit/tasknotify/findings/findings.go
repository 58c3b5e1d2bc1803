// Package findings notifies targets of findings of the doctor when they open and when they are over. A schedule submits tasks of its
// kind, each of which runs the doctor once:
//
//	err := taskops.SetSchedule(ctx, db, findings.Kind, "findings", findings.Spec{Targets: []string{"ops"}}, taskops.Schedule{Cron: "@every 5m"})
//
// Which findings a target was notified of is stored in the transaction that stores the notifications. So each is notified of once, whatever is killed, and
// however many tasks run at once.
package findings

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/tasknotify"
)

// Kind is the kind of the tasks that run the doctor. A worker that executes them registers it with [Register].
var Kind = taskkit.NewKind(taskkind.Definition[Spec, struct{}, struct{}]{Name: "taskkit_findings", BatchSize: 1})

// Spec says who is notified.
type Spec struct {
	// Targets are notified. A worker delivers to them, see tasknotify.Config. At least one is needed.
	Targets []string `json:"targets"`
	// Queue is the queue of the notifications. Defaults to "default".
	Queue string `json:"queue,omitempty"`
}

// Validate implements the validation of a spec.
func (s *Spec) Validate() error {
	if len(s.Targets) == 0 {
		return errors.New("targets is empty: name at least one target")
	}
	for _, t := range s.Targets {
		if !notice.ValidTarget(t) {
			return fmt.Errorf("targets: %.70q is not the name of a target", t)
		}
	}
	return nil
}

// Config says what is examined.
type Config struct {
	// DB is the database of the worker. It is needed.
	DB *sql.DB
	// Doctor are the options of the doctor. Its schema must be the schema of the worker. All programs that register the kind give it the same
	// thresholds: what one finds and another does not would be over, and found again. A finding of Checks, or of Config, is over when a program that makes
	// the check no longer finds it.
	Doctor taskdoctor.Options
}

// Register registers the kind with its executor. It returns a *[taskkit.OptionError] for what is wrong with the configuration.
func Register(r *taskkit.Registry, c Config) error {
	x, err := newExecutor(c)
	if err != nil {
		return err
	}
	taskkit.Register(r, Kind, x)
	return nil
}

func newExecutor(c Config) (*executor, error) {
	if c.DB == nil {
		return nil, &taskkit.OptionError{Option: "findings.Config.DB", Problem: "nil: give it the database of the worker"}
	}
	if err := c.Doctor.Validate(); err != nil {
		return nil, err
	}
	schema, err := dialect.Schema(dialect.Postgres, c.Doctor.Schema)
	if err != nil {
		return nil, &taskkit.OptionError{Option: "findings.Config.Doctor.Schema", Problem: err.Error()}
	}
	return &executor{c, dialect.Either(`"`+schema+`".taskkit_notification`, "taskkit_notification")}, nil
}

// executor runs the doctor, and compares its findings with the rows of the table.
type executor struct {
	Config
	table string
}

type batch = taskkit.Batch[Spec, struct{}]

// Execute implements [taskkit.Executor]. The doctor reads in transactions of its own, before the first statement on b.Tx.
func (x *executor) Execute(ctx context.Context, b *batch) (taskkit.Next, error) {
	b.Total(1)
	report, err := taskdoctor.Run(ctx, x.DB, x.Doctor)
	if err != nil {
		return taskkit.Done, err
	}
	for _, target := range b.Spec.Targets {
		if err := x.compare(ctx, b, target, report); err != nil {
			return taskkit.Done, fmt.Errorf("notify target %s of findings: %w", target, err)
		}
	}
	b.Advance(1)
	return taskkit.Done, nil
}

// compare notifies a target of what has opened and of what is over. A finding of a check that could not read, or that this program does not make, is
// not over. Rows change in one order, so that tasks that run at once do not block each other.
func (x *executor) compare(ctx context.Context, b *batch, target string, report *taskdoctor.Report) error {
	open, err := x.open(ctx, b.Tx, target)
	if err != nil {
		return err
	}
	found := make(map[string]bool)
	for _, f := range slices.SortedStableFunc(slices.Values(report.Findings), func(a, b taskdoctor.Finding) int { return strings.Compare(a.ID, b.ID) }) {
		if f.Severity == taskdoctor.Info || found[f.ID] {
			continue
		}
		found[f.ID] = true
		if _, known := open[f.ID]; known {
			continue
		}
		// The id of the row is of the target and the finding: of two tasks, one stores it.
		id := uuid.NewSHA1(uuid.Nil, []byte(target+" "+f.ID))
		err := x.change(ctx, b, target, f.ID, notice.FindingOpened, report.At,
			"INSERT INTO "+x.table+" (id, target, recipient, kind, state) VALUES ($1, $2, $3, $4, 'finding') ON CONFLICT (id) DO NOTHING", id.String(), target, f.Check(), f.ID)
		if err != nil {
			return err
		}
	}
	read := make(map[string]bool)
	for _, name := range report.Checks {
		read[name] = true
	}
	for _, u := range report.Unknown {
		read[u.Check] = false
	}
	for _, id := range slices.Sorted(maps.Keys(open)) {
		if found[id] || !read[open[id]] {
			continue
		}
		err := x.change(ctx, b, target, id, notice.FindingClosed, report.At,
			"DELETE FROM "+x.table+" WHERE target = $1 AND kind = $2 AND state = 'finding'", target, id)
		if err != nil {
			return err
		}
	}
	return nil
}

// open returns the findings that the target was notified of and that are not over, with their checks.
func (x *executor) open(ctx context.Context, q taskkit.ExecQuerier, target string) (map[string]string, error) {
	rows, err := q.QueryContext(ctx, "SELECT kind, recipient FROM "+x.table+" WHERE target = $1 AND state = 'finding'", target)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	open := make(map[string]string)
	for rows.Next() {
		var id, check string
		if err := rows.Scan(&id, &check); err != nil {
			return nil, err
		}
		open[id] = check
	}
	return open, rows.Err()
}

// change executes a statement, and notifies of an event if it has changed a row.
func (x *executor) change(ctx context.Context, b *batch, target, id string, e notice.Event, at time.Time, query string, args ...any) error {
	r, err := b.Tx.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n == 0 {
		return err
	}
	var opts []taskkit.SubmitOption
	if b.Spec.Queue != "" {
		opts = append(opts, taskkit.WithQueue(b.Spec.Queue))
	}
	_, err = tasknotify.Submit(ctx, b.Tx, notice.Notice{Event: e, Target: target, Code: id, Queue: b.Spec.Queue, At: at}, opts...)
	return err
}
