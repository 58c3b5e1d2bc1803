package taskhttp_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/google/uuid"
	_ "modernc.org/sqlite"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskkind"
)

// greetSpec names people to greet.
type greetSpec struct {
	People []string `json:"people" validate:"required,max=1000"`
}

// greetState is what a greeting has counted.
type greetState struct {
	Letters int `json:"letters"`
}

// greetProgress is the progress of a greeting, for those who wait for it.
type greetProgress struct {
	Greeted int64 `json:"greeted"`
	Letters int   `json:"letters"`
}

func (s greetState) Progress(p taskkit.Progress) greetProgress {
	return greetProgress{Greeted: p.Processed(), Letters: s.Letters}
}

// greeted is the result of a greeting.
type greeted struct {
	Greetings int `json:"greetings"`
}

// greetings is a kind; taskgen writes such a definition.
var greetings = taskkit.NewKind(taskkind.Definition[greetSpec, greetState, greeted]{
	Name: "greetings", Preview: true,
	Targets: taskkind.TargetsIn("people", func(s *greetSpec) *[]string { return &s.People }),
})

type greeter struct{}

func (greeter) Execute(_ context.Context, b *taskkit.Batch[greetSpec, greetState]) (taskkit.Next, error) {
	people, next := taskkit.Take(b, b.Spec.People)
	for _, name := range people {
		if name == "nobody" {
			b.Fail(name, taskkit.Permanent("not_found", nil))
			continue
		}
		b.State.Letters += len(name)
		b.Note(name, "Hello!") // in a preview
	}
	return next, nil
}

func (greeter) Report(_ context.Context, b *taskkit.Batch[greetSpec, greetState]) (greeted, error) {
	return greeted{Greetings: len(b.Spec.People)}, nil
}

// whoCalls trusts a header, as behind a proxy that sets it.
func whoCalls(r *http.Request) (taskhttp.Caller, error) {
	person, err := uuid.Parse(r.Header.Get("X-Person"))
	if err != nil {
		return taskhttp.Caller{}, errors.New("no person")
	}
	return taskhttp.Caller{Owner: person}, nil
}

// signIn says who makes a request.
func signIn(r *http.Request) error {
	r.Header.Set("X-Person", "01890a5d-ac96-774b-bcce-b302099a8057")
	return nil
}

// A service lets its clients start jobs of a kind, and a client waits for the result of
// one.
func Example() {
	ctx, stop := context.WithCancel(context.Background())
	db := exampleDB(ctx)
	defer db.Close()
	ended := runWorker(ctx, db, exporter{})
	defer func() {
		stop()
		if err := <-ended; err != nil {
			panic(err)
		}
	}()

	jobs, err := taskhttp.New(db, taskhttp.Config{Caller: whoCalls, Authorize: taskhttp.OwnJobs})
	if err != nil {
		panic(err)
	}
	taskhttp.Start(jobs, "POST /people/greetings", greetings)
	service := httptest.NewServer(jobs)
	defer service.Close()

	client := &taskhttp.Client{URL: service.URL, Prepare: signIn}
	result, err := taskhttp.Await[greeted](ctx, client, "/people/greetings", greetSpec{People: []string{"Ada", "Grace"}}, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Greetings, "greetings")

	_, err = taskhttp.Await[greeted](ctx, client, "/people/greetings", greetSpec{}, nil)
	fmt.Println(err)
	// Output:
	// 2 greetings
	// taskhttp: 422 The spec of the job is refused; /people: breaks the rule required
}

// A server that shuts down answers all requests that wait for jobs.
func ExampleServer_Drain() {
	db := exampleDB(context.Background())
	defer db.Close()
	jobs, err := taskhttp.New(db, taskhttp.Config{Caller: whoCalls, Authorize: taskhttp.OwnJobs})
	if err != nil {
		panic(err)
	}
	server := &http.Server{Addr: "127.0.0.1:8080", Handler: jobs, ReadHeaderTimeout: 10 * time.Second}
	server.RegisterOnShutdown(jobs.Drain)
	fmt.Println(server.Shutdown(context.Background()))
	// Output:
	// <nil>
}

// exampleDB returns a migrated SQLite database in memory.
func exampleDB(ctx context.Context) *sql.DB {
	db, err := sql.Open("sqlite", "file:/"+uuid.NewString()+"?vfs=memdb&_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=foreign_keys(ON)")
	if err != nil {
		panic(err)
	}
	db.SetMaxIdleConns(8)
	if err := taskkit.Migrate(ctx, db, ""); err != nil {
		panic(err)
	}
	return db
}

// runWorker runs a worker until ctx ends.
func runWorker(ctx context.Context, db *sql.DB, x exporter) (ended chan error) {
	var r taskkit.Registry
	taskkit.Register(&r, greetings, greeter{})
	taskkit.Register(&r, export, x)
	w, err := taskkit.NewWorker(ctx, db, &r, taskkit.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	ended = make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	return ended
}
