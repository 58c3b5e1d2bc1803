package doctor_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"taskkit.dev/internal/proof/prove"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/testdb/cluster"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskdoctor"
)

// printer executes letters, a batch for each.
type printer struct{ wait time.Duration }

func (p printer) Execute(ctx context.Context, _ *taskkit.Batch[letters, none]) (taskkit.Next, error) {
	select {
	case <-time.After(p.wait):
	case <-ctx.Done():
	}
	return taskkit.Done, ctx.Err()
}

// Nothing is found while a worker drains a queue on a healthy database, and no check is unknown. The long form fills the queue again for as long as
// it may run, with tasks that take no time, and makes a report each second.
func TestHealthySystem(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, db *testdb.DB) {
		t.Helper()
		b := newEnv(t, db)
		c := taskkit.Config{
			Schema: b.schema, Queues: []string{"mail"}, Slots: 4, Poll: 20 * time.Millisecond, PollListening: 50 * time.Millisecond,
			BatchTimeout: 30 * time.Second, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		}
		backlog, x, pause := int64(300), printer{wait: 10 * time.Millisecond}, time.Duration(0)
		budget, long := prove.Budget(t)
		if long {
			backlog, x, pause = 50_000, printer{}, time.Second
		}
		tasks := int64(0)
		fill := func(n int64) {
			_, err := taskkit.SubmitMany(t.Context(), db.DB, lettersKind, make([]letters, n), taskkit.System(), taskkit.WithSchema(b.schema), taskkit.WithQueue("mail"))
			b.must(err)
			tasks += n
		}
		fill(backlog)
		b.options.Config = &c
		var r taskkit.Registry
		taskkit.Register(&r, lettersKind, x)
		w, err := taskkit.NewWorker(t.Context(), db.DB, &r, c)
		b.must(err)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		defer func() {
			cancel()
			b.must(<-done)
		}()
		// Before the worker has registered there is none, which is a finding.
		for w.Ready() != nil {
			select {
			case <-time.After(5 * time.Millisecond):
			case <-testdb.Within(t).Done():
				t.Fatal("the worker is not ready")
			}
		}
		waiting, least, reports, until := backlog, backlog, 0, time.Now().Add(budget)
		for ; waiting > 0 || reports < 3; reports++ {
			if r := b.byGo(); len(r.Findings)+len(r.Unknown) > 0 {
				t.Fatalf("report %d: found %+v, unknown %+v", reports, r.Findings, r.Unknown)
			}
			// What waits is among the newest tasks, of which there are counts.
			counts, _, err := b.client.Counts(t.Context(), "letters")
			b.must(err)
			if ended := counts[taskkit.StatusError] + counts[taskkit.StatusFailure]; ended > 0 {
				t.Fatalf("%d tasks have failed: %v", ended, counts)
			}
			waiting = counts[taskkit.StatusQueued] + counts[taskkit.StatusExecuting]
			if time.Now().Before(until) {
				least = min(least, waiting)
				fill(backlog - waiting)
				waiting = backlog
			}
			<-time.After(pause)
		}
		b.options.Config = nil
		if status, out, errs := b.command("doctor", "--strict"); status != 0 || !strings.Contains(errs, "nothing found in ") {
			t.Errorf("taskkit doctor: %d\n%s%s", status, out, errs)
		}
		if long {
			prove.Record(t, "healthy-"+db.Short(), map[string]any{"reports": reports, "tasks": tasks, "fewest waiting": least, "violations": 0})
		}
	}
	t.Run("postgres", func(t *testing.T) { t.Parallel(); check(t, testdb.On(t, durable(t))) })
	t.Run("sqlite", func(t *testing.T) { t.Parallel(); check(t, testdb.SQLite(t)) })
}

// unknown returns why a check is unknown.
func unknown(r *taskdoctor.Report, check string) string {
	i := slices.IndexFunc(r.Unknown, func(u taskdoctor.Unknown) bool { return u.Check == check })
	if i < 0 {
		return ""
	}
	return r.Unknown[i].Reason
}

// A role that may not see what other sessions do, or not even that there are any, gets the check as unknown, with the reason, and the
// others are made.
func TestRoleWithoutRights(t *testing.T) {
	t.Parallel()
	server := durable(t)
	b := newEnv(t, testdb.On(t, server))
	roles := testdb.NewRoles(t, b.DB, "../../../docs/operations.md")
	reader := roles.As("reader")
	b.submit(lettersKind, 1)
	session(b, b.DSN)
	r := b.at(reader.DSN)
	report := r.byGo()
	if got := unknown(report, "transactions"); !strings.Contains(got, "pg_read_all_stats") || len(report.Unknown) != 1 {
		t.Errorf("unknown %+v, want transactions because of pg_read_all_stats", report.Unknown)
	}
	b.exec("GRANT pg_read_all_stats TO " + roles.Name("reader"))
	if report = r.byGo(); len(report.Unknown) > 0 {
		t.Errorf("with pg_read_all_stats: unknown %+v", report.Unknown)
	}
	b.exec("REVOKE SELECT ON pg_catalog.pg_stat_activity, pg_catalog.pg_locks FROM PUBLIC")
	t.Cleanup(func() { b.exec("GRANT SELECT ON pg_catalog.pg_stat_activity, pg_catalog.pg_locks TO PUBLIC") })
	for what, report := range map[string]*taskdoctor.Report{"Go": r.byGo(), "HTTP": r.byHTTP(), "the command": r.byCommand()} {
		if got := unknown(report, "transactions"); !strings.Contains(got, "permission denied") || len(report.Unknown) != 1 {
			t.Errorf("%s: unknown %+v, want transactions because permission is denied", what, report.Unknown)
		}
		if !slices.ContainsFunc(report.Findings, func(f taskdoctor.Finding) bool { return f.ID == "no_worker" }) {
			t.Errorf("%s: the other checks find %+v, want no_worker", what, report.Findings)
		}
	}
	if status, _, errs := r.command("doctor", "--strict"); status != 2 || !strings.Contains(errs, "unknown: transactions: ") {
		t.Errorf("with --strict the command ends with %d: %s", status, errs)
	}
}

