package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"riverqueue.com/riverui"

	"taskkit.dev/bench/executors/tiny"
	"taskkit.dev/bench/gen/tinytask"
	"taskkit.dev/internal/testkit/testdb/cluster"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskbulk"
	"taskkit.dev/taskkit/taskui"
)

// pagesCommand is the subcommand that measures the pages of the dashboard beside River UI.
const pagesCommand = "pages"

// pages is the subcommand. It fills a database for each side and requests each page of the dashboard, and each answer of
// River UI that has the same on it, in this process.
func pages(ctx context.Context, args []string, stdout, progress io.Writer) (err error) {
	flags := flag.NewFlagSet("bench pages", flag.ContinueOnError)
	flags.SetOutput(progress)
	tasks := flags.Int("tasks", 10_000_000, "tasks, and jobs of River: at least 10,000")
	dsn := flags.String("dsn", "", "a superuser's server with pg_stat_statements loaded, whose databases taskkit_pages and river_pages are filled if they are not there, and kept; default: one of its own")
	runs := flags.Int("runs", 200, "requests of each page")
	only := flags.String("only", "", "measure only the pages whose name contains this")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *tasks < 10_000 || *runs < 1 {
		return fmt.Errorf("-tasks is %d and -runs %d: they must be at least 10,000 and 1", *tasks, *runs)
	}
	if *dsn == "" {
		server, err := cluster.StartPostgres(ctx, sizeSettings)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Stop()) }()
		*dsn = server.DSN
	}
	n := pagesSizesOf(*tasks)
	ours, err := pagesDatabase(ctx, *dsn, "taskkit_pages", "taskkit", func(s *sized) error {
		if err := taskkit.Migrate(ctx, s.db, ""); err != nil {
			return err
		}
		return s.fillPages(ctx, n, time.Now(), progress)
	})
	if err != nil {
		return err
	}
	defer ours.db.Close()
	theirs, err := pagesDatabase(ctx, *dsn, "river_pages", "public", func(s *sized) error { return s.fillRiver(ctx, n, time.Now(), progress) })
	if err != nil {
		return err
	}
	defer theirs.db.Close()
	w := &watchedPages{runs: *runs, only: *only, out: stdout, progress: progress}
	fmt.Fprintf(stdout, "%s tasks, %d requests of each page\n\n", figure(float64(n.all())), *runs)
	if err := w.taskui(ctx, ours, n); err != nil {
		return err
	}
	return w.riverui(ctx, theirs)
}

// pagesDatabase opens a database, which it makes and fills if it is not there.
func pagesDatabase(ctx context.Context, dsn, name, schema string, fill func(*sized) error) (*sized, error) {
	made := execute(ctx, dsn, "CREATE DATABASE "+name)
	s, err := sizedOn(ctx, dsn, name)
	if err != nil {
		return nil, errors.Join(err, made)
	}
	s.tables = schema
	if made == nil {
		if err := fill(s); err != nil {
			return nil, errors.Join(fmt.Errorf("fill the database %s, which is to be dropped: %w", name, err), s.db.Close())
		}
	}
	return s, nil
}

// pool opens a pool of pgx on the database.
func (s *sized) pool(ctx context.Context) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, fmt.Errorf("configure a pool: %w", err)
	}
	c.ConnConfig, c.MaxConns = s.config.Copy(), maxConns
	return pgxpool.NewWithConfig(ctx, c)
}

// pageRequest is a page.
type pageRequest struct{ name, path string }

// watchedPages measures pages.
type watchedPages struct {
	runs          int
	only          string
	out, progress io.Writer
}

// firsts is how many new handlers are made, of which the first answer is measured.
const firsts = 5

