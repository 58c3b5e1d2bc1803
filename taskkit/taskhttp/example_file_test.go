package taskhttp_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskkind"
)

// exported is the result of an export.
type exported struct {
	Path string `json:"path"`
}

// export is a kind; taskgen writes such a definition.
var export = taskkit.NewKind(taskkind.Definition[greetSpec, struct{}, exported]{Name: "export"})

// exporter writes the people to a file.
type exporter struct{ Dir string }

func (exporter) Execute(context.Context, *taskkit.Batch[greetSpec, struct{}]) (taskkit.Next, error) {
	return taskkit.Done, nil
}

func (x exporter) Report(_ context.Context, b *taskkit.Batch[greetSpec, struct{}]) (exported, error) {
	var text string
	for _, name := range b.Spec.People {
		text += name + "\n"
	}
	path := filepath.Join(x.Dir, b.Task.String()+".csv")
	return exported{path}, os.WriteFile(path, []byte(text), 0o600)
}

// The result of a job is a file, which the client downloads.
func ExampleFileResults() {
	dir, err := os.MkdirTemp("", "export")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, stop := context.WithCancel(context.Background())
	db := exampleDB(ctx)
	defer db.Close()
	ended := runWorker(ctx, db, exporter{dir})
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
	taskhttp.Start(jobs, "POST /people/export", export)
	taskhttp.FileResults(jobs, export, func(_ context.Context, _ taskhttp.Caller, r exported) (*taskhttp.ResultFile, error) {
		f, err := os.Open(r.Path)
		if err != nil {
			return nil, err
		}
		return &taskhttp.ResultFile{Name: "people.csv", Content: f}, nil
	})
	service := httptest.NewServer(jobs)
	defer service.Close()

	client := &taskhttp.Client{URL: service.URL, Prepare: signIn}
	_, name, _, err := client.AwaitFile(ctx, "/people/export", greetSpec{People: []string{"Ada", "Grace"}}, os.Stdout, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println(name)
	// Output:
	// Ada
	// Grace
	// people.csv
}

// A preview says what a job would do, and changes nothing.
func ExampleClient_Preview() {
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
	var id taskkit.ID
	_, err = taskhttp.Await[greeted](ctx, client, "/people/greetings?preview=true", greetSpec{People: []string{"Ada", "Grace"}},
		func(j *taskhttp.Job) { id = j.ID })
	if err != nil {
		panic(err)
	}
	found, err := client.Preview(ctx, id)
	if err != nil {
		panic(err)
	}
	fmt.Println(found.Complete, found.Progress.Succeeded, found.Notes)
	// Output:
	// true 2 [{Hello! 2}]
}
