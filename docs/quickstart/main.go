// Command campus closes a cohort of 2,000 students and waits until the status of
// all of them has been set. With -listen it then serves HTTP until it is interrupted.
// It needs nothing installed: its database is an SQLite file, which -file keeps, or the
// PostgreSQL database that DATABASE_URL names. "campus tasks" has the commands for operators.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
	"golang.org/x/sync/errgroup"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"taskkit.dev/cmd/taskkit/taskkitcli"
	"taskkit.dev/taskkit"

	"example.com/campus/ent"
	"example.com/campus/executors/setstatus"
	"example.com/campus/gen"
	"example.com/campus/gen/setstatustask"
	"example.com/campus/roll"
)

func main() {
	listen := flag.String("listen", "", "serve HTTP on this `address`, such as 127.0.0.1:8080")
	file := flag.String("file", "", "use this SQLite `file` and keep it")
	flag.Parse()
	if flag.Arg(0) == "tasks" {
		os.Exit(taskkitcli.ExitStatus(tasks(flag.Args()[1:])))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "campus")
	if err != nil {
		log.Fatal(err)
	}
	err = run(ctx, os.Stdout, os.Getenv("DATABASE_URL"), cmp.Or(*file, filepath.Join(dir, "campus.db")), *listen)
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		log.Fatal(err)
	}
}

// tasks executes the commands for operators, with the kinds of this program.
func tasks(args []string) error {
	c := taskkitcli.Command(taskkitcli.Config{Name: "campus tasks", Registry: registry()})
	c.SetArgs(args)
	return c.Execute()
}

// registry has the executors of the program.
func registry() *taskkit.Registry {
	var r taskkit.Registry
	gen.Executors{SetStatus: &setstatus.Executor{}}.Register(&r)
	return &r
}

// run closes a cohort and prints the outcome. Then it serves jobs, if it has an address to
// listen on.
func run(ctx context.Context, out io.Writer, url, file, listen string) error {
	db, client, err := open(url, file)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := client.Schema.Create(ctx); err != nil { // the application's tables
		return err
	}
	if err := taskkit.Migrate(ctx, db, taskkit.DefaultSchema); err != nil { // taskkit's
		return err
	}
	cohort, err := createCohort(ctx, client, 2000)
	if err != nil {
		return err
	}
	task, err := roll.Close(ctx, client, cohort)
	if err != nil {
		return err
	}

	w, err := taskkit.NewWorker(ctx, db, registry(), taskkit.Config{})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return w.Run(ctx) })
	g.Go(func() error {
		defer stop()
		c := taskkit.NewClient(db)
		if _, err := c.Wait(ctx, task, nil); err != nil {
			return err
		}
		t, err := setstatustask.Get(ctx, c, task)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s: %d of %d students, %d changed\n",
			t.Task.Status, t.Task.Progress.Done, t.Task.Progress.Total, t.State.Changed)
		if err != nil || listen == "" {
			return err
		}
		return serve(ctx, db, out, listen)
	})
	return g.Wait()
}

// open opens PostgreSQL when there is a URL, and otherwise an SQLite file.
func open(url, file string) (*sql.DB, *ent.Client, error) {
	driver, name := "pgx", dialect.Postgres
	if url == "" {
		driver, name = "sqlite", dialect.SQLite
		url = "file:" + file + "?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)" +
			"&_pragma=foreign_keys(ON)&_pragma=synchronous(FULL)"
	}
	db, err := sql.Open(driver, url)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxIdleConns(16) // a worker's Slots and three more; database/sql keeps two
	db.SetConnMaxIdleTime(time.Minute)
	return db, ent.NewClient(ent.Driver(entsql.OpenDB(name, db))), nil
}

// createCohort makes a cohort of n students.
func createCohort(ctx context.Context, client *ent.Client, n int) (int, error) {
	c, err := client.Cohort.Create().SetName("2026").Save(ctx)
	if err != nil {
		return 0, err
	}
	return c.ID, client.Student.MapCreateBulk(make([]struct{}, n), func(s *ent.StudentCreate, i int) {
		s.SetName(fmt.Sprint("student ", i)).SetCohort(c)
	}).Exec(ctx)
}