// measure requests a page often, of one handler, and returns its row of the table: the first answers of handlers, which have kept nothing from
// before, and the others. fresh returns a new handler, or the only one.
func (w *watchedPages) measure(ctx context.Context, s *sized, p pageRequest, fresh func() (http.Handler, error)) ([]string, error) {
	var (
		took, first []time.Duration
		body        []byte
		h           http.Handler
		err         error
	)
	once := func(ctx context.Context) error {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, p.path, nil)
		answer := httptest.NewRecorder()
		began := time.Now()
		h.ServeHTTP(answer, r)
		took, body = append(took, time.Since(began)), answer.Body.Bytes()
		if answer.Code != http.StatusOK {
			return fmt.Errorf("request %s: the status is %d: %.300s", p.path, answer.Code, body)
		}
		return nil
	}
	var buffers, calls int64
	for range firsts + 1 {
		if h, err = fresh(); err != nil {
			return nil, err
		}
		if buffers, calls, err = s.meter(ctx, once); err != nil {
			return nil, err
		}
	}
	first, took = took[1:], nil // before that, connections are opened and statements prepared
	slices.Sort(first)
	for range w.runs {
		if err := once(ctx); err != nil {
			return nil, err
		}
	}
	slices.Sort(took)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(body); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return []string{
		p.name, figure(quantile(took, 0.5)), figure(quantile(took, 0.99)), figure(quantile(first, 0.5)), thousands(int64(len(body))), thousands(int64(packed.Len())),
		thousands(calls), thousands(buffers),
	}, nil
}

// table measures pages and writes their table.
func (w *watchedPages) table(ctx context.Context, s *sized, title string, all []pageRequest, fresh func() (http.Handler, error)) error {
	var rows [][]string
	for _, p := range all {
		if !strings.Contains(p.name, w.only) {
			continue
		}
		row, err := w.measure(ctx, s, p, fresh)
		if err != nil {
			return err
		}
		fmt.Fprintln(w.progress, strings.Join(row, " | "))
		rows = append(rows, row)
	}
	load := ""
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = ", load average " + strings.Fields(string(text))[0]
	}
	markdown(w.out, title+load, []string{"page", "p50, ms", "p99, ms", "first, ms", "bytes", "gzip", "statements of the first", "buffers"}, rows)
	return nil
}

// taskui measures the pages of the dashboard.
func (w *watchedPages) taskui(ctx context.Context, s *sized, n pagesSizes) error {
	var r taskkit.Registry
	taskkit.Register(&r, tinytask.Kind, &tiny.Executor{})
	taskbulk.Register(&r)
	client := taskkit.NewClient(s.db)
	person := taskui.Person{ID: uuid.New(), Level: taskui.Admin}
	handler := func() (http.Handler, error) {
		return taskui.New(client, &r, taskui.Config{
			Access: func(*http.Request) (taskui.Person, error) { return person, nil }, Logger: quiet(), Timeout: time.Minute,
		})
	}
	id := func(where string) (id string, err error) {
		err = s.db.QueryRowContext(ctx, "SELECT id FROM taskkit.taskkit_queued_task WHERE "+where+" LIMIT 1").Scan(&id)
		return id, err
	}
	ids := make(map[string]string)
	for name, where := range map[string]string{
		"done": "workflow_status = 'COMPLETED' AND parent_id IS NULL", "failed": "id = (SELECT task_id FROM taskkit.taskkit_task_item LIMIT 1)",
		"dead": "workflow_status = 'ERROR' AND parent_id IS NULL", "running": "workflow_status = 'EXECUTING'", "waiting": "workflow_status = 'QUEUED' AND control = '' AND not_before < now()",
		"family": fmt.Sprintf("id = (SELECT parent_id FROM taskkit.taskkit_queued_task WHERE parent_id IS NOT NULL AND id > (SELECT id FROM taskkit.taskkit_queued_task ORDER BY id OFFSET %d LIMIT 1) ORDER BY id LIMIT 1)", n.family()+1),
	} {
		var err error
		if ids[name], err = id(where); err != nil {
			return fmt.Errorf("find a task that is %s: %w", name, err)
		}
	}
	var second string
	if err := s.db.QueryRowContext(ctx, "SELECT id FROM taskkit.taskkit_queued_task ORDER BY id DESC OFFSET 49 LIMIT 1").Scan(&second); err != nil {
		return err
	}
	deep := ids["family"]
	search := func(words ...string) string { return "list?" + url.Values{"q": {strings.Join(words, " ")}}.Encode() }
	before := func(path, id string) string {
		if strings.Contains(path, "?") {
			return path + "&before=" + id
		}
		return path + "?before=" + id
	}
	owner := "owner:" + ownerID(ownerBig).String()
	paths := []pageRequest{
		{"Home", ""},
		{"Tasks", "list"},
		{"Tasks, second page", before("list", second)},
		{"Tasks, in the middle of all", before("list", deep)},
		{"Tasks, running", search("is:running")},
		{"Tasks, queued", search("status:queued")},
		{"Tasks, done", search("status:completed")},
		{"Tasks, done, in the middle", before(search("status:completed"), deep)},
		{"Tasks, failed, with groups", search("status:failed")},
		{"Tasks, failed, in the middle", before(search("status:failed"), deep)},
		{"Tasks, of a kind", search("kind:tiny")},
		{"Tasks, of a kind that no task has", search("kind:none")},
		{"Tasks, of a queue", search("queue:queue_3")},
		{"Tasks, of an owner of a third", search(owner)},
		{"Tasks, of an owner of few", search("owner:" + ownerID(ownerOther).String())},
		{"Tasks, queued of an owner of a third", search(owner, "status:queued")},
		{"Tasks, failed of a kind with a code", search("status:failed", "kind:kind_3", "code:code_5")},
		{"Tasks, failed with a code that none has", search("status:failed", "code:none")},
		{"Tasks, of a reference", search(`"reference:reference 123"`)},
		{"Tasks, ended 80 days ago", search("older-than:80d")},
		{"Tasks, by id", search(ids["done"])},
		{"Task, done", "task/" + ids["done"]},
		{"Task, failed, with items", "task/" + ids["failed"]},
		{"Task, running", "task/" + ids["running"]},
		{"Task, waiting", "task/" + ids["waiting"]},
		{"Task with 100,000 children", "task/" + ids["family"]},
		{"Parts of it", "task/" + ids["family"] + "/parts"},
		{"Items", "task/" + ids["failed"] + "/items"},
		{"Confirm a retry", "task/" + ids["dead"] + "/retry"},
		{"Bulk", "bulk"},
		{"Bulk, retry all failed", "bulk/retry?q=status%3Afailed"},
		{"Bulk, retry failed of a kind with a code", "bulk/retry?" + url.Values{"q": {"status:failed kind:kind_3 code:code_5"}}.Encode()},
		{"Bulk, stop all of a kind", "bulk/stop?q=kind%3Atiny"},
		{"Bulk, delete all", "bulk/delete?q=all"},
		{"Kinds", "kinds"}, {"Kind", "kind/tiny"},
		{"Approvals", "approvals"}, {"Dead letters", "dead"}, {"Schedules", "schedules"}, {"Queues", "queues"}, {"Limits", "limits"},
		{"Workers", "workers"}, {"Changes", "changes"}, {"Health", "health"},
	}
	for i := range paths {
		paths[i].path = "/tasks/" + paths[i].path
	}
	return w.table(ctx, s, "The dashboard", paths, handler)
}

