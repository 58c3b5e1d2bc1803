package taskhealth_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"taskkit.dev/internal/testkit/testdb"
	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhealth"
	"taskkit.dev/taskkit/taskkind"
)

func TestMain(m *testing.M) { testdb.LeakMain(m) }

type spec struct {
	Name string `json:"name"`
}

var kind = taskkit.NewKind(taskkind.Definition[spec, struct{}, struct{}]{Name: "greet"})

type greeter struct{}

func (greeter) Execute(ctx context.Context, _ *taskkit.Batch[spec, struct{}]) (taskkit.Next, error) {
	<-ctx.Done()
	return taskkit.Done, ctx.Err()
}

// get makes a request.
func get(h http.Handler, method, path string) (status int, body string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, path, nil))
	return w.Code, w.Body.String()
}

// until polls a probe until it has this status, and returns its body.
func until(t *testing.T, h http.Handler, want int) string {
	t.Helper()
	for end := time.Now().Add(testdb.Patience(t)); ; {
		status, body := get(h, http.MethodGet, taskhealth.ReadyPath)
		if status == want {
			return body
		}
		if time.Now().After(end) {
			t.Fatalf("%s: %d %s, want %d", taskhealth.ReadyPath, status, body, want)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-t.Context().Done():
		}
	}
}

// A worker is ready from its registration until it shuts down, however many tasks wait, and alive always.
func TestProbesOfWorker(t *testing.T) {
	t.Parallel()
	testdb.EachMigrated(t, func(t *testing.T, db *testdb.DB) {
		schema := db.Schema
		if schema == "" {
			schema = taskkit.DefaultSchema
		}
		var r taskkit.Registry
		taskkit.Register(&r, kind, greeter{})
		var log bytes.Buffer
		w, err := taskkit.NewWorker(t.Context(), db.DB, &r, taskkit.Config{
			Schema: schema, Slots: 1, Poll: 20 * time.Millisecond, PollListening: 50 * time.Millisecond, BatchTimeout: 40 * time.Second, Drain: time.Second,
			Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelError})),
		})
		if err != nil {
			t.Fatal(err)
		}
		h := taskhealth.Beside(http.NotFoundHandler(), db.DB, taskhealth.Options{Schema: schema, Worker: w})
		if status, body := get(h, http.MethodGet, taskhealth.ReadyPath); status != 503 || !strings.Contains(body, "it is not registered") {
			t.Errorf("before Run: %d %s", status, body)
		}
		for range 50 { // a backlog: the one slot is never free
			if _, err := taskkit.Submit(t.Context(), db.DB, kind, spec{"Ada"}, taskkit.System(), taskkit.WithSchema(schema)); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- w.Run(ctx) }()
		if body := until(t, h, 200); body != "ok\n" {
			t.Errorf("ready: %q", body)
		}
		for method, want := range map[string]int{http.MethodGet: 200, http.MethodHead: 200, http.MethodPost: 405} {
			if status, body := get(h, method, taskhealth.LivePath); status != want || method == http.MethodHead && body != "" {
				t.Errorf("%s %s: %d %q, want %d", method, taskhealth.LivePath, status, body, want)
			}
		}
		if status, _ := get(h, http.MethodGet, "/other"); status != 404 {
			t.Errorf("another path: %d", status)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if status, body := get(h, http.MethodGet, taskhealth.ReadyPath); status != 503 || !strings.Contains(body, "the worker is not ready") {
			t.Errorf("after Run: %d %s", status, body)
		}
		if status, _ := get(h, http.MethodGet, taskhealth.LivePath); status != 200 {
			t.Errorf("alive: %d", status)
		}
	})
}

// A program is not ready while the tables are not its own, or the database does not answer; the answer does not name its address.
func TestProbesOfTables(t *testing.T) {
	t.Parallel()
	testdb.Each(t, func(t *testing.T, db *testdb.DB) {
		schema := db.Schema
		if schema == "" {
			schema = taskkit.DefaultSchema
		}
		h := taskhealth.Ready(db.DB, taskhealth.Options{Schema: schema})
		if status, body := get(h, http.MethodGet, taskhealth.ReadyPath); status != 503 || !strings.Contains(body, "taskkit migrate") {
			t.Errorf("without tables: %d %s", status, body)
		}
		if err := taskkit.Migrate(t.Context(), db.DB, schema); err != nil {
			t.Fatal(err)
		}
		until(t, h, 200)
	})
	away, err := sql.Open("pgx", "postgres://me:secret@127.0.0.1:1/none?connect_timeout=2")
	if err != nil {
		t.Fatal(err)
	}
	defer away.Close()
	if status, body := get(taskhealth.Ready(away, taskhealth.Options{}), http.MethodGet, taskhealth.ReadyPath); status != 503 || body != "the database does not answer\n" {
		t.Errorf("unreachable: %d %s", status, body)
	}
}

func ExampleBeside() {
	db, err := sql.Open("sqlite", "file:/health?vfs=memdb&_txlock=immediate&_pragma=busy_timeout(10000)")
	if err != nil {
		panic(err)
	}
	defer db.Close()
	if err := taskkit.Migrate(context.Background(), db, taskkit.DefaultSchema); err != nil {
		panic(err)
	}
	// A program with a worker sets Options.Worker.
	server := httptest.NewServer(taskhealth.Beside(http.NotFoundHandler(), db, taskhealth.Options{}))
	defer server.Close()
	for _, path := range []string{taskhealth.LivePath, taskhealth.ReadyPath} {
		resp, err := server.Client().Get(server.URL + path)
		if err != nil {
			panic(err)
		}
		body, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		fmt.Print(path, " ", resp.StatusCode, " ", string(body))
	}
	// Output:
	// /livez 200 ok
	// /readyz 200 ok
}
