package taskui_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskui"
)

// A program sends the form of a kind as the page of the kind shows it. A person who may not start tasks gets 403, and a form that is sent again
// leads to the same task.
func ExampleNew_start() {
	db := exampleDB()
	defer db.Close()
	var registry taskkit.Registry
	taskkit.Register(&registry, enrolKind(enrolSchema, 1), taskkit.Executor[enrolSpec, struct{}](enrolExecutor{}))
	client := taskkit.NewClient(db)
	ada := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	level := taskui.Operate
	dashboard, err := taskui.New(client, &registry, taskui.Config{Access: func(*http.Request) (taskui.Person, error) {
		return taskui.Person{ID: ada, Level: level}, nil
	}})
	if err != nil {
		panic(err)
	}
	send := func() *httptest.ResponseRecorder {
		form := url.Values{"f.letter.subject": {"Welcome"}, "f.students": {"0190b3a1-7c3e-7000-8000-000000000001"}, "step": {"run"}, "key": {"term-2027"}}
		r := httptest.NewRequest(http.MethodPost, "/tasks/kind/enrol", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		dashboard.ServeHTTP(w, r)
		return w
	}
	first, again := send(), send()
	id := uuid.MustParse(strings.TrimPrefix(first.Header().Get("Location"), "../task/")[:36])
	task, err := client.Task(context.Background(), id)
	if err != nil {
		panic(err)
	}
	fmt.Println(first.Code, task.Owner == ada, string(task.SpecJSON))
	fmt.Println(again.Header().Get("Location") == first.Header().Get("Location"))
	level = taskui.Read
	fmt.Println(send().Code)
	// Output:
	// 303 true {"students":["0190b3a1-7c3e-7000-8000-000000000001"],"letter":{"subject":"Welcome"}}
	// true
	// 403
}
