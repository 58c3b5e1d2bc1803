// Package doctor_test plants each finding of package taskdoctor on real databases, finds it by the library, the command and HTTP, mends it
// as the finding says, and finds it no more.
package doctor_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"taskkit.dev/internal/dialect"
	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
	"taskkit.dev/internal/store/dbstore"
	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/internal/testkit/testdb/cluster"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskdoctor"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskkind"
	"taskkit.dev/taskkit/taskops"
)

// bin is the directory of the command taskkit, which is built once for all tests.
var bin string

func TestMain(m *testing.M) {
	var err error
	if bin, err = os.MkdirTemp("", "taskkit-doctor"); err != nil {
		panic(err)
	}
	build := exec.Command("go", "build", "-ldflags=-w", "-o", filepath.Join(bin, "taskkit"), "taskkit.dev/cmd/taskkit")
	build.Dir = filepath.Join("..", "..", "..", "cmd", "taskkit")
	if out, err := build.CombinedOutput(); err != nil {
		panic(string(out))
	}
	// The function given to Cleanup ends the process.
	testdb.LeakMain(m, goleak.Cleanup(func(status int) {
		_ = os.RemoveAll(bin)
		os.Exit(status)
	}))
}

// letters is the spec of the kinds of these tests.
type letters struct {
	To []string `json:"to"`
}

type none struct{}

var (
	lettersKind = taskkit.NewKind(taskkind.Definition[letters, none, struct{}]{Name: "letters"})
	parcelsKind = taskkit.NewKind(taskkind.Definition[letters, none, struct{}]{Name: "parcels"})
)

// person is the owner of the tasks, and who operates.
var person = uuid.MustParse("01890a5d-ac96-474b-bcce-b302099a8057")

// env is a database in which findings are planted.
type env struct {
	*testing.T
	*testdb.DB
	schema  string
	dsn     string // by which the database is examined
	store   store.Store
	client  *taskkit.Client
	options taskdoctor.Options
	flags   []string // of the command, for the same options
	conns   int      // of the pool of a program; 0: as many as it likes
}

// newEnv makes an env with taskkit's tables.
func newEnv(t *testing.T, db *testdb.DB) *env {
	t.Helper()
	b := bareEnv(t, db)
	if err := taskkit.Migrate(t.Context(), db.DB, b.schema); err != nil {
		t.Fatal(err)
	}
	var err error
	if b.store, err = dbstore.Open(t.Context(), db.DB, db.Schema, dbstore.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.store.Release(context.WithoutCancel(t.Context())) })
	return b
}

// bareEnv makes an env without tables.
func bareEnv(t *testing.T, db *testdb.DB) *env {
	t.Helper()
	b := &env{T: t, DB: db, schema: db.Schema, dsn: db.DSN}
	if b.schema == "" {
		b.schema = taskkit.DefaultSchema
	}
	b.client = taskkit.NewClient(db.DB, taskkit.WithSchema(b.schema))
	return b
}

func (b *env) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// exec executes a statement.
func (b *env) exec(query string, args ...any) {
	b.Helper()
	if _, err := b.DB.ExecContext(context.WithoutCancel(b.Context()), query, args...); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
}

// submit submits tasks to the queue "mail".
func (b *env) submit(k *taskkit.Kind[letters, none, struct{}], n int, opts ...taskkit.SubmitOption) (ids []taskkit.ID) {
	b.Helper()
	for range n {
		id, err := taskkit.Submit(b.Context(), b.DB, k, letters{To: []string{"Ada"}},
			append([]taskkit.SubmitOption{taskkit.OwnedBy(person), taskkit.WithSchema(b.schema), taskkit.WithQueue("mail")}, opts...)...)
		b.must(err)
		ids = append(ids, id)
	}
	return ids
}

// worker registers a process that serves the queue "mail" and does nothing by itself.
func (b *env) worker(change ...func(*store.Process)) store.Process {
	b.Helper()
	p := store.Process{
		ID:      "test-" + time.Now().UTC().Format("20060102T150405.000Z") + "-" + strings.ReplaceAll(uuid.NewString(), "-", ""),
		Version: "test", Kinds: map[string][]int{"letters": {1}, "parcels": {1}}, Queues: []string{"mail"}, Slots: 2, DeadAfter: time.Hour, MaxAttempts: 10,
	}
	for _, f := range change {
		f(&p)
	}
	b.must(b.store.RegisterWorker(b.Context(), p))
	return p
}

// claim lets a process claim tasks and begin them.
func (b *env) claim(p store.Process, n int) (leases []store.Lease) {
	b.Helper()
	r, err := b.store.Claim(b.Context(), store.Claim{Process: p.ID, Queues: p.Queues, Kinds: p.Kinds, Limit: n})
	b.must(err)
	for _, t := range r.Tasks {
		b.apply(p, &store.Write{Lease: t.Lease, To: lifecycle.Executing, Attempts: t.Attempts})
		leases = append(leases, t.Lease)
	}
	if len(leases) != n {
		b.Fatalf("%d tasks claimed, want %d", len(leases), n)
	}
	return leases
}

