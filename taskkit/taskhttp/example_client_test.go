package taskhttp_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"slices"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
)

// greetingService serves greetings over HTTP, with a worker or without, until stop is called.
func greetingService(ctx context.Context, worker bool, opts ...taskhttp.StartOption[greetSpec]) (c *taskhttp.Client, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	db := exampleDB(ctx)
	ended := make(chan error, 1)
	if worker {
		ended = runWorker(ctx, db, exporter{})
	} else {
		ended <- nil
	}
	jobs, err := taskhttp.New(db, taskhttp.Config{Caller: whoCalls, Authorize: taskhttp.OwnJobs, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	taskhttp.Start(jobs, "POST /people/greetings", greetings, opts...)
	service := httptest.NewServer(jobs)
	return &taskhttp.Client{URL: service.URL, Prepare: signIn}, func() {
		service.Close()
		cancel()
		if err := <-ended; err != nil {
			panic(err)
		}
		if err := db.Close(); err != nil {
			panic(err)
		}
	}
}

// A job is held, changed, and deleted before it has begun.
func ExampleClient_Change() {
	ctx := context.Background()
	client, stop := greetingService(ctx, false)
	defer stop()
	show := func(j *taskhttp.Job, err error) taskkit.ID {
		if err != nil {
			panic(err)
		}
		fmt.Println(j.Status, "paused", j.Paused)
		return j.ID
	}
	id := show(client.Start(ctx, "/people/greetings", "", greetSpec{People: []string{"Ada"}}))
	show(client.Pause(ctx, id, "the list is being checked"))
	show(client.Change(ctx, id, taskhttp.Settings{Priority: taskkit.PriorityLow, Reason: "there is time"}))
	show(client.Resume(ctx, id, ""))
	show(client.Delete(ctx, id))
	// Output:
	// QUEUING paused false
	// QUEUING paused true
	// QUEUING paused true
	// QUEUING paused false
	// DELETED paused false
}

// The jobs of a person are read page by page, the newest first.
func ExampleClient_Page() {
	ctx := context.Background()
	client, stop := greetingService(ctx, false)
	defer stop()
	for _, name := range []string{"Ada", "Grace", "Jean"} {
		if _, err := client.Start(ctx, "/people/greetings", name, greetSpec{People: []string{name}}); err != nil {
			panic(err)
		}
	}
	for query := (url.Values{"kind": {"greetings"}, "limit": {"2"}}); ; {
		page, err := client.Page(ctx, query)
		if err != nil {
			panic(err)
		}
		fmt.Println(len(page.Jobs), "jobs")
		if page.Next == "" {
			break
		}
		query.Set("cursor", page.Next)
	}
	// Output:
	// 2 jobs
	// 1 jobs
}

// A watch returns each change of a job. It is fetched when it is done.
func ExampleClient_Watch() {
	ctx := context.Background()
	client, stop := greetingService(ctx, true)
	defer stop()
	j, err := client.Start(ctx, "/people/greetings", "2026-03-29", greetSpec{People: []string{"Ada", "Grace"}})
	if err != nil {
		panic(err)
	}
	for now, err := range client.Watch(ctx, j.ID, time.Second) {
		if err != nil {
			panic(err)
		}
		if now.Done {
			fmt.Println(now.Status, now.Progress.Succeeded)
		}
	}
	fmt.Println(taskhttp.Fetch[greeted](ctx, client, j.ID))
	// Output:
	// SUCCEEDED 2
	// {2} <nil>
}

// The state of a kind has a method Progress, whose result a watch returns too.
func ExampleProgress_custom() {
	ctx := context.Background()
	client, stop := greetingService(ctx, true)
	defer stop()
	j, err := client.Start(ctx, "/people/greetings", "", greetSpec{People: []string{"Ada", "Grace"}})
	if err != nil {
		panic(err)
	}
	for j, err = range client.Watch(ctx, j.ID, time.Second) {
		if err != nil {
			panic(err)
		}
	}
	var p greetProgress
	fmt.Println(json.Unmarshal(j.Progress.Custom, &p), p.Greeted, "greeted,", p.Letters, "letters")
	// Output: <nil> 2 greeted, 8 letters
}

// The items of a job that have failed are read, and processed again.
func ExampleClient_RetryFailed() {
	ctx := context.Background()
	client, stop := greetingService(ctx, true)
	defer stop()
	var id taskkit.ID
	_, err := taskhttp.Await[greeted](ctx, client, "/people/greetings", greetSpec{People: []string{"Ada", "nobody"}},
		func(j *taskhttp.Job) { id = j.ID })
	if err != nil {
		panic(err)
	}
	for item, err := range client.Items(ctx, id, taskkit.OutcomeFailed) {
		if err != nil {
			panic(err)
		}
		fmt.Println(string(item.Item), item.Code)
	}
	again, err := client.RetryFailed(ctx, id, "they have come")
	if err != nil {
		panic(err)
	}
	for again, err = range client.Watch(ctx, again.ID, 0) {
		if err != nil {
			panic(err)
		}
	}
	fmt.Println(again.Progress.Processed, "tried again")
	// Output:
	// "nobody" not_found
	// 1 tried again
}

// A job does what a preview has shown. A repetition of the call returns the same job.
func ExampleClient_Apply() {
	ctx := context.Background()
	client, stop := greetingService(ctx, true)
	defer stop()
	var id taskkit.ID
	_, err := taskhttp.Await[greeted](ctx, client, "/people/greetings?preview=true", greetSpec{People: []string{"Ada"}},
		func(j *taskhttp.Job) { id = j.ID })
	if err != nil {
		panic(err)
	}
	j, err := client.Apply(ctx, id, "as previewed")
	if err != nil {
		panic(err)
	}
	same, err := client.Apply(ctx, id, "")
	fmt.Println(j.Preview, j.ID != id, same.ID == j.ID, err)
	// Output: false true true <nil>
}

// A service writes its own rows with the job, and refuses a start. A preview writes nothing.
func ExampleBefore() {
	ctx := context.Background()
	client, stop := greetingService(ctx, false, taskhttp.Before(
		func(ctx context.Context, tx *sql.Tx, c taskhttp.Caller, spec *greetSpec) ([]taskkit.SubmitOption, error) {
			fmt.Println("preview:", taskhttp.Previewing(ctx))
			if len(spec.People) > 1 {
				return nil, taskhttp.ErrTooManyRequests
			}
			_, err := tx.ExecContext(ctx, "CREATE TABLE greeted_by AS SELECT $1 AS person", c.Owner)
			return []taskkit.SubmitOption{taskkit.WithPriority(taskkit.PriorityLow)}, err
		}))
	defer stop()
	for _, start := range []struct {
		path   string
		people []string
	}{{"?preview=true", []string{"Ada"}}, {"", []string{"Ada"}}, {"", []string{"Ada", "Grace"}}} {
		_, err := client.Start(ctx, "/people/greetings"+start.path, "", greetSpec{People: start.people})
		fmt.Println(err)
	}
	// Output:
	// preview: true
	// <nil>
	// preview: false
	// <nil>
	// preview: false
	// taskhttp: 429 Too many requests
}

// The items of several jobs that have failed for one reason are processed by one new job.
func ExampleClient_RetrySelected() {
	ctx := context.Background()
	client, stop := greetingService(ctx, true)
	defer stop()
	var ids []taskkit.ID
	for _, people := range [][]string{{"Ada", "nobody"}, {"Grace", "nobody"}} {
		if _, err := taskhttp.Await[greeted](ctx, client, "/people/greetings", greetSpec{People: people}, func(j *taskhttp.Job) {
			if !slices.Contains(ids, j.ID) {
				ids = append(ids, j.ID)
			}
		}); err != nil {
			panic(err)
		}
	}
	j, err := client.RetrySelected(ctx, taskhttp.Failures{Jobs: ids, Codes: []string{"not_found"}, Reason: "they have come"})
	if err != nil {
		panic(err)
	}
	for j, err = range client.Watch(ctx, j.ID, 0) {
		if err != nil {
			panic(err)
		}
	}
	fmt.Println(*j.Progress.Total, "tried again")
	// Output: 1 tried again
}
