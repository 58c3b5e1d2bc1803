package taskui_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskhttp"
	"taskkit.dev/taskkit/taskui"
)

// A service serves the dashboard beside its own pages. Ada has all rights, students see their own tasks, and the others may look and pause.
func ExampleNew() {
	db := exampleDB()
	defer db.Close()
	ada := uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057")
	dashboard, err := taskui.New(taskkit.NewClient(db), nil, taskui.Config{
		Access: func(r *http.Request) (taskui.Person, error) {
			id, err := uuid.Parse(r.Header.Get("X-Person")) // which the service's sign-in has set
			switch {
			case err != nil:
				return taskui.Person{}, errors.New("not signed in")
			case id == ada:
				return taskui.Person{ID: id, Name: "Ada", Level: taskui.Admin}, nil
			case r.Header.Get("X-Role") == "student":
				return taskui.Person{ID: id, Level: taskui.Operate, Own: true}, nil
			default:
				return taskui.Person{ID: id, Level: taskui.Operate, Operations: []taskhttp.Operation{taskhttp.OpPause, taskhttp.OpResume}}, nil
			}
		},
	})
	if err != nil {
		panic(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/tasks/", dashboard)

	for _, person := range []string{"", ada.String()} {
		r := httptest.NewRequest(http.MethodGet, "/tasks/list?q=status:failed", http.NoBody)
		r.Header.Set("X-Person", person)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		fmt.Println(w.Code, w.Header().Get("Content-Type"))
	}
	// Output:
	// 401 text/html; charset=utf-8
	// 200 text/html; charset=utf-8
}

// exampleDB returns a database with taskkit's tables.
func exampleDB() *sql.DB {
	db, err := sql.Open("sqlite", "file:/"+uuid.NewString()+"?vfs=memdb&_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=foreign_keys(ON)")
	if err != nil {
		panic(err)
	}
	if err := taskkit.Migrate(context.Background(), db, ""); err != nil {
		panic(err)
	}
	return db
}