// riverui measures what River UI reads for its pages. Its handler counts in the background.
func (w *watchedPages) riverui(ctx context.Context, s *sized) error {
	pool, err := s.pool(ctx)
	if err != nil {
		return err
	}
	defer pool.Close()
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: quiet()})
	if err != nil {
		return err
	}
	h, err := riverui.NewHandler(&riverui.HandlerOpts{Endpoints: riverui.NewEndpoints(client, nil), Logger: quiet()})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if err := h.Start(ctx); err != nil {
		return err
	}
	var done, failed int64
	for state, id := range map[string]*int64{"completed": &done, "discarded": &failed} {
		if err := s.db.QueryRowContext(ctx, "SELECT id FROM river_job WHERE state = $1::text::river_job_state LIMIT 1", state).Scan(id); err != nil {
			return err
		}
	}
	return w.table(ctx, s, "River UI 0.22.0", []pageRequest{
		{"page of all", "/"},
		{"counts by state, with each page", "/api/states"},
		{"features, with each page", "/api/features"},
		{"jobs, running", "/api/jobs?state=running&limit=50"},
		{"jobs, available", "/api/jobs?state=available&limit=50"},
		{"jobs, completed", "/api/jobs?state=completed&limit=50"},
		{"jobs, discarded", "/api/jobs?state=discarded&limit=50"},
		{"jobs, completed of a kind", "/api/jobs?state=completed&limit=50&kinds=tiny"},
		{"jobs, completed of a kind that no job has", "/api/jobs?state=completed&limit=50&kinds=none"},
		{"jobs, discarded of a kind", "/api/jobs?state=discarded&limit=50&kinds=kind_3"},
		{"jobs, completed of a queue", "/api/jobs?state=completed&limit=50&queues=queue_3"},
		{"job, completed", fmt.Sprintf("/api/jobs/%d", done)},
		{"job, discarded", fmt.Sprintf("/api/jobs/%d", failed)},
		{"queues", "/api/queues?limit=100"},
	}, func() (http.Handler, error) { return h, nil })
}
