package taskhttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/taskkit/taskhttp"
)

// Grace may operate the service, and everybody may see the queues. A queue is paused over HTTP.
func ExampleOperatorAuthorizer() {
	db := exampleDB(context.Background())
	defer db.Close()
	grace := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	jobs, err := taskhttp.New(db, taskhttp.Config{
		Caller: whoCalls, Authorize: taskhttp.OwnJobs, Logger: slog.New(slog.DiscardHandler),
		Operator: func(_ context.Context, c taskhttp.Caller, op taskhttp.Operation) error {
			if c.Owner == grace || op == taskhttp.OpReadQueues {
				return nil
			}
			return errors.New("not an operator")
		},
	})
	if err != nil {
		panic(err)
	}
	service := httptest.NewServer(jobs)
	defer service.Close()

	call := func(person uuid.UUID, method, path, body string) {
		r, err := http.NewRequestWithContext(context.Background(), method, service.URL+"/jobs/operator"+path, strings.NewReader(body))
		if err != nil {
			panic(err)
		}
		r.Header.Set("X-Person", person.String())
		r.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			panic(err)
		}
		defer resp.Body.Close()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			panic(err)
		}
		fmt.Println(strings.TrimSpace(resp.Status + " " + string(answer)))
	}
	ada := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8058")
	call(ada, "GET", "/queues", "")
	call(ada, "POST", "/queues/mail/pause", `{"reason":"the mail server is down"}`)
	call(grace, "POST", "/queues/mail/pause", `{"reason":"the mail server is down"}`)
	// Output:
	// 200 OK {"queues":[]}
	// 403 Forbidden {"type":"https://taskkit.dev/problems/forbidden","title":"You may not do this","status":403}
	// 204 No Content
}

// A server behind a proxy that strips /api, whose clients sign in with a key.
func ExampleDocument() {
	db := exampleDB(context.Background())
	defer db.Close()
	jobs, err := taskhttp.New(db, taskhttp.Config{
		Caller: whoCalls, Authorize: taskhttp.OwnJobs, External: "/api",
		Document: taskhttp.Document{
			Title: "Greetings", Version: "2",
			Security: map[string]any{"key": map[string]string{"type": "apiKey", "in": "header", "name": "X-Key"}},
		},
	})
	if err != nil {
		panic(err)
	}
	raw, err := jobs.OpenAPI()
	if err != nil {
		panic(err)
	}
	var document struct {
		Info     struct{ Title string }
		Servers  []struct{ URL string }
		Security []map[string][]string
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		panic(err)
	}
	fmt.Println(document.Info.Title, document.Servers[0].URL, document.Security)
	// Output:
	// Greetings /api [map[key:[]]]
}
