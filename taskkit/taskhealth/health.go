// Package taskhealth answers the probes of a container: /livez says that the process serves requests, and /readyz that it
// can work. How many tasks wait is in neither: a process that is restarted because others are slow makes them slower. Probes are
// not logged, and need no rights. What is wrong with tasks is for package taskdoctor.
package taskhealth

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"taskkit.dev/taskkit"
)

// The paths of the probes.
const (
	LivePath  = "/livez"
	ReadyPath = "/readyz"
)

// Options say what [Ready] checks. The zero Options check the tables only.
type Options struct {
	// Schema is the PostgreSQL schema of the tables. Defaults to "taskkit".
	Schema string
	// Worker is the worker of the process, see [taskkit.Worker.Ready]. Defaults to none.
	Worker *taskkit.Worker
}

const (
	// within bounds the check of the tables.
	within = 2 * time.Second
	// keep is for how long the answer about the tables is kept: otherwise a caller of the probes could load the database.
	keep = time.Second
)

// Live returns the handler of [LivePath]. It answers with 200 whenever the process can answer.
func Live() http.Handler {
	return probe(func(context.Context) error { return nil })
}

// Ready returns the handler of [ReadyPath]. It answers with 200 if the tables have the version of this package and the worker, if there is
// one, would claim a task, and otherwise with 503 and what is missing, a line each.
func Ready(db *sql.DB, o Options) http.Handler {
	if o.Schema == "" {
		o.Schema = taskkit.DefaultSchema
	}
	t := &tables{db: db, schema: o.Schema}
	return probe(func(ctx context.Context) error {
		err := t.check(ctx)
		if o.Worker != nil {
			err = errors.Join(err, o.Worker.Ready())
		}
		return err
	})
}

// Beside returns a handler that answers [LivePath] and [ReadyPath], and passes everything else to another one.
func Beside(next http.Handler, db *sql.DB, o Options) http.Handler {
	live, ready := Live(), Ready(db, o)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case LivePath:
			live.ServeHTTP(w, r)
		case ReadyPath:
			ready.ServeHTTP(w, r)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// probe answers with 200 or, for an error, with 503 and its text.
func probe(check func(context.Context) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Type", "text/plain; charset=utf-8")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		text := "ok\n"
		if err := check(r.Context()); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			text = strings.ReplaceAll(err.Error(), "taskkit: ", "") + "\n"
		}
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, text)
		}
	})
}

// tables checks the version of the tables.
type tables struct {
	db     *sql.DB
	schema string

	mu  sync.Mutex // held during a check: all who wait get its answer
	at  time.Time
	err error
}

// errNoAnswer stands for an error of the database, whose text may have its address.
var errNoAnswer = errors.New("the database does not answer")

// check returns what is wrong with the tables, as of a second ago at the earliest.
func (t *tables) check(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.at.IsZero() && time.Since(t.at) < keep {
		return t.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	t.err = taskkit.CheckSchema(ctx, t.db, t.schema)
	if _, ok := errors.AsType[*taskkit.ConnectError](t.err); ok {
		t.err = errNoAnswer
	}
	t.at = time.Now()
	return t.err
}