func (b *env) apply(p store.Process, w *store.Write) {
	b.Helper()
	if a, err := b.store.Apply(b.Context(), p.ID, []*store.Write{w}); err != nil || !a[0].OK {
		b.Fatalf("a write of %s was not applied: %v", p.ID, err)
	}
}

// past is a time long ago, as both databases read it.
const past = "2020-01-01 00:00:00.000"

// silence lets a process be silent for longer than it may.
func (b *env) silence(p store.Process) {
	b.exec("UPDATE taskkit_task_process SET last_heartbeat_date = '"+past+"' WHERE id = $1", p.ID)
}

// deregister ends a process.
func (b *env) deregister(p store.Process) { b.must(b.store.Deregister(b.Context(), p.ID)) }

// reap does what a live worker does about dead ones.
func (b *env) reap() {
	_, err := b.store.Reap(b.Context(), nil)
	b.must(err)
}

// operator operates the database.
func (b *env) operator() *taskops.Operator { return taskops.New(b.client) }

// open opens the database as a program that starts now does.
func (b *env) open() *sql.DB {
	b.Helper()
	driver := "sqlite"
	if b.Dialect == dialect.Postgres {
		driver = "pgx"
	}
	db, err := sql.Open(driver, b.dsn)
	b.must(err)
	db.SetMaxOpenConns(b.conns)
	return db
}

// byGo returns the report of the library.
func (b *env) byGo() *taskdoctor.Report {
	b.Helper()
	db := b.open()
	defer db.Close()
	o := b.options
	o.Schema = b.schema
	r, err := taskdoctor.Run(testdb.Within(b), db, o)
	b.must(err)
	return r
}

// byHTTP returns the report that an operator gets.
func (b *env) byHTTP() *taskdoctor.Report {
	b.Helper()
	db := b.open()
	defer db.Close()
	jobs, err := taskhttp.New(db, taskhttp.Config{
		Schema: b.schema, Doctor: b.options, Authorize: taskhttp.OwnJobs, Logger: slog.New(slog.NewTextHandler(b.Output(), nil)),
		Caller:   func(*http.Request) (taskhttp.Caller, error) { return taskhttp.Caller{Owner: person}, nil },
		Operator: func(context.Context, taskhttp.Caller, taskhttp.Operation) error { return nil },
	})
	b.must(err)
	answer := httptest.NewRecorder()
	jobs.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/jobs/operator/doctor", nil).WithContext(testdb.Within(b)))
	if answer.Code != http.StatusOK {
		b.Fatalf("HTTP: %d %s", answer.Code, answer.Body)
	}
	return b.decode(answer.Body.Bytes())
}

// byCommand returns the report of the command, whose exit status must fit it.
func (b *env) byCommand() *taskdoctor.Report {
	b.Helper()
	status, out, errs := b.command(append([]string{"doctor", "-o", "json"}, b.flags...)...)
	r := b.decode([]byte(out))
	if status != r.ExitStatus(false) {
		b.Errorf("taskkit doctor ends with %d, want %d: %s", status, r.ExitStatus(false), errs)
	}
	return r
}

// decode reads a report that has no field which Go does not know.
func (b *env) decode(text []byte) *taskdoctor.Report {
	b.Helper()
	var r taskdoctor.Report
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&r); err != nil {
		b.Fatalf("not a report: %v\n%s", err, text)
	}
	return &r
}

// command runs the command taskkit on the database.
func (b *env) command(args ...string) (status int, out, errs string) {
	b.Helper()
	return b.run(exec.CommandContext(testdb.Within(b), filepath.Join(bin, "taskkit"), append(args, "-d", b.dsn, "--schema", b.schema)...))
}

// shell runs a command line of a finding, as an operator does who has set DATABASE_URL.
func (b *env) shell(line string) (status int, out, errs string) {
	b.Helper()
	cmd := exec.CommandContext(testdb.Within(b), "sh", "-c", line+" --schema "+b.schema)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "DATABASE_URL="+b.dsn, "NO_COLOR=1")
	return b.run(cmd)
}

func (b *env) run(cmd *exec.Cmd) (status int, out, errs string) {
	b.Helper()
	if cmd.Env == nil {
		cmd.Env = append(os.Environ(), "DATABASE_URL=", "NO_COLOR=1")
	}
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	err := cmd.Run()
	if _, exit := errors.AsType[*exec.ExitError](err); err != nil && !exit {
		b.Fatalf("%v: %v", cmd.Args, err)
	}
	return cmd.ProcessState.ExitCode(), o.String(), e.String()
}

// finding returns the finding of a plant in a report, or nil.
func (p *plant) finding(r *taskdoctor.Report) *taskdoctor.Finding {
	i := slices.IndexFunc(r.Findings, func(f taskdoctor.Finding) bool {
		return f.ID == p.id && (p.about == "" || slices.Contains(f.Affected, p.about))
	})
	if i < 0 {
		return nil
	}
	return &r.Findings[i]
}

// durable starts a server with the settings of production.
func durable(t *testing.T) *cluster.Server {
	t.Helper()
	server, err := cluster.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}
