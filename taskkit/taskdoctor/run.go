package taskdoctor

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"taskkit.dev/internal/access"
	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/sqlrows"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskops"
)

// Options configure [Run]. The zero Options are ready to use.
type Options struct {
	// Schema is the PostgreSQL schema of the tables. Defaults to "taskkit".
	Schema string
	// Config is the configuration of the program's worker. Without it the check "configuration" is
	// not made, nor in the report.
	Config *taskkit.Config
	// Checks are made after the checks of this package.
	Checks []Check
	// Due is how long a task may have been due. Defaults to 10 minutes.
	Due time.Duration
	// Approval is how long a task may wait for its approval. Defaults to 24 hours.
	Approval time.Duration
	// Transaction is how old a transaction may be that keeps VACUUM from removing rows. Defaults to 15 minutes.
	Transaction time.Duration
	// Storm is how many tasks must have failed attempts with one code within an hour. Defaults to 20.
	Storm int
	// DeadRows is how many dead rows a table may have on PostgreSQL. Defaults to 1,000,000.
	DeadRows int64
	// FrozenAge is how many transactions ago the oldest row of a table may have been frozen. Defaults to
	// 1,000,000,000; the server stops at about twice as many.
	FrozenAge int64
	// WAL is how large the write-ahead log of SQLite may be, in bytes. Defaults to 1 GiB.
	WAL int64
	// Now is the clock of this machine, which is compared with the clock of the database. Defaults to time.Now.
	Now func() time.Time
}

