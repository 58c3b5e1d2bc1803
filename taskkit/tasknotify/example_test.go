package tasknotify_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/notice"
	"taskkit.dev/taskkit/tasknotify"
)

// exampleDB returns a migrated SQLite database in memory.
func exampleDB(name string) *sql.DB {
	db, err := sql.Open("sqlite", "file:/"+name+"?vfs=memdb&_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=foreign_keys(ON)")
	if err != nil {
		panic(err)
	}
	db.SetMaxIdleConns(8)
	if err := taskkit.Migrate(context.Background(), db, taskkit.DefaultSchema); err != nil {
		panic(err)
	}
	return db
}

// runUntil runs a worker until a notification was delivered.
func runUntil(db *sql.DB, r *taskkit.Registry, delivered <-chan struct{}) {
	w, err := taskkit.NewWorker(context.Background(), db, r, taskkit.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	<-delivered
	stop()
	if err := <-done; err != nil {
		panic(err)
	}
}

// A worker delivers the notifications of a target by webhook.
func ExampleRegister() {
	db, ctx := exampleDB("webhook"), context.Background()
	defer db.Close()
	delivered := make(chan struct{})
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var p tasknotify.Payload
		_ = json.NewDecoder(r.Body).Decode(&p)
		fmt.Println(p.Type, p.Data.Kind, p.Data.Items.Done, "done,", p.Data.Items.Failed, "failed")
		close(delivered)
	}))
	defer receiver.Close()

	var registry taskkit.Registry
	err := tasknotify.Register(&registry, tasknotify.Config{DB: db, Targets: map[string]tasknotify.Target{
		"ops": &tasknotify.Webhook{
			URL:     receiver.URL,
			Secrets: []string{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"},
			// In production receivers have TLS and a public address.
			PlainHTTP: true,
			Allow:     []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	kind := newKind("numbers", "")
	taskkit.Register(&registry, kind, &work{})

	_, _ = taskkit.Submit(ctx, db, kind, below(20), taskkit.System(), taskkit.WithNotifications("ops", notice.Ended))
	runUntil(db, &registry, delivered)
	// Output:
	// task.completed numbers 18 done, 2 failed
}

// mailPrinter is a mailer that prints what it is to send.
type mailPrinter struct{ sent chan struct{} }

func (p mailPrinter) SendMail(_ context.Context, l *tasknotify.Letter) error {
	fmt.Println("to", l.To+":", l.Subject)
	close(p.sent)
	return nil
}

// A worker mails the owner of a task when it has ended.
func ExampleMail() {
	db, ctx := exampleDB("mail"), context.Background()
	defer db.Close()
	sent := make(chan struct{})

	var registry taskkit.Registry
	err := tasknotify.Register(&registry, tasknotify.Config{DB: db, Targets: map[string]tasknotify.Target{
		"owner": &tasknotify.Mail{
			Mailer: mailPrinter{sent},
			Domain: "tasks.example",
			Address: func(context.Context, notice.Notice) (string, error) {
				return "ada@people.example", nil // of the owner
			},
		},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	kind := newKind("numbers", "owner") // notify=owner in the directive
	taskkit.Register(&registry, kind, &work{})

	_, _ = taskkit.Submit(ctx, db, kind, below(20), taskkit.System())
	runUntil(db, &registry, sent)
	// Output:
	// to ada@people.example: numbers is complete
}

// A check submits a notification about something that is no task.
func ExampleSubmit_finding() {
	db, ctx := exampleDB("finding"), context.Background()
	defer db.Close()
	found := notice.Notice{Event: notice.FindingOpened, Target: "ops", Code: "no_worker"}
	_, err := tasknotify.Submit(ctx, db, found, taskkit.WithIdempotencyKey("no_worker 2026-05-04"))
	fmt.Println(err)
	_, err = tasknotify.Submit(ctx, db, found, taskkit.WithIdempotencyKey("no_worker 2026-05-04"))
	fmt.Printf("%T\n", err)
	// Output:
	// <nil>
	// *taskkit.DuplicateError
}

// A receiver that has answered 410 gets notifications again.
func ExampleResubscribe() {
	db, ctx := exampleDB("again"), context.Background()
	defer db.Close()
	_ = tasknotify.Unsubscribe(ctx, db, "", "owner", "ada@people.example")
	for range 2 {
		was, err := tasknotify.Resubscribe(ctx, db, "", "owner", "ada@people.example")
		fmt.Println(was, err)
	}
	// Output:
	// true <nil>
	// false <nil>
}