// A standby is found, and so is that only the primary can be migrated.
func TestStandby(t *testing.T) {
	t.Parallel()
	primary := durable(t)
	b := newEnv(t, testdb.On(t, primary))
	standby, err := primary.Standby(t.Context())
	if _, none := errors.AsType[*cluster.NotInstalledError](err); none {
		t.Skip(err)
	}
	b.must(err)
	t.Cleanup(func() {
		if err := standby.Stop(); err != nil {
			t.Error(err)
		}
	})
	at, err := url.Parse(b.DSN)
	b.must(err)
	to, err := url.Parse(standby.DSN)
	b.must(err)
	at.Host = to.Host
	p := plant{id: "standby"}
	there := b.at(at.String())
	for what, report := range map[string]*taskdoctor.Report{"Go": there.byGo(), "HTTP": there.byHTTP(), "the command": there.byCommand()} {
		if p.finding(report) == nil || len(report.Unknown) > 0 {
			t.Errorf("%s: %+v; unknown %+v", what, report.Findings, report.Unknown)
		}
	}
	p.until(b, false)
}

// Behind a pooler in transaction mode a worker has no presence, and the finding says why.
func TestPoolerKeepsPresenceAway(t *testing.T) {
	t.Parallel()
	b := newEnv(t, testdb.PgBouncer(t))
	b.worker()
	b.aged(5)
	p := plant{id: "no_presence"}
	if f := p.until(b, true); !strings.Contains(f.Text, "a pooler in transaction mode") {
		t.Error(f.Text)
	}
}

// A clock that is an hour off is found, and a database that does not answer is an error with a type.
func TestClockAndReach(t *testing.T) {
	t.Parallel()
	b := newEnv(t, testdb.Postgres(t))
	for off, text := range map[time.Duration]string{time.Hour: "ahead of", -time.Hour: "behind"} {
		b.options.Now = func() time.Time { return time.Now().Add(off) }
		p := plant{id: "clock_skew", about: "this machine"}
		if f := p.until(b, true); !strings.Contains(f.Text, text) {
			t.Errorf("%v: %s", off, f.Text)
		}
	}
	b.options.Now = nil
	away := b.at("postgres://me:secret@127.0.0.1:1/none?connect_timeout=2")
	db := away.open()
	defer db.Close()
	_, err := taskdoctor.Run(testdb.Within(t), db, taskdoctor.Options{})
	if _, ok := errors.AsType[*taskkit.ConnectError](err); !ok {
		t.Errorf("unreachable: %v, want a ConnectError", err)
	}
	if status, out, errs := away.command("doctor"); status != 2 || strings.Contains(out+errs, "secret") {
		t.Errorf("unreachable: taskkit doctor ends with %d: %s%s", status, out, errs)
	}
}

// A check of one's own is made in the report. One that panics, or fails, is unknown.
func TestOwnChecks(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		b := bareEnv(t, db)
		b.options.Checks = []taskdoctor.Check{
			{Name: "mail", Read: func(ctx context.Context, r *taskdoctor.Reader) ([]taskdoctor.Finding, error) {
				counts, _, err := r.Client.Counts(ctx, "letters")
				return []taskdoctor.Finding{{ID: "mail_queue", Severity: taskdoctor.Warning, Text: fmt.Sprintf("%d letters wait.", counts[taskkit.StatusQueued]), Fix: "Buy stamps."}}, err
			}},
			{Name: "writes", Read: func(ctx context.Context, r *taskdoctor.Reader) ([]taskdoctor.Finding, error) {
				if db.Schema == "" {
					return nil, errors.New("SQLite lets a read-only transaction write")
				}
				_, err := r.Tx.ExecContext(ctx, "UPDATE taskkit_queue SET paused = true")
				return nil, err
			}},
			{Name: "panics", Read: func(context.Context, *taskdoctor.Reader) ([]taskdoctor.Finding, error) { panic("oh no") }},
		}
		b.submit(lettersKind, 2)
		r := b.byGo()
		p := plant{id: "mail_queue"}
		if f := p.finding(r); f == nil || f.Text != "2 letters wait." {
			t.Errorf("found %+v", r.Findings)
		}
		if unknown(r, "panics") == "" || unknown(r, "writes") == "" || db.Schema != "" && !strings.Contains(unknown(r, "writes"), "read-only") {
			t.Errorf("unknown %+v", r.Unknown)
		}
		for _, wrong := range []taskdoctor.Options{
			{Checks: []taskdoctor.Check{{Name: "x"}}}, {Checks: []taskdoctor.Check{{Name: "queues", Read: b.options.Checks[2].Read}}}, {Due: -1}, {Schema: `a"b`},
		} {
			if _, err := taskdoctor.Run(t.Context(), db.DB, wrong); !isOption(err) {
				t.Errorf("%+v: %v, want an OptionError", wrong, err)
			}
		}
		if _, err := taskdoctor.Run(t.Context(), nil, taskdoctor.Options{}); !isOption(err) {
			t.Errorf("no database: %v, want an OptionError", err)
		}
	})
}

func isOption(err error) bool {
	_, ok := errors.AsType[*taskkit.OptionError](err)
	return ok
}