func (o Options) defaults() Options {
	o.Schema = cmp.Or(o.Schema, taskkit.DefaultSchema)
	o.Due = cmp.Or(o.Due, 10*time.Minute)
	o.Approval = cmp.Or(o.Approval, 24*time.Hour)
	o.Transaction = cmp.Or(o.Transaction, 15*time.Minute)
	o.Storm = cmp.Or(o.Storm, 20)
	o.DeadRows = cmp.Or(o.DeadRows, 1_000_000)
	o.FrozenAge = cmp.Or(o.FrozenAge, 1_000_000_000)
	o.WAL = cmp.Or(o.WAL, 1<<30)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Validate returns an *[taskkit.OptionError] for options that [Run] refuses, or nil.
func (o Options) Validate() error {
	o = o.defaults()
	if err := dialect.CheckSchema(o.Schema); o.Schema != taskkit.DefaultSchema && err != nil {
		return &taskkit.OptionError{Option: "Options.Schema", Problem: err.Error()}
	}
	for _, d := range []struct {
		name string
		have int64
	}{
		{"Due", int64(o.Due)},
		{"Approval", int64(o.Approval)},
		{"Transaction", int64(o.Transaction)},
		{"Storm", int64(o.Storm)},
		{"DeadRows", o.DeadRows},
		{"FrozenAge", o.FrozenAge},
		{"WAL", o.WAL},
	} {
		if d.have < 0 {
			return &taskkit.OptionError{Option: "Options." + d.name, Problem: "it is negative: use a positive one, or 0 for the default"}
		}
	}
	for _, c := range o.Checks {
		if c.Name == "" || c.Read == nil {
			return &taskkit.OptionError{Option: "Options.Checks", Problem: fmt.Sprintf("the check %q has no name or no function Read", c.Name)}
		}
		if slices.ContainsFunc(checks, func(own check) bool { return own.name == c.Name }) {
			return &taskkit.OptionError{Option: "Options.Checks", Problem: fmt.Sprintf("%q is the name of a check of this package: use another", c.Name)}
		}
	}
	return nil
}

// A Check finds what else may be wrong.
type Check struct {
	// Name is what the report calls it, such as "mail".
	Name string
	// Read returns what it has found, each with an ID, a Severity, a Text and a Fix. With an error the report says that
	// the check is unknown. ctx ends after a few seconds.
	Read func(ctx context.Context, r *Reader) ([]Finding, error)
}

// Reader is what a check reads: the database, in a transaction of its own that is read-only and rolled back. On PostgreSQL a
// statement in it may take 2 seconds, and wait 100 milliseconds for a lock.
type Reader struct {
	Client   *taskkit.Client
	Operator *taskops.Operator
	Tx       taskkit.ExecQuerier
	Options  Options // with the defaults filled in
}

const (
	// within bounds a check, with the time until it has a connection, and allWithin all of them: the rest is unknown then.
	within, allWithin = 5 * time.Second, 30 * time.Second
	// settings bound the statements of a check on PostgreSQL. To compile one, as the server does with one whose cost it estimates to be
	// high, takes longer than to execute it.
	settings = `SELECT pg_catalog.set_config('statement_timeout'::text, '2s'::text, true), pg_catalog.set_config('lock_timeout'::text, '100ms'::text, true),
  pg_catalog.set_config('jit'::text, 'off'::text, true)`
)

// Run makes all checks of a database, one after another, each in a read-only transaction that is rolled back. A check that cannot read
// what it needs is in Report.Unknown, and the others are made all the same. A check takes 5 seconds at most, and all take 30. It returns an
// *[taskkit.OptionError] for options that cannot be, a *[taskkit.ConnectError] if the database does not answer, and the error of ctx if that ends first.
func Run(ctx context.Context, db *sql.DB, o Options) (*Report, error) {
	if db == nil {
		return nil, &taskkit.OptionError{Option: "db", Problem: "nil: pass the database of the tasks"}
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	o = o.defaults()
	first, cancel := context.WithTimeout(ctx, within)
	name, err := dialect.Detect(first, db)
	cancel()
	if err != nil {
		return nil, &taskkit.ConnectError{Err: err}
	}
	p := &runner{db: db, dialect: name, options: o, report: &Report{
		Version: taskkit.Version, Findings: []Finding{}, Unknown: []Unknown{}, Dialect: string(dialect.Postgres), Schema: o.Schema, At: o.Now().UTC(),
	}}
	if name == dialect.SQLite {
		p.report.Dialect, p.report.Schema = "sqlite", ""
	}
	bounded, end := context.WithTimeoutCause(ctx, allWithin, fmt.Errorf("all checks took longer than %v", allWithin))
	defer end()
	broken := ""
	for _, c := range checks {
		if c.on != "" && c.on != name || c.name == checkConfig && o.Config == nil {
			continue
		}
		if c.tables && broken != "" {
			p.skip(c.name, broken)
			continue
		}
		p.make(bounded, c.name, c.read)
		if c.name == checkSchema {
			broken = p.withoutTables()
		}
	}
	for _, c := range o.Checks {
		p.make(bounded, c.Name, func(ctx context.Context, e *scope) ([]Finding, error) { return c.Read(ctx, &e.Reader) })
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(p.report.Findings, func(a, b Finding) int { return b.Severity.rank() - a.Severity.rank() })
	return p.report, nil
}

// runner makes the checks of a database.
type runner struct {
	options Options
	db      *sql.DB
	dialect dialect.Name
	report  *Report
}

// scope is what a check of this package reads.
type scope struct {
	Reader
	*runner
	conn   *sql.Conn // of the transaction
	tx     *sql.Tx
	tables store.Client // in the transaction
}

// skip records that a check was not made.
func (p *runner) skip(name, reason string) {
	p.report.Unknown = append(p.report.Unknown, Unknown{name, reason})
}

// withoutTables returns why the tables cannot be read, or "".
func (p *runner) withoutTables() string {
	for _, f := range p.report.Findings {
		if f.ID == "schema_behind" || f.ID == "schema_ahead" {
			return "the tables have another version: " + f.ID
		}
	}
	return ""
}

// make makes a check.
func (p *runner) make(ctx context.Context, name string, read func(context.Context, *scope) ([]Finding, error)) {
	p.report.Checks = append(p.report.Checks, name)
	found, err := p.check(ctx, read)
	for i := range found {
		found[i].check = name
	}
	p.report.Findings = append(p.report.Findings, found...)
	if err != nil {
		p.skip(name, oneLine(err.Error()))
	}
}

// check makes a check in a transaction of its own. It returns what was found before an error too.
func (p *runner) check(ctx context.Context, read func(context.Context, *scope) ([]Finding, error)) (found []Finding, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("it took longer than %v", within))
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the check panicked: %v", v)
		}
		if ctx.Err() != nil && err != nil {
			err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
	}()
	conn, err := p.db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("get a connection: %w", err)
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("begin a read-only transaction: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if p.dialect == dialect.Postgres {
		if _, err := sqlrows.Count(ctx, tx, settings); err != nil {
			return nil, fmt.Errorf("set the timeouts of the transaction: %w", err)
		}
	}
	client := taskkit.NewClient(tx, taskkit.WithSchema(p.options.Schema))
	e := &scope{Reader: Reader{client, taskops.New(client), tx, p.options}, runner: p, conn: conn, tx: tx}
	if e.tables, err = access.ClientOf(client).Store(ctx); err != nil {
		return nil, err
	}
	return read(ctx, e)
}

// oneLine returns a text as one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
